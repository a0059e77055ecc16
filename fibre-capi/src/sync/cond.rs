//! `pthread_cond_…`.

use crate::boundary::{call_or_leave, contain, number};
use crate::sync::mutex::fibre_mutex_t;
use crate::sync::object::{at, attribute, give, make, object};
use crate::sync::shared;
use crate::sync::timing::{clock, until};
use fibre_sync::raw::{Clock, Condvar, Error, Result, Wait};
use libc::{clockid_t, timespec};
use std::ffi::c_int;

/// A condition variable: `pthread_cond_t`. All zeros is one that nobody waits on.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_cond_t {
    /// Ours.
    words: [u64; 6],
}

/// What a condition variable is made by: `pthread_condattr_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_condattr_t {
    /// Ours: the clock.
    word: u32,
}

object!(fibre_cond_t, Condvar, libc::pthread_cond_t);
object!(fibre_condattr_t, u32, libc::pthread_condattr_t);

impl fibre_condattr_t {
    /// The default.
    const DEFAULT: Self = Self {
        word: Clock::Realtime as u32,
    };

    /// The clock.
    fn clock(self) -> Result<Clock> {
        match self.word {
            0 => Ok(Clock::Realtime),
            1 => Ok(Clock::Monotonic),
            _ => Err(Error::Invalid),
        }
    }
}

/// `pthread_cond_init`: one that nobody waits on. `EINVAL` for attributes that have been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_init(
    cond: *mut fibre_cond_t,
    attributes: *const fibre_condattr_t,
) -> c_int {
    // SAFETY: the caller's.
    let attributes =
        unsafe { attributes.as_ref() }.map_or(fibre_condattr_t::DEFAULT, |given| *given);
    // SAFETY: the caller's.
    number(contain(|| unsafe {
        make(cond, Condvar::with_clock(attributes.clock()?))
    }))
}

/// `pthread_cond_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed. Right after a broadcast it may
/// wait for a moment, for those who are about to leave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_destroy(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    crate::boundary::call(|| unsafe { at(cond) }?.destroy())
}

/// `pthread_cond_wait`: unlocks the mutex, waits for a signal, and locks the mutex again. `EPERM` if the mutex is not the caller's, and its
/// kind checks that; `EINVAL` if either has been destroyed. A cancellation point, left with the mutex locked.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_cond_wait(
    cond: *mut fibre_cond_t,
    mutex: *mut fibre_mutex_t,
) -> c_int {
    // SAFETY: the caller's.
    call_or_leave(|| unsafe { at(cond)?.wait(at(mutex)?, Wait::FOREVER.cancellable()) })
}

/// `pthread_cond_timedwait`: the same until the condition variable's clock shows `deadline`, at most. `ETIMEDOUT`, with the mutex locked;
/// `EINVAL` if that is no time, and then the mutex has not been unlocked.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_cond_timedwait(
    cond: *mut fibre_cond_t,
    mutex: *mut fibre_mutex_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    call_or_leave(|| unsafe {
        let cond = at(cond)?;
        let wait = until(cond.clock(), deadline)?.cancellable();
        cond.wait(at(mutex)?, wait)
    })
}

/// `pthread_cond_clockwait`: the same by this clock, which is `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_cond_clockwait(
    cond: *mut fibre_cond_t,
    mutex: *mut fibre_mutex_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    call_or_leave(|| unsafe {
        let wait = until(clock(clock_number)?, deadline)?.cancellable();
        at(cond)?.wait(at(mutex)?, wait)
    })
}

/// `pthread_cond_signal`: wakes the one that has waited longest, if any. `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_signal(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe { at(cond) }?.signal()))
}

/// `pthread_cond_broadcast`: wakes all that wait. `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_broadcast(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe { at(cond) }?.broadcast()))
}

/// `pthread_condattr_init`: attributes with the clock of real time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_init(attributes: *mut fibre_condattr_t) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { give(attributes, fibre_condattr_t::DEFAULT) })
}

/// `pthread_condattr_destroy`: they are of no use any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_destroy(attributes: *mut fibre_condattr_t) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { give(attributes, fibre_condattr_t { word: u32::MAX }) })
}

/// `pthread_condattr_getclock`: the clock of deadlines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_getclock(
    attributes: *const fibre_condattr_t,
    clock_number: *mut clockid_t,
) -> c_int {
    // SAFETY: the caller's. Clocks have the system's numbers.
    number(contain(|| unsafe {
        give(clock_number, attribute(attributes)?.clock()? as clockid_t)
    }))
}

/// `pthread_condattr_setclock`: `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_setclock(
    attributes: *mut fibre_condattr_t,
    clock_number: clockid_t,
) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe {
        attribute(attributes)?.clock()?;
        let word = clock(clock_number)? as u32;
        give(attributes, fibre_condattr_t { word })
    }))
}

/// `pthread_condattr_getpshared`: `PTHREAD_PROCESS_PRIVATE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_getpshared(
    attributes: *const fibre_condattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { shared::get(attributes, value) })
}

/// `pthread_condattr_setpshared`: `ENOTSUP` for `PTHREAD_PROCESS_SHARED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_setpshared(
    attributes: *mut fibre_condattr_t,
    value: c_int,
) -> c_int {
    shared::set(attributes, value)
}
