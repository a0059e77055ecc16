//! `pthread_rwlock_…`.

use crate::boundary::{attempt, call, contain, number, on_system};
use crate::sync::object::{at, get, give, make, object, set};
use crate::sync::shared;
use crate::sync::system::rwlock as system;
use crate::sync::timing::Until;
use fibre_sync::raw::{Clock, Error, Result, RwKind, RwLock, Wait};
use libc::{clockid_t, pthread_rwlock_t, timespec};
use std::ffi::c_int;

/// A read-write lock: `pthread_rwlock_t`. All zeros is a free one of the default kind.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_rwlock_t {
    /// The library's memory.
    words: [u64; 7],
}

/// What a read-write lock is made by: `pthread_rwlockattr_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_rwlockattr_t {
    /// Ours: the kind, and a flag.
    word: u64,
}

/// Processes share the lock.
const SHARED: u64 = 1 << 16;

object!(fibre_rwlock_t, RwLock, libc::pthread_rwlock_t);
object!(fibre_rwlockattr_t, u64, libc::pthread_rwlockattr_t);

impl fibre_rwlockattr_t {
    /// The default.
    const DEFAULT: Self = Self {
        word: RwKind::PreferReader as u64,
    };

    /// The kind.
    fn kind(self) -> Result<RwKind> {
        let number = u32::try_from(self.word & !SHARED).ok();
        number.and_then(RwKind::from_number).ok_or(Error::Invalid)
    }

    /// Whether processes share it.
    fn is_shared(self) -> bool {
        self.word & SHARED != 0
    }

    /// The same, of this kind.
    fn with(self, kind: RwKind) -> Self {
        let word = kind as u64 | self.word & SHARED;
        Self { word }
    }
}

/// Makes one of ours. Padding of ours tells it from the system's: see [`crate::sync::system`].
///
/// # Safety
///
/// Null, or the caller's place for it.
unsafe fn make_ours(lock: *mut fibre_rwlock_t, kind: RwKind) -> Result {
    // SAFETY: the caller's promise; word 28 is within the object, and in ours nobody's.
    unsafe {
        make(lock, RwLock::with_kind(kind))?;
        lock.byte_add(system::TAG).cast::<u32>().write(0);
    }
    Ok(())
}

/// `pthread_rwlock_init`: a free one. `EINVAL` for attributes that have been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_init(
    lock: *mut fibre_rwlock_t,
    attributes: *const fibre_rwlockattr_t,
) -> c_int {
    // SAFETY: the caller's. Kinds have the system's numbers.
    unsafe {
        let attributes = attributes
            .as_ref()
            .map_or(fibre_rwlockattr_t::DEFAULT, |given| *given);
        match attributes.kind() {
            Err(_) => libc::EINVAL,
            Ok(_) if lock.is_null() => libc::EINVAL,
            Ok(kind) if attributes.is_shared() => {
                on_system(|| system::make(lock.cast(), kind as c_int, shared::SHARED))
            }
            Ok(kind) => number(contain(|| make_ours(lock, kind))),
        }
    }
}

/// `pthread_rwlock_destroy`. `EBUSY` if somebody has it or waits for it, `EINVAL` if it has been
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_destroy(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        // One of the system's leaves zeros: one of ours, that goes the same way.
        let is_system = system::is_system(lock.cast());
        match is_system.then(|| on_system(|| system::destroy(lock.cast()))) {
            None | Some(0) => number(contain(|| at(lock)?.destroy())),
            Some(failed) => failed,
        }
    }
}

/// Waits for a lock until then, of ours by `ours` or of the system's by `system`.
///
/// # Safety
///
/// Null, or the caller's; the time is there, or null.
#[inline(always)]
unsafe fn acquire(
    lock: *mut fibre_rwlock_t,
    until: Until,
    ours: impl FnOnce(&RwLock, Wait) -> Result,
    system: unsafe fn(*mut pthread_rwlock_t, Until) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if system::is_system(lock.cast()) {
            return on_system(|| system(lock.cast(), until));
        }
        call(|| ours(at(lock)?, until.wait(Clock::Realtime)?))
    }
}

/// Tries to get a lock, as [`acquire`].
///
/// # Safety
///
/// Null, or the caller's.
#[inline(always)]
unsafe fn try_acquire(
    lock: *mut fibre_rwlock_t,
    ours: impl FnOnce(&RwLock) -> Result,
    system: unsafe fn(*mut pthread_rwlock_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if system::is_system(lock.cast()) {
            return on_system(|| system(lock.cast()));
        }
        number(attempt(|| ours(at(lock)?)))
    }
}

/// `pthread_rwlock_rdlock`: waits until the caller may read. `EDEADLK` if it writes, `EAGAIN` with
/// too many readers, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_rdlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { acquire(lock, Until::Forever, RwLock::read, system::read) }
}

/// `pthread_rwlock_tryrdlock`. `EBUSY` if one cannot read at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_tryrdlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { try_acquire(lock, RwLock::try_read, system::try_read) }
}

/// `pthread_rwlock_timedrdlock`: waits until the clock of real time shows `deadline`, at most.
/// `ETIMEDOUT`; `EINVAL` if that is no time; else as [`fibre_rwlock_rdlock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_timedrdlock(
    lock: *mut fibre_rwlock_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { acquire(lock, Until::Time(deadline), RwLock::read, system::read) }
}

/// `pthread_rwlock_clockrdlock`: the same by this clock, which is `CLOCK_REALTIME` or
/// `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_clockrdlock(
    lock: *mut fibre_rwlock_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        acquire(
            lock,
            Until::Clock(clock_number, deadline),
            RwLock::read,
            system::read,
        )
    }
}

/// `pthread_rwlock_wrlock`: waits until the caller may write. `EDEADLK` if it does already,
/// `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_wrlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { acquire(lock, Until::Forever, RwLock::write, system::write) }
}

/// `pthread_rwlock_trywrlock`. `EBUSY` if it is not free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_trywrlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    unsafe { try_acquire(lock, RwLock::try_write, system::try_write) }
}

/// `pthread_rwlock_timedwrlock`: waits until the clock of real time shows `deadline`, at most.
/// `ETIMEDOUT`; `EINVAL` if that is no time; else as [`fibre_rwlock_wrlock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_timedwrlock(
    lock: *mut fibre_rwlock_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { acquire(lock, Until::Time(deadline), RwLock::write, system::write) }
}

/// `pthread_rwlock_clockwrlock`: the same by this clock, which is `CLOCK_REALTIME` or
/// `CLOCK_MONOTONIC`; else `EINVAL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_clockwrlock(
    lock: *mut fibre_rwlock_t,
    clock_number: clockid_t,
    deadline: *const timespec,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        acquire(
            lock,
            Until::Clock(clock_number, deadline),
            RwLock::write,
            system::write,
        )
    }
}

/// `pthread_rwlock_unlock`: gives back what the caller has. `EPERM` if nobody has it, or somebody
/// else writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlock_unlock(lock: *mut fibre_rwlock_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(lock.cast()) {
            return on_system(|| system::unlock(lock.cast()));
        }
        number(contain(|| at(lock)?.unlock()))
    }
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
    unsafe { get(attributes, kind, |own| Ok(own.kind()? as c_int)) }
}

/// `pthread_rwlockattr_setkind_np`: `PTHREAD_RWLOCK_PREFER_READER_NP` (default) and
/// `PTHREAD_RWLOCK_PREFER_WRITER_NP`: readers, if others read already;
/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`: who has waited longer, so that nobody starves.
/// `EINVAL` for another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_setkind(
    attributes: *mut fibre_rwlockattr_t,
    kind: c_int,
) -> c_int {
    let kind = u32::try_from(kind).ok().and_then(RwKind::from_number);
    // SAFETY: the caller's.
    unsafe {
        set(attributes, |own| {
            let kind = kind.ok_or(Error::Invalid)?;
            own.kind()?;
            Ok(own.with(kind))
        })
    }
}

/// `pthread_rwlockattr_getpshared`: whether processes share the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_getpshared(
    attributes: *const fibre_rwlockattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        get(attributes, value, |own| {
            own.kind().map(|_| own.is_shared().into())
        })
    }
}

/// `pthread_rwlockattr_setpshared`: `PTHREAD_PROCESS_SHARED` for a lock of the system's, which
/// processes share; else `PTHREAD_PROCESS_PRIVATE`. Errors as for `fibre_mutexattr_setpshared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_rwlockattr_setpshared(
    attributes: *mut fibre_rwlockattr_t,
    value: c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        set(attributes, |own| {
            let kind = own.kind()? as u64;
            let is_shared = shared::wanted(value, system::is_offered())?;
            let word = kind | if is_shared { SHARED } else { 0 };
            Ok(fibre_rwlockattr_t { word })
        })
    }
}
