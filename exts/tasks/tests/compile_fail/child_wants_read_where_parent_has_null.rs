//! E5: the same for a parent that has a reference only.

use fibre_tasks::{Shared, acquire, finish, task};

fn main() {
    let number = Shared::new(0);
    let guard = acquire(number.null());
    finish(guard, |scope, number| {
        task!(scope, [number] { println!("{}", *number) });
    });
}
