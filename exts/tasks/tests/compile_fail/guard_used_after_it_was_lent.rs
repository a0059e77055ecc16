//! E5: what was lent comes back as the result of `finish`.

use fibre_tasks::{Full, finish, task};

fn main() {
    let number = Full::new(0);
    finish(number, |scope, number| {
        task!(scope, [+number] { *number = 1 });
    });
    println!("{}", *number);
}
