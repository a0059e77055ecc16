//! E3: `&` borrows, so it needs a `finish` that ends before what it borrows.

use fibre_tasks::{Shared, task};

fn main() {
    let number = Shared::new(0);
    let local = 1;
    let _task = task!([+number, &local] { *number = *local });
}
