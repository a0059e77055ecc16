//! `pthread_mutex_…`.

use crate::boundary::{attempt, call, contain, number};
use crate::sync::object::{at, attribute, give, make, object};
use crate::sync::shared;
use crate::sync::timing::{clock, lenient, until};
use fibre_sync::raw::{Clock, Error, Kind, Mutex, Result, Variant, Wait};
use libc::{clockid_t, timespec};
use std::ffi::c_int;

/// A mutex: `pthread_mutex_t`. All zeros is a free one of the default kind.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_mutex_t {
    /// Ours.
    words: [u64; 5],
}

/// What a mutex is made by: `pthread_mutexattr_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_mutexattr_t {
    /// Ours: kind, and 16 times the variant.
    word: u32,
}

object!(fibre_mutex_t, Mutex, libc::pthread_mutex_t);
object!(fibre_mutexattr_t, u32, libc::pthread_mutexattr_t);

/// One variant further in an attributes object.
const VARIANT: u32 = 16;

impl fibre_mutexattr_t {
    /// The default.
    const DEFAULT: Self = Self { word: 0 };

    /// The kind.
    fn kind(self) -> Result<Kind> {
        Kind::from_number(self.word % VARIANT).ok_or(Error::Invalid)
    }

    /// The variant.
    fn variant(self) -> Result<Variant> {
        Variant::from_number(self.word / VARIANT).ok_or(Error::Invalid)
    }
}

/// `pthread_mutex_init`: a free mutex. `EINVAL` for attributes that have been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_init(
    mutex: *mut fibre_mutex_t,
    attributes: *const fibre_mutexattr_t,
) -> c_int {
    // SAFETY: the caller's.
    let attributes =
        unsafe { attributes.as_ref() }.map_or(fibre_mutexattr_t::DEFAULT, |given| *given);
    number(contain(|| {
        let new = Mutex::with_variant(attributes.kind()?, attributes.variant()?);
        // SAFETY: the caller's.
        unsafe { make(mutex, new) }
    }))
}

/// `pthread_mutex_destroy`. `EBUSY` if somebody has it or waits for a condition with it, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_destroy(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe { at(mutex) }?.destroy()))
}

/// `pthread_mutex_lock`: waits until it is the caller's. `EDEADLK` if it is already, and the kind checks that; `EAGAIN` if it is
/// recursive and has been locked too often; `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_lock(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(mutex) }?.lock(Wait::FOREVER))
}

/// `pthread_mutex_trylock`. `EBUSY` if it is not free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_trylock(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    number(attempt(|| unsafe { at(mutex) }?.try_lock()))
}

/// `pthread_mutex_timedlock`: waits until the clock of real time shows `deadline`, at most. `ETIMEDOUT`; `EINVAL` if that is no time and
/// the mutex is not free; else as [`fibre_mutex_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_timedlock(
    mutex: *mut fibre_mutex_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe {
        lenient(until(Clock::Realtime, deadline), |wait| {
            at(mutex)?.lock(wait)
        })
    })
}

/// `pthread_mutex_clocklock`: the same by this clock, which is `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_clocklock(
    mutex: *mut fibre_mutex_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe {
        let clock = clock(clock_number)?;
        lenient(until(clock, deadline), |wait| at(mutex)?.lock(wait))
    })
}

/// `pthread_mutex_unlock`. `EPERM` if it is not the caller's, and the kind checks that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_unlock(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    let mutex = match unsafe { at(mutex) } {
        Ok(mutex) => mutex,
        Err(error) => return error.number(),
    };
    // SAFETY: the caller's.
    let unlock = || unsafe { mutex.unlock() };
    match mutex.switches_on_unlock() {
        false => number(contain(unlock)),
        true => call(unlock),
    }
}

/// `pthread_mutex_consistent`: `EINVAL`, as no mutex is robust.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_consistent(_mutex: *mut fibre_mutex_t) -> c_int {
    libc::EINVAL
}

/// `pthread_mutex_getprioceiling`: `EINVAL`, as no mutex has one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_getprioceiling(
    _mutex: *const fibre_mutex_t,
    _ceiling: *mut c_int,
) -> c_int {
    libc::EINVAL
}

/// `pthread_mutex_setprioceiling`: `EINVAL`, as no mutex has one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_setprioceiling(
    _mutex: *mut fibre_mutex_t,
    _ceiling: c_int,
    _old: *mut c_int,
) -> c_int {
    libc::EINVAL
}

/// `pthread_mutexattr_init`: attributes of the default kind and variant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_init(attributes: *mut fibre_mutexattr_t) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { give(attributes, fibre_mutexattr_t::DEFAULT) })
}

/// `pthread_mutexattr_destroy`: they are of no use any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_destroy(attributes: *mut fibre_mutexattr_t) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { give(attributes, fibre_mutexattr_t { word: u32::MAX }) })
}

/// `pthread_mutexattr_gettype`: the kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_gettype(
    attributes: *const fibre_mutexattr_t,
    kind: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe {
        give(kind, attribute(attributes)?.kind()? as c_int)
    }))
}

/// `pthread_mutexattr_settype`: a kind. `EINVAL` if there is none with this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_settype(
    attributes: *mut fibre_mutexattr_t,
    kind: c_int,
) -> c_int {
    number(contain(|| {
        let kind = u32::try_from(kind).ok().and_then(Kind::from_number);
        let kind = kind.ok_or(Error::Invalid)?;
        // SAFETY: the caller's.
        unsafe {
            let variant = attribute(attributes)?.variant()?;
            let word = kind as u32 + variant as u32 * VARIANT;
            give(attributes, fibre_mutexattr_t { word })
        }
    }))
}

/// Which lock a mutex is made of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getvariant(
    attributes: *const fibre_mutexattr_t,
    variant: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe {
        give(variant, attribute(attributes)?.variant()? as c_int)
    }))
}

/// Chooses the lock that a mutex is made of, by a constant of the header: `HYBRID` (default: spins for a moment, then blocks; is freed
/// for whoever comes first, but handed to who starves), `BARGING` (blocks at once), `SPIN_THEN_BLOCK`, `BATON` (first come, first
/// served), `EXCHANGE` (the same, and the next one runs at once in the caller's place), `SPIN` (never blocks). `EINVAL` for
/// another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setvariant(
    attributes: *mut fibre_mutexattr_t,
    variant: c_int,
) -> c_int {
    number(contain(|| {
        let variant = u32::try_from(variant).ok().and_then(Variant::from_number);
        let variant = variant.ok_or(Error::Invalid)?;
        // SAFETY: the caller's.
        unsafe {
            let kind = attribute(attributes)?.kind()?;
            let word = kind as u32 + variant as u32 * VARIANT;
            give(attributes, fibre_mutexattr_t { word })
        }
    }))
}

/// `pthread_mutexattr_getpshared`: `PTHREAD_PROCESS_PRIVATE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getpshared(
    attributes: *const fibre_mutexattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { shared::get(attributes, value) })
}

/// `pthread_mutexattr_setpshared`: `ENOTSUP` for `PTHREAD_PROCESS_SHARED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setpshared(
    attributes: *mut fibre_mutexattr_t,
    value: c_int,
) -> c_int {
    shared::set(attributes, value)
}

/// `pthread_mutexattr_getrobust`: `PTHREAD_MUTEX_STALLED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getrobust(
    attributes: *const fibre_mutexattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's. It has the same numbers.
    number(unsafe { shared::get(attributes, value) })
}

/// `pthread_mutexattr_setrobust`: `ENOTSUP` for `PTHREAD_MUTEX_ROBUST`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setrobust(
    attributes: *mut fibre_mutexattr_t,
    value: c_int,
) -> c_int {
    // It has the same numbers.
    shared::set(attributes, value)
}

/// `pthread_mutexattr_getprotocol`: `PTHREAD_PRIO_NONE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getprotocol(
    attributes: *const fibre_mutexattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's. Its number is zero, too.
    number(unsafe { shared::get(attributes, value) })
}

/// `pthread_mutexattr_setprotocol`: `ENOTSUP` for `PTHREAD_PRIO_INHERIT` and `PTHREAD_PRIO_PROTECT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setprotocol(
    attributes: *mut fibre_mutexattr_t,
    value: c_int,
) -> c_int {
    match value {
        libc::PTHREAD_PRIO_PROTECT => libc::ENOTSUP,
        // The two others have the numbers that this one has.
        _ => shared::set(attributes, value),
    }
}

/// `pthread_mutexattr_getprioceiling`: `ENOTSUP`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getprioceiling(
    _attributes: *const fibre_mutexattr_t,
    _ceiling: *mut c_int,
) -> c_int {
    libc::ENOTSUP
}

/// `pthread_mutexattr_setprioceiling`: `ENOTSUP`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setprioceiling(
    _attributes: *mut fibre_mutexattr_t,
    _ceiling: c_int,
) -> c_int {
    libc::ENOTSUP
}
