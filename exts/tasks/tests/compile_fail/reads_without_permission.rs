//! E4: a shared object by itself gives no access.

use fibre_tasks::Shared;

fn main() {
    let number = Shared::new(0);
    println!("{}", *number + 1);
}
