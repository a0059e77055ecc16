//! Mutexes.

use super::mark::{Mark, has};
use super::queue::{NOT_YET, changed, wait_for};
use super::until::{OVER, Until};
use crate::entry::{may_switch_as_thread, threads_are_fibres};
use crate::next::call_next;
use fibre_io::posix::attributes::by_attributes;
use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use std::ffi::c_int;
use std::sync::OnceLock;

unsafe extern "C" {
    fn pthread_mutexattr_setprotocol(attributes: *mut pthread_mutexattr_t, value: c_int) -> c_int;
}

/// Makes a mutex by attributes that `set` changes.
unsafe fn make(
    mutex: *mut pthread_mutex_t,
    set: impl FnOnce(*mut pthread_mutexattr_t) -> c_int,
) -> c_int {
    // SAFETY: the caller's place; these belong together.
    unsafe {
        by_attributes(
            libc::pthread_mutexattr_init,
            set,
            |attributes| libc::pthread_mutex_init(mutex, attributes),
            libc::pthread_mutexattr_destroy,
        )
    }
}

/// Whether the kernel, or another process, has to do with a mutex.
unsafe fn is_of_the_kernel(mutex: *const pthread_mutex_t) -> bool {
    static MARKS: [OnceLock<Mark>; 4] = [const { OnceLock::new() }; 4];
    // SAFETY: places of ours for them; the caller's mutex.
    MARKS.iter().enumerate().any(|(which, mark)| unsafe {
        has(mark, mutex, |place, has_it| {
            let value = c_int::from(has_it);
            make(place, |attributes| match which {
                0 => libc::pthread_mutexattr_setpshared(attributes, value),
                1 => libc::pthread_mutexattr_setrobust(attributes, value),
                // PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT
                2 => pthread_mutexattr_setprotocol(attributes, value),
                _ => pthread_mutexattr_setprotocol(attributes, 2 * value),
            })
        })
    })
}

/// Whether a mutex finds out that its owner waits for it.
unsafe fn checks_errors(mutex: *const pthread_mutex_t) -> bool {
    static MARK: OnceLock<Mark> = OnceLock::new();
    let make = |place, has_it| {
        let kind = match has_it {
            true => libc::PTHREAD_MUTEX_ERRORCHECK,
            false => libc::PTHREAD_MUTEX_NORMAL,
        };
        // SAFETY: a place of ours.
        unsafe {
            make(place, |attributes| {
                libc::pthread_mutexattr_settype(attributes, kind)
            })
        }
    };
    // SAFETY: the caller's mutex.
    unsafe { has(&MARK, mutex, make) }
}

/// The C library's attempt.
fn try_lock(mutex: *mut pthread_mutex_t) -> c_int {
    call_next!(pthread_mutex_trylock: fn(mutex => *mut pthread_mutex_t) -> c_int)
}

/// Its lock with a limit.
fn timed_lock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int {
    call_next!(pthread_mutex_timedlock: fn(
        mutex => *mut pthread_mutex_t, time => *const timespec
    ) -> c_int)
}

/// Locks a mutex for a fibre; `None`: the caller is to do that by the C library's call.
#[inline(always)]
unsafe fn lock_as_fibre(mutex: *mut pthread_mutex_t, until: Until) -> Option<c_int> {
    if !threads_are_fibres() {
        return None;
    }
    match try_lock(mutex) {
        // SAFETY: the caller's mutex and time.
        NOT_YET => unsafe { lock_slowly(mutex, until) },
        done => Some(done),
    }
}

/// The rest of that.
#[cold]
unsafe fn lock_slowly(mutex: *mut pthread_mutex_t, until: Until) -> Option<c_int> {
    // SAFETY: the caller's mutex.
    if !may_switch_as_thread() || unsafe { is_of_the_kernel(mutex) } {
        return None;
    }
    // SAFETY: the caller's time.
    let Ok(wait) = (unsafe { until.wait() }) else {
        return Some(libc::EINVAL);
    };
    // SAFETY: the caller's mutex.
    if unsafe { checks_errors(mutex) } {
        // Says whether the caller has it, which an attempt does not.
        match timed_lock(mutex, &raw const OVER) {
            libc::ETIMEDOUT => {}
            done => return Some(done),
        }
    }
    Some(wait_for(mutex.addr(), wait, || try_lock(mutex)))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's mutex.
    match unsafe { lock_as_fibre(mutex, Until::FOREVER) } {
        Some(done) => done,
        None => call_next!(pthread_mutex_lock: fn(mutex => *mut pthread_mutex_t) -> c_int),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    let clock = libc::CLOCK_REALTIME;
    // SAFETY: the caller's mutex and time.
    let done = unsafe { lock_as_fibre(mutex, Until { clock, time }) };
    done.unwrap_or_else(|| timed_lock(mutex, time))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the caller's mutex and time.
    match unsafe { lock_as_fibre(mutex, Until { clock, time }) } {
        Some(done) => done,
        None => call_next!(pthread_mutex_clocklock: fn(
            mutex => *mut pthread_mutex_t, clock => clockid_t, time => *const timespec
        ) -> c_int),
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    let done = call_next!(pthread_mutex_unlock: fn(mutex => *mut pthread_mutex_t) -> c_int);
    if done == 0 && threads_are_fibres() {
        changed(mutex.addr(), 1);
    }
    done
}
