//! E5: "tasks can only require a subset of the parent's permission set".

use fibre_tasks::{Shared, acquire, finish, task};

fn main() {
    let number = Shared::new(0);
    let guard = acquire(number.read());
    finish(guard, |scope, number| {
        task!(scope, [+number] { *number = 1 });
    });
}
