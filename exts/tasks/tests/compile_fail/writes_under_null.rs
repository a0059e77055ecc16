//! E2: neither is there a way to write.

use fibre_tasks::{Shared, task};

fn main() {
    let number = Shared::new(0);
    let _task = task!([-number] { *number = 1 });
}
