//! E3: what is made inside of the `finish` ends too early.

use fibre_tasks::{Full, finish, task};

fn main() {
    finish(Full::new(0), |scope, number| {
        let local = 1;
        task!(scope, [+number, &local] { *number = *local });
    });
}
