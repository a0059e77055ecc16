//! A fibre type for tests in which only threads wait.

use crate::wait::waiter::Wakeable;
use std::ptr::NonNull;

/// A fibre that does not exist, so nothing resumes it.
pub struct NoFibre;

impl Wakeable for NoFibre {
    unsafe fn resume(_: NonNull<Self>) {
        unreachable!("there is no fibre");
    }

    unsafe fn resume_at_home(_: NonNull<Self>) {
        unreachable!("there is no fibre");
    }
}
