//! E5: what a child has cannot outlive the `finish` that lends it.

use fibre_tasks::{Full, finish};

fn main() {
    let mut kept = None;
    finish(Full::new(0), |_scope, number| {
        kept = Some(number);
    });
}
