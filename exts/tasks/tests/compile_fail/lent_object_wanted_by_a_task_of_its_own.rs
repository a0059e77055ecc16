//! E5: a task that the `finish` does not wait for cannot want what it lends.

use fibre_tasks::{Full, finish, task};

fn main() {
    finish(Full::new(0), |_scope, number| {
        let _task = task!([+number] { *number = 1 });
    });
}
