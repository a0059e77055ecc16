//! E5: a child wants an object that its parent does not have.

use fibre_tasks::{Full, Shared, finish, task};

fn main() {
    let other = Shared::new(0);
    finish(Full::new(0), |scope, _lent| {
        task!(scope, [+other] { *other = 1 });
    });
}
