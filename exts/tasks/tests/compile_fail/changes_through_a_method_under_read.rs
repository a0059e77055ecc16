//! E2: a method that changes the object.

use fibre_tasks::{Shared, task};

fn main() {
    let list = Shared::new(vec![1]);
    let _task = task!([list] { list.push(2) });
}
