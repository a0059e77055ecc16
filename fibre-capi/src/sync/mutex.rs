//! `pthread_mutex_…`.

use crate::boundary::{attempt, call, call_or, contain, number, on_system};
use crate::sync::object::{at, get, give, make, object, set};
use crate::sync::shared;
use crate::sync::system::mutex as system;
use crate::sync::timing::{Until, lenient};
use fibre_sync::raw::{Clock, Error, Kind, Mutex, Result, Variant, Wait};
use libc::{clockid_t, timespec};
use std::ffi::c_int;

/// A mutex: `pthread_mutex_t`. All zeros is a free one of the default kind.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_mutex_t {
    /// The library's memory.
    words: [u64; 5],
}

/// What a mutex is made by: `pthread_mutexattr_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_mutexattr_t {
    /// Ours: kind, 16 times the variant, and flags.
    word: u32,
}

object!(fibre_mutex_t, Mutex, libc::pthread_mutex_t);
object!(fibre_mutexattr_t, u32, libc::pthread_mutexattr_t);

/// One variant further in an attributes object.
const VARIANT: u32 = 16;
/// Processes share the mutex.
const SHARED: u32 = 1 << 16;
/// It is robust.
const ROBUST: u32 = 1 << 17;
/// All flags.
const FLAGS: u32 = SHARED | ROBUST;

impl fibre_mutexattr_t {
    /// The default.
    const DEFAULT: Self = Self { word: 0 };

    /// The kind.
    fn kind(self) -> Result<Kind> {
        Kind::from_number(self.word % VARIANT).ok_or(Error::Invalid)
    }

    /// The variant.
    fn variant(self) -> Result<Variant> {
        Variant::from_number((self.word & !FLAGS) / VARIANT).ok_or(Error::Invalid)
    }

    /// The same with this kind and variant.
    fn with(self, kind: Kind, variant: Variant) -> Self {
        let word = kind as u32 + variant as u32 * VARIANT + (self.word & FLAGS);
        Self { word }
    }

    /// The same with this flag, or without.
    fn flagged(self, flag: u32, is_set: bool) -> Self {
        let word = self.word & !flag | if is_set { flag } else { 0 };
        Self { word }
    }

    /// Whether it has this flag.
    fn has(self, flag: u32) -> bool {
        self.word & flag != 0
    }
}

/// `pthread_mutex_init`: a free mutex. `EINVAL` for attributes that have been destroyed; `ENOTSUP`
/// for a variant of one that processes share, or that is robust.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_init(
    mutex: *mut fibre_mutex_t,
    attributes: *const fibre_mutexattr_t,
) -> c_int {
    // SAFETY: the caller's.
    let attributes =
        unsafe { attributes.as_ref() }.map_or(fibre_mutexattr_t::DEFAULT, |given| *given);
    let (kind, variant) = match (attributes.kind(), attributes.variant()) {
        (Ok(kind), Ok(variant)) if !mutex.is_null() => (kind, variant),
        _ => return libc::EINVAL,
    };
    if !attributes.has(FLAGS) {
        // SAFETY: the caller's.
        return number(contain(|| unsafe {
            let mut made = Mutex::with_variant(kind, variant);
            made.note_owners();
            make(mutex, made)
        }));
    }
    if variant != Variant::Hybrid {
        return libc::ENOTSUP;
    }
    let robust = c_int::from(attributes.has(ROBUST));
    // A robust one is made as if it was shared, which its tag says.
    // SAFETY: the caller's.
    on_system(|| unsafe { system::make(mutex.cast(), kind as c_int, shared::SHARED, robust) })
}

/// `pthread_mutex_destroy`. `EBUSY` if somebody has it or waits for a condition with it, `EINVAL`
/// if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_destroy(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match contain(|| at(mutex)?.destroy()) {
            Err(Error::Foreign) => on_system(|| system::destroy(mutex.cast())),
            result => number(result),
        }
    }
}

/// Waits until then for a mutex, of ours or of the system's. One that is free needs no time.
///
/// # Safety
///
/// Null, or the caller's; the time is there, or null.
unsafe fn lock_until(mutex: *mut fibre_mutex_t, until: Until) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let ours = || {
            until.clock(Clock::Realtime)?;
            lenient(until.wait(Clock::Realtime), |wait| at(mutex)?.lock(wait))
        };
        call_or(ours, || system::lock(mutex.cast(), until))
    }
}

/// `pthread_mutex_lock`: waits until it is the caller's. `EDEADLK` if it is already, and the kind
/// checks that; `EAGAIN` if it is recursive and has been locked too often; `EINVAL` if it has been
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_lock(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        call_or(
            || at(mutex)?.lock(Wait::FOREVER),
            || system::lock(mutex.cast(), Until::Forever),
        )
    }
}

/// `pthread_mutex_trylock`. `EBUSY` if it is not free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_trylock(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match attempt(|| at(mutex)?.try_lock()) {
            Err(Error::Foreign) => on_system(|| system::try_lock(mutex.cast())),
            result => number(result),
        }
    }
}

/// `pthread_mutex_timedlock`: waits until the clock of real time shows `deadline`, at most.
/// `ETIMEDOUT`; `EINVAL` if that is no time and the mutex is not free; else as
/// [`fibre_mutex_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_timedlock(
    mutex: *mut fibre_mutex_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { lock_until(mutex, Until::Time(deadline)) }
}

/// `pthread_mutex_clocklock`: the same by this clock, which is `CLOCK_REALTIME` or
/// `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_clocklock(
    mutex: *mut fibre_mutex_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { lock_until(mutex, Until::Clock(clock_number, deadline)) }
}

/// `pthread_mutex_unlock`. `EPERM` if it is not the caller's, and the kind checks that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_unlock(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let object = match at(mutex) {
            Ok(object) => object,
            Err(error) => return error.number(),
        };
        if object.switches_on_unlock() {
            return call(|| object.unlock());
        }
        match contain(|| object.unlock()) {
            Err(Error::Foreign) => on_system(|| system::unlock(mutex.cast())),
            result => number(result),
        }
    }
}

/// `pthread_mutex_consistent`: what a robust mutex guards is in order again. `EINVAL` if it is not
/// robust, or its owner has not died.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutex_consistent(mutex: *mut fibre_mutex_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match system::is_system(mutex.cast()) {
            true => on_system(|| system::consistent(mutex.cast())),
            false => libc::EINVAL,
        }
    }
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
    unsafe { get(attributes, kind, |own| Ok(own.kind()? as c_int)) }
}

/// `pthread_mutexattr_settype`: a kind. `EINVAL` if there is none with this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_settype(
    attributes: *mut fibre_mutexattr_t,
    kind: c_int,
) -> c_int {
    let kind = u32::try_from(kind).ok().and_then(Kind::from_number);
    // SAFETY: the caller's.
    unsafe {
        set(attributes, |own| {
            Ok(own.with(kind.ok_or(Error::Invalid)?, own.variant()?))
        })
    }
}

/// Which lock a mutex is made of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getvariant(
    attributes: *const fibre_mutexattr_t,
    variant: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { get(attributes, variant, |own| Ok(own.variant()? as c_int)) }
}

/// Chooses the lock that a mutex is made of, by a constant of the header: `HYBRID` (default: spins
/// for a moment, then blocks; is freed for whoever comes first, but handed to who starves),
/// `BARGING` (blocks at once), `SPIN_THEN_BLOCK`, `BATON` (first come, first served), `EXCHANGE`
/// (the same, and the next one runs at once in the caller's place), `SPIN` (never blocks). `EINVAL`
/// for another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setvariant(
    attributes: *mut fibre_mutexattr_t,
    variant: c_int,
) -> c_int {
    let variant = u32::try_from(variant).ok().and_then(Variant::from_number);
    // SAFETY: the caller's.
    unsafe {
        set(attributes, |own| {
            Ok(own.with(own.kind()?, variant.ok_or(Error::Invalid)?))
        })
    }
}

/// Tells whether attributes have a flag.
///
/// # Safety
///
/// Null, or the caller's.
unsafe fn get_flag(attributes: *const fibre_mutexattr_t, flag: u32, value: *mut c_int) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        get(attributes, value, |own| {
            own.kind().map(|_| own.has(flag).into())
        })
    }
}

/// Sets a flag of attributes, or takes it away. Values have the same numbers for all flags.
///
/// # Safety
///
/// Null, or the caller's.
unsafe fn set_flag(attributes: *mut fibre_mutexattr_t, flag: u32, value: c_int) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        set(attributes, |own| {
            own.kind()?;
            let is_set = shared::wanted(value, system::is_offered())?;
            Ok(own.flagged(flag, is_set))
        })
    }
}

/// `pthread_mutexattr_getpshared`: whether processes share the mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getpshared(
    attributes: *const fibre_mutexattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { get_flag(attributes, SHARED, value) }
}

/// `pthread_mutexattr_setpshared`: `PTHREAD_PROCESS_SHARED` for a mutex of the system's, which
/// processes share; else `PTHREAD_PROCESS_PRIVATE`. `EINVAL` for another value, `ENOTSUP` if the
/// system's library is one that we do not know.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setpshared(
    attributes: *mut fibre_mutexattr_t,
    value: c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { set_flag(attributes, SHARED, value) }
}

/// `pthread_mutexattr_getrobust`: whether the mutex is robust.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getrobust(
    attributes: *const fibre_mutexattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { get_flag(attributes, ROBUST, value) }
}

/// `pthread_mutexattr_setrobust`: `PTHREAD_MUTEX_ROBUST` for a mutex of the system's that tells the
/// next owner if one has ended with it; else `PTHREAD_MUTEX_STALLED`. Errors as for
/// `fibre_mutexattr_setpshared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setrobust(
    attributes: *mut fibre_mutexattr_t,
    value: c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { set_flag(attributes, ROBUST, value) }
}

/// `pthread_mutexattr_getprotocol`: `PTHREAD_PRIO_NONE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_getprotocol(
    attributes: *const fibre_mutexattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { get(attributes, value, |_| Ok(libc::PTHREAD_PRIO_NONE)) }
}

/// `pthread_mutexattr_setprotocol`: `ENOTSUP` for `PTHREAD_PRIO_INHERIT` and
/// `PTHREAD_PRIO_PROTECT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mutexattr_setprotocol(
    attributes: *mut fibre_mutexattr_t,
    value: c_int,
) -> c_int {
    match value {
        libc::PTHREAD_PRIO_PROTECT => libc::ENOTSUP,
        _ => shared::refuse(attributes, value),
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
