//! What tasks share has to be fit for threads.

use fibre_tasks::{Shared, task};
use std::rc::Rc;

fn main() {
    let number = Shared::new(Rc::new(0));
    let _task = task!([number] { println!("{number:?}") });
}
