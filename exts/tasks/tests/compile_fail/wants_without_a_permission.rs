//! A task names permissions, not objects.

use fibre_tasks::{Shared, spawn};

fn main() {
    let number = Shared::new(0);
    let _task = spawn((number,), |_| ());
}
