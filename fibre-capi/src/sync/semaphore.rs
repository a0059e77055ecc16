//! `sem_…`. These return -1 and set `errno`.

use crate::boundary::{attempt, contain, fail, number, posix_raw_or_leave};
use crate::sync::object::{at, give, make, object};
use crate::sync::shared::PRIVATE;
use crate::sync::timing::{clock, until};
use fibre_sync::raw::{Clock, Error, Result, Semaphore, Wait};
use libc::{clockid_t, timespec};
use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

/// A semaphore: `sem_t`. All zeros is one without a permit.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_sem_t {
    /// Ours.
    words: [u64; 4],
}

object!(fibre_sem_t, Semaphore, libc::sem_t);

/// Zero, or -1 and the error number, for a call that does not leave the stack.
#[inline(always)]
fn at_once(f: impl FnOnce() -> Result) -> c_int {
    match number(contain(f)) {
        0 => 0,
        error => fail(error),
    }
}

/// `sem_init`: one with so many permits. `EINVAL` if that is more than `SEM_VALUE_MAX`; `ENOSYS` if it is to be shared between
/// processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_init(
    semaphore: *mut fibre_sem_t,
    shared: c_int,
    permits: c_uint,
) -> c_int {
    if shared != PRIVATE {
        return fail(libc::ENOSYS);
    }
    // SAFETY: the caller's.
    at_once(|| unsafe { make(semaphore, Semaphore::new(permits)?) })
}

/// `sem_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_destroy(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the caller's.
    at_once(|| unsafe { at(semaphore) }?.destroy())
}

/// `sem_wait`: waits for a permit and takes it; first come, first served. `EINVAL` if it has been destroyed. A cancellation
/// point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_sem_wait(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the caller's.
    posix_raw_or_leave(|| unsafe { at(semaphore) }?.wait(Wait::FOREVER.cancellable()))
}

/// `sem_trywait`. `EAGAIN` if there is no permit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_trywait(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the caller's.
    at_once(|| attempt(|| unsafe { at(semaphore) }?.try_wait()))
}

/// `sem_timedwait`: waits until the clock of real time shows `deadline`, at most. `ETIMEDOUT`; `EINVAL` if that is no time; else as
/// [`fibre_sem_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_sem_timedwait(
    semaphore: *mut fibre_sem_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    posix_raw_or_leave(|| unsafe {
        at(semaphore)?.wait(until(Clock::Realtime, deadline)?.cancellable())
    })
}

/// `sem_clockwait`: the same by this clock, which is `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_sem_clockwait(
    semaphore: *mut fibre_sem_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    posix_raw_or_leave(|| unsafe {
        at(semaphore)?.wait(until(clock(clock_number)?, deadline)?.cancellable())
    })
}

/// `sem_post`: brings a permit. `EOVERFLOW` if there are `SEM_VALUE_MAX`, `EINVAL` if it has been destroyed. Signal handlers may call it
/// on threads of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_post(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the caller's.
    at_once(|| unsafe { at(semaphore) }?.post())
}

/// `sem_getvalue`: how many permits there are; none while somebody waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_getvalue(
    semaphore: *mut fibre_sem_t,
    value: *mut c_int,
) -> c_int {
    at_once(|| {
        // SAFETY: the caller's.
        let permits = unsafe { at(semaphore) }?.value()?;
        let permits = c_int::try_from(permits).map_err(|_| Error::Overflow)?;
        // SAFETY: the caller's.
        unsafe { give(value, permits) }
    })
}

/// `sem_open`: null and `ENOSYS`. A semaphore with a name is one between processes.
///
/// cbindgen:ignore
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_open(_name: *const c_char, _flags: c_int) -> *mut fibre_sem_t {
    fail(libc::ENOSYS);
    ptr::null_mut()
}

/// `sem_close`: -1 and `ENOSYS`, as none can be opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_close(_semaphore: *mut fibre_sem_t) -> c_int {
    fail(libc::ENOSYS)
}

/// `sem_unlink`: -1 and `ENOSYS`, as there are no names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_unlink(_name: *const c_char) -> c_int {
    fail(libc::ENOSYS)
}
