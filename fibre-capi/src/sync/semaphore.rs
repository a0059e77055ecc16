//! `sem_…`. These return -1 and set `errno`.

use crate::boundary::{attempt, contain, fail, number, on_system_or_leave, posix_raw_or_leave};
use crate::sync::object::{at, give, make, object};
use crate::sync::shared::{self, PRIVATE};
use crate::sync::system::semaphore as system;
use crate::sync::timing::Until;
use fibre_sync::raw::{Clock, Error, Result, Semaphore};
use libc::{clockid_t, sem_t, timespec};
use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

/// A semaphore: `sem_t`. All zeros is one without a permit.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_sem_t {
    /// The library's memory.
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

/// `sem_init`: one with so many permits. `EINVAL` if that is more than `SEM_VALUE_MAX`; one that
/// processes share is one of the system's: `ENOSYS` if its library is one that we do not know.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_init(
    semaphore: *mut fibre_sem_t,
    shared: c_int,
    permits: c_uint,
) -> c_int {
    if semaphore.is_null() {
        return fail(libc::EINVAL);
    }
    if shared == PRIVATE {
        // SAFETY: the caller's.
        return at_once(|| unsafe { make(semaphore, Semaphore::new(permits)?) });
    }
    if !system::is_offered() {
        return fail(libc::ENOSYS);
    }
    // SAFETY: the caller's.
    unsafe { libc::sem_init(semaphore.cast(), shared::SHARED, permits) }
}

/// `sem_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_destroy(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(semaphore.cast()) {
            // It is left as a destroyed one of ours.
            if libc::sem_destroy(semaphore.cast()) != 0 {
                return -1;
            }
            let _ = make(semaphore, Semaphore::default());
        }
        at_once(|| at(semaphore)?.destroy())
    }
}

/// Waits for a permit until then; a cancelled fibre ends in it.
///
/// Each caller has a closure of its own, hence a type of its own: a function that several callers
/// share would be called, and would return after a switch to where the CPU does not expect it.
///
/// # Safety
///
/// All is there, or null, and no frame above has anything to drop.
#[inline(always)]
unsafe fn acquire(semaphore: *mut fibre_sem_t, until: impl Fn() -> Until) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if system::is_system(semaphore.cast()) {
            return acquire_of_system(semaphore, until());
        }
        posix_raw_or_leave(|| at(semaphore)?.wait(until().wait(Clock::Realtime)?.cancellable()))
    }
}

/// [`acquire`] on one of the system's.
///
/// # Safety
///
/// As there.
#[cold]
unsafe fn acquire_of_system(semaphore: *mut fibre_sem_t, until: Until) -> c_int {
    // SAFETY: the caller's promise.
    match on_system_or_leave(|| unsafe { system::wait(semaphore.cast(), until) }) {
        0 => 0,
        number => fail(number),
    }
}

/// Makes a call that does not wait, on one of ours by `ours`, or on one of the system's by
/// `system`.
///
/// # Safety
///
/// Null, or it is there.
#[inline(always)]
unsafe fn either(
    semaphore: *mut fibre_sem_t,
    ours: impl FnOnce(&Semaphore) -> Result,
    system: impl FnOnce(*mut sem_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if system::is_system(semaphore.cast()) {
            return system(semaphore.cast());
        }
        at_once(|| ours(at(semaphore)?))
    }
}

/// `sem_wait`: waits for a permit and takes it; first come, first served. `EINVAL` if it has been
/// destroyed. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_sem_wait(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { acquire(semaphore, || Until::Forever) }
}

/// `sem_trywait`. `EAGAIN` if there is no permit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_trywait(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let ours = |one: &Semaphore| attempt(|| one.try_wait());
        either(semaphore, ours, |one| libc::sem_trywait(one))
    }
}

/// `sem_timedwait`: waits until the clock of real time shows `deadline`, at most. `ETIMEDOUT`;
/// `EINVAL` if that is no time; else as [`fibre_sem_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_sem_timedwait(
    semaphore: *mut fibre_sem_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { acquire(semaphore, || Until::Time(deadline)) }
}

/// `sem_clockwait`: the same by this clock, which is `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else
/// `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_sem_clockwait(
    semaphore: *mut fibre_sem_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { acquire(semaphore, || Until::Clock(clock_number, deadline)) }
}

/// `sem_post`: brings a permit. `EOVERFLOW` if there are `SEM_VALUE_MAX`, `EINVAL` if it has been
/// destroyed. Signal handlers may call it on threads of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_post(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { either(semaphore, Semaphore::post, |one| libc::sem_post(one)) }
}

/// `sem_getvalue`: how many permits there are; none while somebody waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_getvalue(
    semaphore: *mut fibre_sem_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let ours = |one: &Semaphore| {
            let permits = c_int::try_from(one.value()?).map_err(|_| Error::Overflow)?;
            give(value, permits)
        };
        either(semaphore, ours, |one| libc::sem_getvalue(one, value))
    }
}

/// `sem_open`: a semaphore with a name, which is one of the system's; with `O_CREAT` it may be
/// made, with these permissions and permits. Null and the system's error; `ENOSYS` if its library
/// is one that we do not know.
///
/// cbindgen:ignore
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_open(
    name: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
    permits: c_uint,
) -> *mut fibre_sem_t {
    if !system::is_offered() {
        fail(libc::ENOSYS);
        return ptr::null_mut();
    }
    // SAFETY: the caller's name. What it has not passed is not looked at.
    unsafe { libc::sem_open(name, flags, mode, permits).cast() }
}

/// `sem_close`: ends the use of a semaphore with a name. `EINVAL` if it is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_close(semaphore: *mut fibre_sem_t) -> c_int {
    // SAFETY: the system looks for it among those that have been opened.
    unsafe { libc::sem_close(semaphore.cast()) }
}

/// `sem_unlink`: takes a semaphore's name away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sem_unlink(name: *const c_char) -> c_int {
    // SAFETY: the caller's name.
    unsafe { libc::sem_unlink(name) }
}
