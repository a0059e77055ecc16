//! `pthread_rwlock_…`.

use crate::boundary::{attempt, call, contain, number};
use crate::sync::object::{at, attribute, give, make, object};
use crate::sync::shared;
use crate::sync::timing::{clock, until};
use fibre_sync::raw::{Clock, Error, Result, RwKind, RwLock, Wait};
use libc::{clockid_t, timespec};
use std::ffi::c_int;

/// A read-write lock: `pthread_rwlock_t`. All zeros is a free one of the default kind.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_rwlock_t {
    /// Ours.
    words: [u64; 7],
}

/// What a read-write lock is made by: `pthread_rwlockattr_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_rwlockattr_t {
    /// Ours: the kind.
    word: u64,
}

object!(fibre_rwlock_t, RwLock, libc::pthread_rwlock_t);
object!(fibre_rwlockattr_t, u64, libc::pthread_rwlockattr_t);

impl fibre_rwlockattr_t {
    /// The default.
    const DEFAULT: Self = Self {
        word: RwKind::PreferReader as u64,
    };

    /// The kind.
    fn kind(self) -> Result<RwKind> {
        let number = u32::try_from(self.word).ok();
        number.and_then(RwKind::from_number).ok_or(Error::Invalid)
    }
}

/// `pthread_rwlock_init`: a free one. `EINVAL` for attributes that have been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_init(
    lock: *mut fibre_rwlock_t,
    attributes: *const fibre_rwlockattr_t,
) -> c_int {
    // SAFETY: the caller's.
    let attributes =
        unsafe { attributes.as_ref() }.map_or(fibre_rwlockattr_t::DEFAULT, |given| *given);
    // SAFETY: the caller's.
    number(contain(|| unsafe {
        make(lock, RwLock::with_kind(attributes.kind()?))
    }))
}

/// `pthread_rwlock_destroy`. `EBUSY` if somebody has it or waits for it, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_destroy(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe { at(lock) }?.destroy()))
}

/// `pthread_rwlock_rdlock`: waits until the caller may read. `EDEADLK` if it writes, `EAGAIN` with too many readers, `EINVAL` if it has been
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_rdlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(lock) }?.read(Wait::FOREVER))
}

/// `pthread_rwlock_tryrdlock`. `EBUSY` if one cannot read at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_tryrdlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    number(attempt(|| unsafe { at(lock) }?.try_read()))
}

/// `pthread_rwlock_timedrdlock`: waits until the clock of real time shows `deadline`, at most. `ETIMEDOUT`; `EINVAL` if that is no time;
/// else as [`fibre_rwlock_rdlock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_timedrdlock(
    lock: *mut fibre_rwlock_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(lock)?.read(until(Clock::Realtime, deadline)?) })
}

/// `pthread_rwlock_clockrdlock`: the same by this clock, which is `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_clockrdlock(
    lock: *mut fibre_rwlock_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(lock)?.read(until(clock(clock_number)?, deadline)?) })
}

/// `pthread_rwlock_wrlock`: waits until the caller may write. `EDEADLK` if it does already, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_wrlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(lock) }?.write(Wait::FOREVER))
}

/// `pthread_rwlock_trywrlock`. `EBUSY` if it is not free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_trywrlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    number(attempt(|| unsafe { at(lock) }?.try_write()))
}

/// `pthread_rwlock_timedwrlock`: waits until the clock of real time shows `deadline`, at most. `ETIMEDOUT`; `EINVAL` if that is no time;
/// else as [`fibre_rwlock_wrlock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_timedwrlock(
    lock: *mut fibre_rwlock_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(lock)?.write(until(Clock::Realtime, deadline)?) })
}

/// `pthread_rwlock_clockwrlock`: the same by this clock, which is `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_clockwrlock(
    lock: *mut fibre_rwlock_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(lock)?.write(until(clock(clock_number)?, deadline)?) })
}

/// `pthread_rwlock_unlock`: gives back what the caller has. `EPERM` if nobody has it, or somebody else writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_unlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe { at(lock)?.unlock() }))
}

/// `pthread_rwlockattr_init`: attributes of the default kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_init(attributes: *mut fibre_rwlockattr_t) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { give(attributes, fibre_rwlockattr_t::DEFAULT) })
}

/// `pthread_rwlockattr_destroy`: they are of no use any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_destroy(attributes: *mut fibre_rwlockattr_t) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { give(attributes, fibre_rwlockattr_t { word: u64::MAX }) })
}

/// `pthread_rwlockattr_getkind_np`: who goes first if readers come while a writer waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_getkind(
    attributes: *const fibre_rwlockattr_t,
    kind: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe {
        give(kind, attribute(attributes)?.kind()? as c_int)
    }))
}

/// `pthread_rwlockattr_setkind_np`: `PTHREAD_RWLOCK_PREFER_READER_NP` (default) and `PTHREAD_RWLOCK_PREFER_WRITER_NP`: readers, if others
/// read already; `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`: who has waited longer, so that nobody starves. `EINVAL` for
/// another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_setkind(
    attributes: *mut fibre_rwlockattr_t,
    kind: c_int,
) -> c_int {
    number(contain(|| {
        let kind = u32::try_from(kind).ok().and_then(RwKind::from_number);
        let word = kind.ok_or(Error::Invalid)? as u64;
        // SAFETY: the caller's.
        unsafe {
            attribute(attributes)?.kind()?;
            give(attributes, fibre_rwlockattr_t { word })
        }
    }))
}

/// `pthread_rwlockattr_getpshared`: `PTHREAD_PROCESS_PRIVATE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_getpshared(
    attributes: *const fibre_rwlockattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { shared::get(attributes, value) })
}

/// `pthread_rwlockattr_setpshared`: `ENOTSUP` for `PTHREAD_PROCESS_SHARED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_setpshared(
    attributes: *mut fibre_rwlockattr_t,
    value: c_int,
) -> c_int {
    shared::set(attributes, value)
}
