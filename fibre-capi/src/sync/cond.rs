//! `pthread_cond_…`.

use crate::boundary::{call, call_or_leave, contain, number, on_system, on_system_or_leave};
use crate::sync::mutex::fibre_mutex_t;
use crate::sync::object::{at, attribute, give, make, object};
use crate::sync::shared;
use crate::sync::system::cond as system;
use crate::sync::system::object::Until;
use crate::sync::timing::{clock, until};
use fibre_sync::raw::{Clock, Condvar, Error, Result, Wait};
use libc::{clockid_t, timespec};
use std::ffi::c_int;

/// A condition variable: `pthread_cond_t`. All zeros is one that nobody waits on.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_cond_t {
    /// The library's memory.
    words: [u64; 6],
}

/// What a condition variable is made by: `pthread_condattr_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_condattr_t {
    /// Ours: the clock, and a flag.
    word: u32,
}

/// Processes share the condition variable.
const SHARED: u32 = 1 << 16;

object!(fibre_cond_t, Condvar, libc::pthread_cond_t);
object!(fibre_condattr_t, u32, libc::pthread_condattr_t);

impl fibre_condattr_t {
    /// The default.
    const DEFAULT: Self = Self {
        word: Clock::Realtime as u32,
    };

    /// The clock.
    fn clock(self) -> Result<Clock> {
        match self.word & !SHARED {
            0 => Ok(Clock::Realtime),
            1 => Ok(Clock::Monotonic),
            _ => Err(Error::Invalid),
        }
    }

    /// Whether processes share it.
    fn is_shared(self) -> bool {
        self.word & SHARED != 0
    }
}

/// Makes one of ours. The bytes beyond it tell it from the system's.
///
/// # Safety
///
/// Null, or the caller's place for it.
unsafe fn make_ours(cond: *mut fibre_cond_t, clock: Clock) -> Result {
    if !cond.is_null() {
        // SAFETY: the caller's promise.
        unsafe { cond.write(fibre_cond_t { words: [0; 6] }) };
    }
    // SAFETY: passed on.
    unsafe { make(cond, Condvar::with_clock(clock)) }
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
    let clock = match attributes.clock() {
        Ok(clock) if !cond.is_null() => clock,
        _ => return libc::EINVAL,
    };
    match attributes.is_shared() {
        // SAFETY: the caller's.
        false => number(contain(|| unsafe { make_ours(cond, clock) })),
        true => {
            // SAFETY: the caller's. Clocks have the system's numbers.
            on_system(|| unsafe { system::make(cond.cast(), clock as clockid_t, shared::SHARED) })
        }
    }
}

/// `pthread_cond_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed. Right
/// after a broadcast it may wait for a moment, for those who are about to leave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_destroy(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    let number = match unsafe { system::is_system(cond.cast()) } {
        // SAFETY: the caller's.
        true => on_system(|| unsafe { system::destroy(cond.cast()) }),
        false => 0,
    };
    match number {
        // One of the system's has left zeros: one of ours, that goes the same way.
        // SAFETY: the caller's.
        0 => call(|| unsafe { at(cond) }?.destroy()),
        number => number,
    }
}

/// A wait for one of the system's.
///
/// # Safety
///
/// All is there, and no frame above has anything to drop.
#[cold]
unsafe fn wait_for_system(
    cond: *mut fibre_cond_t,
    mutex: *mut fibre_mutex_t,
    until: Until,
) -> c_int {
    // SAFETY: the caller's.
    on_system_or_leave(|| unsafe { system::wait(cond.cast(), mutex.cast(), until) })
}

/// `pthread_cond_wait`: unlocks the mutex, waits for a signal, and locks the mutex again. `EPERM`
/// if the mutex is not the caller's, and its kind checks that; `EINVAL` if either has been
/// destroyed. A cancellation point, left with the mutex locked.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_cond_wait(
    cond: *mut fibre_cond_t,
    mutex: *mut fibre_mutex_t,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(cond.cast()) {
            return wait_for_system(cond, mutex, Until::Forever);
        }
    }
    // SAFETY: the caller's.
    call_or_leave(|| unsafe { at(cond)?.wait(at(mutex)?, Wait::FOREVER.cancellable()) })
}

/// `pthread_cond_timedwait`: the same until the condition variable's clock shows `deadline`, at
/// most. `ETIMEDOUT`, with the mutex locked; `EINVAL` if that is no time, and then the mutex has
/// not been unlocked.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_cond_timedwait(
    cond: *mut fibre_cond_t,
    mutex: *mut fibre_mutex_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(cond.cast()) {
            return wait_for_system(cond, mutex, Until::Time(deadline));
        }
    }
    // SAFETY: the caller's.
    call_or_leave(|| unsafe {
        let cond = at(cond)?;
        let wait = until(cond.clock(), deadline)?.cancellable();
        cond.wait(at(mutex)?, wait)
    })
}

/// `pthread_cond_clockwait`: the same by this clock, which is `CLOCK_REALTIME` or
/// `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_cond_clockwait(
    cond: *mut fibre_cond_t,
    mutex: *mut fibre_mutex_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(cond.cast()) {
            return wait_for_system(cond, mutex, Until::Clock(clock_number, deadline));
        }
    }
    // SAFETY: the caller's.
    call_or_leave(|| unsafe {
        let wait = until(clock(clock_number)?, deadline)?.cancellable();
        at(cond)?.wait(at(mutex)?, wait)
    })
}

/// `pthread_cond_signal`: wakes the one that has waited longest, if any. `EINVAL` if it has been
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_signal(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(cond.cast()) {
            return on_system(|| system::signal(cond.cast()));
        }
    }
    // SAFETY: the caller's.
    number(contain(|| unsafe { at(cond) }?.signal()))
}

/// `pthread_cond_broadcast`: wakes all that wait. `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_broadcast(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(cond.cast()) {
            return on_system(|| system::broadcast(cond.cast()));
        }
    }
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
        let old = attribute(attributes)?;
        old.clock()?;
        let word = clock(clock_number)? as u32 | old.word & SHARED;
        give(attributes, fibre_condattr_t { word })
    }))
}

/// `pthread_condattr_getpshared`: whether processes share the condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_getpshared(
    attributes: *const fibre_condattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe {
        let own = attribute(attributes)?;
        own.clock()?;
        give(value, own.is_shared().into())
    }))
}

/// `pthread_condattr_setpshared`: `PTHREAD_PROCESS_SHARED` for a condition variable of the
/// system's, which processes share and whose mutex they share, too; else `PTHREAD_PROCESS_PRIVATE`.
/// Errors as for `fibre_mutexattr_setpshared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_setpshared(
    attributes: *mut fibre_condattr_t,
    value: c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe {
        let own = attribute(attributes)?;
        let clock = own.clock()? as u32;
        let is_shared = shared::wanted(value, system::is_offered())?;
        let word = clock | if is_shared { SHARED } else { 0 };
        give(attributes, fibre_condattr_t { word })
    }))
}
