//! Whether anything may stand in for a fibre's calls of the C library.
//!
//! The crate `fibre-libc` defines names of that library. What it does in the place of a call may
//! leave the caller's stack, so it asks here first.

use crate::fibre::ControlBlock;
use crate::processor::{Processor, with_running};

/// Whether a call of the C library may leave the stack of its caller: the caller is a fibre, has
/// not asked for plain calls, and goes on on the same kernel thread. (Where started fibres move, a
/// C function could find another thread's `errno` after a call.)
#[inline]
#[must_use]
pub fn may_stand_in() -> bool {
    Processor::here(Processor::may_stand_in) == Some(true)
}

/// Makes the calling fibre's calls of the C library plain until [`end_plain_calls`] has been called
/// as often. Does nothing on a plain thread, whose calls are plain in any case.
pub fn begin_plain_calls() {
    change(1);
}

/// Undoes one [`begin_plain_calls`] of the same fibre.
pub fn end_plain_calls() {
    change(-1);
}

/// Calls `f` between a fibre's publication of its waiter and its switch. The functions of std's in
/// it may have to wait for their own initialisation; in the midst of a wait that is the thread's
/// affair.
pub(super) fn plainly<R>(fibre: &ControlBlock, f: impl FnOnce() -> R) -> R {
    let plain = &fibre.plain_calls;
    plain.set(plain.get().wrapping_add(1));
    let result = f();
    plain.set(plain.get().wrapping_sub(1));
    result
}

/// Adds to the calling fibre's number.
fn change(by: i16) {
    let _ = with_running(|fibre| {
        let plain = &fibre.plain_calls;
        plain.set(plain.get().wrapping_add_signed(by));
    });
}
