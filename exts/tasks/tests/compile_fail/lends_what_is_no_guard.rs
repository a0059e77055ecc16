//! A `finish` lends guards, not objects.

use fibre_tasks::{Shared, finish};

fn main() {
    finish(Shared::new(0), |_scope, _lent| {});
}
