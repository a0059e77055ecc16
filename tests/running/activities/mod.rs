//! Activities: fibres that are run again and again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

mod ends;
mod places;
mod runs;
mod values;

use fibre::activity::{Activity, Work};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// An activity that does what it was given.
struct Does(Box<Run>);

/// What an activity does in a run.
type Run = dyn Fn(&Activity<Does>) + Send + Sync;

impl Work for Does {
    fn run(this: &Activity<Self>) {
        this.0(this);
    }
}

/// An activity in the caller's cluster.
fn activity(run: impl Fn(&Activity<Does>) + Send + Sync + 'static) -> Activity<Does> {
    Activity::new(None, does(run)).unwrap()
}

/// What does this.
fn does(run: impl Fn(&Activity<Does>) + Send + Sync + 'static) -> Does {
    Does(Box::new(run))
}

/// A counter that activities and tests share.
fn counter() -> Arc<AtomicUsize> {
    Arc::default()
}
