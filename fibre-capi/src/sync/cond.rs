//! `pthread_cond_…`.

use crate::boundary::{call, call_or_leave, contain, number, on_system, on_system_or_leave};
use crate::sync::mutex::fibre_mutex_t;
use crate::sync::object::{at, get, give, make, object, set};
use crate::sync::shared;
use crate::sync::system::cond as system;
use crate::sync::timing::{Until, clock};
use fibre_sync::raw::{Clock, Condvar, Error, Result};
use libc::{clockid_t, pthread_cond_t, timespec};
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
    // SAFETY: the caller's. Clocks have the system's numbers.
    unsafe {
        let attributes = attributes
            .as_ref()
            .map_or(fibre_condattr_t::DEFAULT, |given| *given);
        match attributes.clock() {
            Err(_) => libc::EINVAL,
            Ok(_) if cond.is_null() => libc::EINVAL,
            Ok(clock) if attributes.is_shared() => {
                on_system(|| system::make(cond.cast(), clock as clockid_t, shared::SHARED))
            }
            Ok(clock) => number(contain(|| make_ours(cond, clock))),
        }
    }
}

/// `pthread_cond_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed. Right
/// after a broadcast it may wait for a moment, for those who are about to leave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_destroy(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        // One of the system's leaves zeros: one of ours, that goes the same way.
        let is_system = system::is_system(cond.cast());
        match is_system.then(|| on_system(|| system::destroy(cond.cast()))) {
            None | Some(0) => call(|| at(cond)?.destroy()),
            Some(failed) => failed,
        }
    }
}

/// Waits for a signal until then; a cancelled fibre ends in it.
///
/// Each caller has a closure of its own, for the reason that `semaphore::acquire` has.
///
/// # Safety
///
/// All is there, or null, and no frame above has anything to drop.
#[inline(always)]
unsafe fn wait(
    cond: *mut fibre_cond_t,
    mutex: *mut fibre_mutex_t,
    until: impl Fn() -> Until,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if system::is_system(cond.cast()) {
            return on_system_or_leave(|| system::wait(cond.cast(), mutex.cast(), until()));
        }
        call_or_leave(|| {
            let cond = at(cond)?;
            let wait = until().wait(cond.clock())?.cancellable();
            cond.wait(at(mutex)?, wait)
        })
    }
}

/// Wakes those who wait, on one of ours by `ours`, or on one of the system's by `system`.
///
/// # Safety
///
/// Null, or it is there.
#[inline(always)]
unsafe fn wake(
    cond: *mut fibre_cond_t,
    ours: impl FnOnce(&Condvar) -> Result,
    system: unsafe extern "C" fn(*mut pthread_cond_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if system::is_system(cond.cast()) {
            return on_system(|| system(cond.cast()));
        }
        number(contain(|| ours(at(cond)?)))
    }
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
    unsafe { wait(cond, mutex, || Until::Forever) }
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
    unsafe { wait(cond, mutex, || Until::Time(deadline)) }
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
    unsafe { wait(cond, mutex, || Until::Clock(clock_number, deadline)) }
}

/// `pthread_cond_signal`: wakes the one that has waited longest, if any. `EINVAL` if it has been
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_signal(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { wake(cond, Condvar::signal, libc::pthread_cond_signal) }
}

/// `pthread_cond_broadcast`: wakes all that wait. `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cond_broadcast(cond: *mut fibre_cond_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { wake(cond, Condvar::broadcast, libc::pthread_cond_broadcast) }
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
    unsafe {
        get(
            attributes,
            clock_number,
            |own| Ok(own.clock()? as clockid_t),
        )
    }
}

/// `pthread_condattr_setclock`: `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_setclock(
    attributes: *mut fibre_condattr_t,
    clock_number: clockid_t,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        set(attributes, |own| {
            own.clock()?;
            let word = clock(clock_number)? as u32 | own.word & SHARED;
            Ok(fibre_condattr_t { word })
        })
    }
}

/// `pthread_condattr_getpshared`: whether processes share the condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_condattr_getpshared(
    attributes: *const fibre_condattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        get(attributes, value, |own| {
            own.clock().map(|_| own.is_shared().into())
        })
    }
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
    unsafe {
        set(attributes, |own| {
            let clock = own.clock()? as u32;
            let is_shared = shared::wanted(value, system::is_offered())?;
            let word = clock | if is_shared { SHARED } else { 0 };
            Ok(fibre_condattr_t { word })
        })
    }
}
