//! Barriers of the system's. A thread waits there in the fibre's place.

use super::object::{clear, has_tags, word};
use fibre_io::posix::attributes::by_attributes;
use fibre_io::posix::worker::{elsewhere, elsewhere_or};
use libc::pthread_barrier_t;
use std::ffi::{c_int, c_uint};
use std::sync::OnceLock;

/// The tag: see [`super`].
pub const TAG: u32 = 128;

/// Whether this is one of the system's.
///
/// # Safety
///
/// Null, or it is there.
#[inline(always)]
pub unsafe fn is_system(barrier: *const pthread_barrier_t) -> bool {
    // SAFETY: the caller's promise.
    !barrier.is_null()
        && unsafe { word(barrier, 12) == TAG && word(barrier, 28) != word(barrier, 8) }
}

/// Whether the system makes them such that [`is_system`] knows them.
pub fn is_offered() -> bool {
    static ONCE: OnceLock<bool> = OnceLock::new();
    // SAFETY: a place for one, which is there.
    has_tags(
        &ONCE,
        |place, shared| unsafe { make(place, 1, shared) },
        |sample| unsafe { is_system(sample) },
    )
}

/// Makes one. Returns an error number.
///
/// # Safety
///
/// A place for it.
pub unsafe fn make(barrier: *mut pthread_barrier_t, parties: c_uint, shared: c_int) -> c_int {
    // SAFETY: the caller's promise; these belong together. The last bytes, which the system leaves
    // alone, tell it from ours.
    unsafe {
        clear(barrier, 0);
        by_attributes(
            libc::pthread_barrierattr_init,
            |attributes| libc::pthread_barrierattr_setpshared(attributes, shared),
            |attributes| libc::pthread_barrier_init(barrier, attributes, parties),
            libc::pthread_barrierattr_destroy,
        )
    }
}

/// `pthread_barrier_wait`. Blocks the fibre.
///
/// # Safety
///
/// It is there.
pub unsafe fn wait(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: passed on.
    elsewhere_or(|| unsafe { libc::pthread_barrier_wait(barrier) }, || None)
}

/// `pthread_barrier_destroy`, which waits for those who are about to leave. Blocks the fibre.
///
/// # Safety
///
/// It is there.
pub unsafe fn destroy(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: passed on.
    unsafe {
        clear(
            barrier,
            elsewhere(|| libc::pthread_barrier_destroy(barrier)),
        )
    }
}
