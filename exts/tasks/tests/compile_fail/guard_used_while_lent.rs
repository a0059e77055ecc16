//! E5: the parent "releases all shared objects" at a `finish`.

use fibre_tasks::{Full, finish, task};

fn main() {
    let mut number = Full::new(0);
    finish(number, |scope, lent| {
        task!(scope, [+lent] { *lent = 1 });
        *number = 2;
    });
}
