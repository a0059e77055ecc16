//! Read-write locks of the system's.
//!
//! A lock knows its writer, so a fibre writes by its own thread ([`fibre_io::posix::held`]). It
//! only counts readers: the fibre tries, and if that fails, a thread waits for it.

use super::object::{clear, has_tags, word};
use crate::sync::timing::Until;
use fibre_io::posix::attributes::by_attributes;
use fibre_io::posix::held::{Change, holds_any, on_own_thread};
use fibre_io::posix::worker::{elsewhere_or, is_own_thread};
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use std::ffi::c_int;
use std::sync::OnceLock;

unsafe extern "C" {
    /// The system's.
    fn pthread_rwlock_clockrdlock(
        lock: *mut pthread_rwlock_t,
        clock: clockid_t,
        deadline: *const timespec,
    ) -> c_int;
    /// The system's.
    fn pthread_rwlock_clockwrlock(
        lock: *mut pthread_rwlock_t,
        clock: clockid_t,
        deadline: *const timespec,
    ) -> c_int;
    /// The system's.
    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, deadline: *const timespec) -> c_int;
    /// The system's.
    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, deadline: *const timespec) -> c_int;
    /// The system's.
    fn pthread_rwlockattr_setkind_np(attributes: *mut pthread_rwlockattr_t, kind: c_int) -> c_int;
}

/// Where the tag is: see [`super`].
pub const TAG: usize = 28;

/// Whether this is one of the system's.
///
/// # Safety
///
/// Null, or it is there.
#[inline(always)]
pub unsafe fn is_system(lock: *const pthread_rwlock_t) -> bool {
    // SAFETY: the caller's promise.
    !lock.is_null() && unsafe { word(lock, TAG) } == 1
}

/// Whether the system makes them such that [`is_system`] knows them.
pub fn is_offered() -> bool {
    static ONCE: OnceLock<bool> = OnceLock::new();
    // SAFETY: a place for one, which is there.
    has_tags(
        &ONCE,
        |place, shared| unsafe { make(place, 0, shared) },
        |sample| unsafe { is_system(sample) },
    )
}

/// Makes one. Returns an error number.
///
/// # Safety
///
/// A place for it.
pub unsafe fn make(lock: *mut pthread_rwlock_t, kind: c_int, shared: c_int) -> c_int {
    // SAFETY: the caller's promise; these belong together.
    unsafe {
        by_attributes(
            libc::pthread_rwlockattr_init,
            |attributes| {
                pthread_rwlockattr_setkind_np(attributes, kind)
                    | libc::pthread_rwlockattr_setpshared(attributes, shared)
            },
            |attributes| libc::pthread_rwlock_init(lock, attributes),
            libc::pthread_rwlockattr_destroy,
        )
    }
}

/// `pthread_rwlock_rdlock` and its kin. Blocks the fibre.
///
/// # Safety
///
/// All is there.
pub unsafe fn read(lock: *mut pthread_rwlock_t, until: Until) -> c_int {
    if until.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: passed on.
    let call = || unsafe {
        match until {
            Until::Forever => libc::pthread_rwlock_rdlock(lock),
            Until::Time(deadline) => pthread_rwlock_timedrdlock(lock, deadline),
            Until::Clock(clock, deadline) => pthread_rwlock_clockrdlock(lock, clock, deadline),
        }
    };
    if is_own_thread() {
        return call();
    }
    // SAFETY: passed on.
    let attempt = || match unsafe { try_read(lock) } {
        // SAFETY: passed on.
        libc::EBUSY => unsafe { until.is_over() }.then(call),
        number => Some(number),
    };
    // SAFETY: passed on.
    match unsafe { try_read(lock) } {
        // The thread that writes, if it is this fibre's, is told that it would wait for itself.
        libc::EBUSY if holds_any() => {
            on_own_thread(lock.addr(), Change::None, |worker| worker.run(call))
        }
        libc::EBUSY => elsewhere_or(call, attempt),
        number => number,
    }
}

/// `pthread_rwlock_tryrdlock`.
///
/// # Safety
///
/// It is there.
pub unsafe fn try_read(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: passed on.
    unsafe { libc::pthread_rwlock_tryrdlock(lock) }
}

/// `pthread_rwlock_wrlock` and its kin. Blocks the fibre.
///
/// # Safety
///
/// All is there.
pub unsafe fn write(lock: *mut pthread_rwlock_t, until: Until) -> c_int {
    if until.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: passed on.
    let call = || unsafe {
        match until {
            Until::Forever => libc::pthread_rwlock_wrlock(lock),
            Until::Time(deadline) => pthread_rwlock_timedwrlock(lock, deadline),
            Until::Clock(clock, deadline) => pthread_rwlock_clockwrlock(lock, clock, deadline),
        }
    };
    by_writer(lock, Change::Taken, call)
}

/// `pthread_rwlock_trywrlock`.
///
/// # Safety
///
/// It is there.
pub unsafe fn try_write(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: passed on.
    let call = || unsafe { libc::pthread_rwlock_trywrlock(lock) };
    by_writer(lock, Change::Taken, call)
}

/// Makes a call on the thread that writes for the calling fibre; for plain threads, here.
fn by_writer(lock: *mut pthread_rwlock_t, change: Change, call: impl FnOnce() -> c_int) -> c_int {
    if is_own_thread() {
        return call();
    }
    on_own_thread(lock.addr(), change, |worker| worker.run(call))
}

/// `pthread_rwlock_unlock`. The thread that writes for a fibre gives back what that reads as well
/// as any other one.
///
/// # Safety
///
/// It is there.
pub unsafe fn unlock(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: passed on.
    let call = || unsafe { libc::pthread_rwlock_unlock(lock) };
    if !holds_any() {
        return call();
    }
    by_writer(lock, Change::GivenBack, call)
}

/// `pthread_rwlock_destroy`.
///
/// # Safety
///
/// It is there.
pub unsafe fn destroy(lock: *mut pthread_rwlock_t) -> c_int {
    // SAFETY: passed on.
    unsafe { clear(lock, libc::pthread_rwlock_destroy(lock)) }
}
