//! E2: "only the reference is needed, without any read or write".

use fibre_tasks::{Shared, task};

fn main() {
    let number = Shared::new(0);
    let _task = task!([-number] { println!("{}", *number) });
}
