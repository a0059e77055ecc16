//! No stealing: fibres run where they are placed.

use crate::queue::Runnable;
use crate::scheduler::domain::Domain;
use crate::scheduler::steal::{StealMode, Thief};

/// Takes nothing.
pub(in crate::scheduler::steal) fn steal(
    _thief: &Thief,
    _domain: &Domain,
    _mode: StealMode,
) -> Option<Runnable> {
    None
}
