//! Read-write locks.

use super::mark::{Mark, has};
use super::queue::{NOT_YET, changed, wait_for};
use super::until::{OVER, Until};
use crate::entry::{may_switch_as_thread, threads_are_fibres};
use crate::next::call_next;
use fibre_io::posix::attributes::by_attributes;
use libc::{clockid_t, pthread_rwlock_t, timespec};
use std::ffi::c_int;
use std::sync::OnceLock;

/// Whether processes share it.
unsafe fn is_shared(lock: *const pthread_rwlock_t) -> bool {
    static MARK: OnceLock<Mark> = OnceLock::new();
    let make = |place, has_it: bool| {
        // SAFETY: a place of ours; these belong together.
        unsafe {
            by_attributes(
                libc::pthread_rwlockattr_init,
                |attributes| libc::pthread_rwlockattr_setpshared(attributes, has_it.into()),
                |attributes| libc::pthread_rwlock_init(place, attributes),
                libc::pthread_rwlockattr_destroy,
            )
        }
    };
    // SAFETY: the caller's lock.
    unsafe { has(&MARK, lock, make) }
}

/// Takes a lock for a fibre; `None`: the caller is to do that by the C library's call. `attempt`
/// does not wait, nor does `look`, which says more of the reason.
#[inline(always)]
unsafe fn take_as_fibre(
    lock: *mut pthread_rwlock_t,
    until: Until,
    attempt: unsafe extern "C" fn(*mut pthread_rwlock_t) -> c_int,
    look: fn(*mut pthread_rwlock_t) -> c_int,
) -> Option<c_int> {
    if !threads_are_fibres() {
        return None;
    }
    // SAFETY: the caller's lock.
    let attempt = || unsafe { attempt(lock) };
    match attempt() {
        NOT_YET => {}
        done => return Some(done),
    }
    // SAFETY: the caller's lock.
    if !may_switch_as_thread() || unsafe { is_shared(lock) } {
        return None;
    }
    // SAFETY: the caller's time.
    let Ok(wait) = (unsafe { until.wait() }) else {
        return Some(libc::EINVAL);
    };
    match look(lock) {
        libc::ETIMEDOUT => Some(wait_for(lock.addr(), wait, attempt)),
        done => Some(done),
    }
}

/// Defines the calls that take a lock in one way.
macro_rules! takes {
    ($forever:ident, $timed:ident, $clocked:ident, $attempt:path, $look:path) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $forever(lock: *mut pthread_rwlock_t) -> c_int {
            // SAFETY: the caller's lock.
            match unsafe { take_as_fibre(lock, Until::FOREVER, $attempt, $look) }
            {
                Some(done) => done,
                None => call_next!($forever: fn(lock => *mut pthread_rwlock_t) -> c_int),
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $timed(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
            let clock = libc::CLOCK_REALTIME;
            let until = Until { clock, time };
            // SAFETY: the caller's lock and time.
            match unsafe { take_as_fibre(lock, until, $attempt, $look) } {
                Some(done) => done,
                None => call_next!($timed: fn(
                    lock => *mut pthread_rwlock_t, time => *const timespec
                ) -> c_int),
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $clocked(
            lock: *mut pthread_rwlock_t,
            clock: clockid_t,
            time: *const timespec,
        ) -> c_int {
            let until = Until { clock, time };
            // SAFETY: the caller's lock and time.
            match unsafe { take_as_fibre(lock, until, $attempt, $look) } {
                Some(done) => done,
                None => call_next!($clocked: fn(
                    lock => *mut pthread_rwlock_t, clock => clockid_t, time => *const timespec
                ) -> c_int),
            }
        }
    };
}

/// An attempt to read that says if the caller writes.
fn look_as_reader(lock: *mut pthread_rwlock_t) -> c_int {
    let time = &raw const OVER;
    call_next!(pthread_rwlock_timedrdlock: fn(
        lock => *mut pthread_rwlock_t, time => *const timespec
    ) -> c_int)
}

/// The same to write.
fn look_as_writer(lock: *mut pthread_rwlock_t) -> c_int {
    let time = &raw const OVER;
    call_next!(pthread_rwlock_timedwrlock: fn(
        lock => *mut pthread_rwlock_t, time => *const timespec
    ) -> c_int)
}

takes! {
    pthread_rwlock_rdlock, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
    libc::pthread_rwlock_tryrdlock, look_as_reader
}
takes! {
    pthread_rwlock_wrlock, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock,
    libc::pthread_rwlock_trywrlock, look_as_writer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    let done = call_next!(pthread_rwlock_unlock: fn(lock => *mut pthread_rwlock_t) -> c_int);
    if done == 0 && threads_are_fibres() {
        // Readers may all go on.
        changed(lock.addr(), u32::MAX);
    }
    done
}
