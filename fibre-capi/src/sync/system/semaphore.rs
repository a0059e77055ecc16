//! Semaphores of the system's: with a name, or between processes.
//!
//! A fibre tries to take a permit; if there is none, a thread waits. A cancelled fibre interrupts
//! the thread: the wait then has failed, or has its permit, and in that case the call succeeds. A
//! fibre that gets no thread tries again and again.

use super::object::{has_tags, word};
use crate::boundary::fail;
use crate::errno;
use crate::sync::timing::Until;
use fibre_core::cancellation_point;
use fibre_io::posix::worker::until_cancelled;
use libc::{clockid_t, sem_t, timespec};
use std::ffi::c_int;
use std::sync::OnceLock;

unsafe extern "C" {
    /// The system's.
    fn sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, deadline: *const timespec) -> c_int;
}

/// The tag: see [`super`].
pub const TAG: u32 = 128;

/// Whether this is one of the system's.
///
/// # Safety
///
/// Null, or it is there.
#[inline(always)]
pub unsafe fn is_system(semaphore: *const sem_t) -> bool {
    // SAFETY: the caller's promise.
    !semaphore.is_null() && unsafe { word(semaphore, 8) } == TAG
}

/// Whether the system makes them such that [`is_system`] knows them.
pub fn is_offered() -> bool {
    static ONCE: OnceLock<bool> = OnceLock::new();
    // SAFETY: a place for one, which is there.
    has_tags(
        &ONCE,
        |place, shared| unsafe { libc::sem_init(place, shared, 1) },
        |sample| unsafe { is_system(sample) },
    )
}

/// `sem_wait` and its kin: an error number, `ECANCELED` in a cancelled fibre. Blocks the fibre.
///
/// # Safety
///
/// All is there.
pub unsafe fn wait(semaphore: *mut sem_t, until: Until) -> c_int {
    if until.is_null() {
        return libc::EINVAL;
    }
    if cancellation_point().is_err() {
        return libc::ECANCELED;
    }
    // SAFETY: passed on.
    if unsafe { libc::sem_trywait(semaphore) } == 0 {
        return 0;
    }
    // SAFETY: passed on.
    let call = || unsafe {
        match until {
            Until::Forever => libc::sem_wait(semaphore),
            Until::Time(deadline) => libc::sem_timedwait(semaphore, deadline),
            Until::Clock(clock, deadline) => sem_clockwait(semaphore, clock, deadline),
        }
    };
    // SAFETY: passed on.
    let attempt = || unsafe {
        let taken = libc::sem_trywait(semaphore) == 0;
        (taken || until.is_over()).then(|| if taken { 0 } else { number_of(call()) })
    };
    let wait = || match number_of(call()) {
        libc::EINTR => None,
        number => Some(number),
    };
    let number = until_cancelled(wait, attempt);
    number.unwrap_or(libc::ECANCELED)
}

/// The error number of a call that sets it.
pub fn number_of(result: c_int) -> c_int {
    match result {
        0 => 0,
        _ => errno::get(),
    }
}

/// The result of a call of the system's, which has set its thread's `errno`, to the caller.
pub fn returned(result: c_int) -> c_int {
    match number_of(result) {
        0 => 0,
        number => fail(number),
    }
}
