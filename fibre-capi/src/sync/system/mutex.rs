//! Mutexes of the system's.
//!
//! A normal (or adaptive) one knows no owner that counts: the fibre tries it, and if that fails, a
//! thread locks it for the fibre; the fibre that has it unlocks it where it is. The fibre's own
//! thread locks and unlocks all others.

use super::object::{has_tags, word};
use crate::sync::timing::Until;
use fibre_io::posix::attributes::by_attributes;
use fibre_io::posix::held::{Change, on_own_thread};
use fibre_io::posix::worker::{Worker, elsewhere_or, is_own_thread};
use libc::{clockid_t, pthread_mutex_t, timespec};
use std::ffi::c_int;
use std::sync::OnceLock;

unsafe extern "C" {
    /// The system's.
    fn pthread_mutex_clocklock(
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        deadline: *const timespec,
    ) -> c_int;
}

/// Of a kind: robust, or with a priority protocol.
const SPECIAL: u32 = 0x70;
/// Of a kind: the type.
const TYPE: u32 = 3;

/// Whether this is one of the system's.
///
/// # Safety
///
/// Null, or it is there.
pub unsafe fn is_system(mutex: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    let kind = || unsafe { word(mutex, 16) } & 0xff;
    !mutex.is_null() && kind() & 0x80 != 0 && kind() != 0xff
}

/// Whether the system makes them such that [`is_system`] knows them.
pub fn is_offered() -> bool {
    static ONCE: OnceLock<bool> = OnceLock::new();
    // SAFETY: a place for one, which is there.
    has_tags(
        &ONCE,
        |place, shared| unsafe { make(place, libc::PTHREAD_MUTEX_NORMAL, shared, 0) },
        |sample| unsafe { is_system(sample) },
    )
}

/// Makes one. Returns an error number.
///
/// # Safety
///
/// A place for it.
pub unsafe fn make(
    mutex: *mut pthread_mutex_t,
    kind: c_int,
    shared: c_int,
    robust: c_int,
) -> c_int {
    let set = |attributes| {
        // SAFETY: initialised attributes.
        unsafe {
            libc::pthread_mutexattr_settype(attributes, kind)
                | libc::pthread_mutexattr_setpshared(attributes, shared)
                | libc::pthread_mutexattr_setrobust(attributes, robust)
        }
    };
    // SAFETY: the caller's promise; these belong together.
    unsafe {
        by_attributes(
            libc::pthread_mutexattr_init,
            set,
            |attributes| libc::pthread_mutex_init(mutex, attributes),
            libc::pthread_mutexattr_destroy,
        )
    }
}

/// Whether it may be locked by one thread and unlocked by another one.
///
/// # Safety
///
/// It is there.
unsafe fn is_single_level(mutex: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    let kind = unsafe { word(mutex, 16) };
    kind & SPECIAL == 0 && matches!(kind & TYPE, 0 | 3)
}

/// The system's call.
///
/// # Safety
///
/// The mutex is there, and the time.
unsafe fn lock_here(mutex: *mut pthread_mutex_t, until: Until) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match until {
            Until::Forever => libc::pthread_mutex_lock(mutex),
            Until::Time(deadline) => libc::pthread_mutex_timedlock(mutex, deadline),
            Until::Clock(clock, deadline) => pthread_mutex_clocklock(mutex, clock, deadline),
        }
    }
}

/// Makes a call on the thread that has the mutex for the calling fibre, or is to have it; for plain
/// threads, here.
///
/// # Safety
///
/// Of the call.
unsafe fn by_owner(
    mutex: *mut pthread_mutex_t,
    change: Change,
    call: impl FnOnce() -> c_int,
) -> c_int {
    if is_own_thread() {
        return call();
    }
    on_own_thread(mutex.addr(), change, |worker| worker.run(call))
}

/// [`by_owner`], but for a mutex that knows no owner: here.
///
/// # Safety
///
/// Of the call; the mutex is there.
unsafe fn by_holder(
    mutex: *mut pthread_mutex_t,
    change: Change,
    call: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        match is_single_level(mutex) {
            true => call(),
            false => by_owner(mutex, change, call),
        }
    }
}

/// `pthread_mutex_lock` and its kin. Blocks the fibre.
///
/// # Safety
///
/// The mutex is there, and the time.
pub unsafe fn lock(mutex: *mut pthread_mutex_t, until: Until) -> c_int {
    if until.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: passed on.
    unsafe {
        if !is_single_level(mutex) {
            return by_owner(mutex, Change::Taken, || lock_here(mutex, until));
        }
        if is_own_thread() {
            return lock_here(mutex, until);
        }
        let attempt = || match libc::pthread_mutex_trylock(mutex) {
            libc::EBUSY => until.is_over().then(|| lock_here(mutex, until)),
            number => Some(number),
        };
        match libc::pthread_mutex_trylock(mutex) {
            libc::EBUSY => elsewhere_or(|| lock_here(mutex, until), attempt),
            number => number,
        }
    }
}

/// `pthread_mutex_trylock`.
///
/// # Safety
///
/// The mutex is there.
pub unsafe fn try_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: passed on.
    unsafe { by_holder(mutex, Change::Taken, || libc::pthread_mutex_trylock(mutex)) }
}

/// `pthread_mutex_unlock`.
///
/// # Safety
///
/// The mutex is there.
pub unsafe fn unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: passed on.
    unsafe {
        by_holder(mutex, Change::GivenBack, || {
            libc::pthread_mutex_unlock(mutex)
        })
    }
}

/// `pthread_mutex_consistent`.
///
/// # Safety
///
/// The mutex is there.
pub unsafe fn consistent(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: passed on.
    unsafe {
        by_owner(mutex, Change::None, || {
            libc::pthread_mutex_consistent(mutex)
        })
    }
}

/// `pthread_mutex_destroy`, which leaves a mark that ours has, too.
///
/// # Safety
///
/// The mutex is there.
pub unsafe fn destroy(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: passed on.
    unsafe { libc::pthread_mutex_destroy(mutex) }
}

/// Makes a call that unlocks the mutex, waits, and locks it again, by a thread that may do so.
///
/// # Safety
///
/// The mutex is there, and the calling fibre's.
pub unsafe fn with_thread(
    mutex: *mut pthread_mutex_t,
    call: impl FnOnce(&Worker) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    if !unsafe { is_single_level(mutex) } {
        return on_own_thread(mutex.addr(), Change::None, call);
    }
    let Ok(worker) = Worker::take() else {
        return libc::EAGAIN;
    };
    let number = call(&worker);
    worker.give_back();
    number
}
