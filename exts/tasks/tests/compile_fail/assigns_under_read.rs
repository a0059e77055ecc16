//! E2: "an attempt to modify it will result in a compile-time error".

use fibre_tasks::{Shared, task};

fn main() {
    let number = Shared::new(0);
    let _task = task!([number] { *number = 1 });
}
