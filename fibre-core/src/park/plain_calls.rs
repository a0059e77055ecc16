//! Whether a fibre's calls of the C library may be replaced.
//!
//! The crate `fibre-libc` defines names of that library. Its replacement of a call may leave the
//! caller's stack, so it asks here first.
//!
//! Scopes of plain calls nest, and each restores what it has found. So they need no count, and any
//! number may nest.

use crate::fibre::ControlBlock;
use crate::processor::{Processor, with_running};
use crate::sys::current;

/// Whether a call of the C library may leave the stack of its caller: the caller is a fibre, has
/// not asked for plain calls, and goes on as the same thread: on the same kernel thread, or with
/// thread-locals of its own. (Where other started fibres move, a C function could find another
/// thread's `errno` after a call.)
#[inline]
#[must_use]
pub fn may_stand_in() -> bool {
    Processor::here(Processor::may_stand_in) == Some(true)
}

/// Makes the calling fibre's calls of the C library plain until [`end_plain_calls`] is called with
/// what this returns. Does nothing on a plain thread, whose calls are plain in any case.
#[must_use]
pub fn begin_plain_calls() -> bool {
    set(true)
}

/// Whether the runtime has the calling thread's calls plain, as it takes a lock or starts a thread.
/// Of a fibre that shares its thread-locals, this says nothing: see [`may_stand_in`].
///
/// ```
/// assert!(!fibre_core::internal::has_plain_calls());
/// let _plain = fibre_core::internal::PlainThread::begin();
/// assert!(fibre_core::internal::has_plain_calls());
/// ```
#[must_use]
pub fn has_plain_calls() -> bool {
    current::is_plain()
}

/// Undoes the [`begin_plain_calls`] of the same fibre that has returned `before`.
pub fn end_plain_calls(before: bool) {
    set(before);
}

/// Calls `f` between a fibre's publication of its waiter and its switch. The functions of std's in
/// it may have to wait for their own initialisation; in the midst of a wait that is the thread's
/// affair.
pub(super) fn plainly<R>(fibre: &ControlBlock, f: impl FnOnce() -> R) -> R {
    let before = fibre.link().set_plain(true);
    let result = f();
    fibre.link().set_plain(before);
    result
}

/// Sets whether the calling fibre's calls are plain, and returns whether they were.
fn set(plain: bool) -> bool {
    with_running(|fibre| fibre.link().set_plain(plain)).unwrap_or(true)
}
