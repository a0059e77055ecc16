//! Condition variables of the system's.
//!
//! A thread waits for the fibre; the thread unlocks the mutex and locks it again. A cancelled fibre
//! ends that wait by a broadcast: all other waiters wake up without a signal, which POSIX allows,
//! and if the thread has consumed a signal just then, one of these has it. The fibre repeats the
//! broadcast until the wait has ended, as the thread may have been about to begin it. A wait that
//! has ended by a signal before the fibre was cancelled succeeds: the request acts in a later call.

use super::mutex;
use super::object::{clear, has_tags, word};
use crate::sync::timing::Until;
use fibre_core::{cancellation_point, is_cancelled};
use fibre_io::posix::attributes::by_attributes;
use fibre_io::posix::worker::{Stop, Worker, elsewhere, is_own_thread};
use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::OnceLock;

unsafe extern "C" {
    /// The system's.
    fn pthread_cond_clockwait(
        cond: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        deadline: *const timespec,
    ) -> c_int;
}

/// Where the tag may be: see [`super`].
const TAGS: [usize; 2] = [36, 28];

/// Where it is; `None`: where we do not know.
fn tag() -> Option<usize> {
    static ONCE: [OnceLock<bool>; 2] = [const { OnceLock::new() }; 2];
    let is_at = |offset: usize, once: &OnceLock<bool>| {
        // SAFETY: a place for one, which is there.
        has_tags(
            once,
            |place, shared| unsafe { make(place, libc::CLOCK_REALTIME, shared) },
            |sample| unsafe { word(sample, offset) } & 1 == 1,
        )
    };
    let mut places = TAGS.into_iter().zip(&ONCE);
    places
        .find(|(offset, once)| is_at(*offset, once))
        .map(|(offset, _)| offset)
}

/// Whether the system makes them such that [`is_system`] knows them.
pub fn is_offered() -> bool {
    tag().is_some()
}

/// Whether this is one of the system's.
///
/// # Safety
///
/// Null, or it is there.
#[inline(always)]
pub unsafe fn is_system(cond: *const pthread_cond_t) -> bool {
    // SAFETY: the caller's promise; both words are within.
    let any = !cond.is_null() && unsafe { TAGS.map(|tag| word(cond, tag)) } != [0; 2];
    // SAFETY: the caller's promise; it is not null.
    any && unsafe { has_tag(cond) }
}

/// Whether it has the tag.
///
/// # Safety
///
/// It is there.
#[cold]
unsafe fn has_tag(cond: *const pthread_cond_t) -> bool {
    // SAFETY: the caller's promise.
    let has = |tag| unsafe { word(cond, tag) } & 1 == 1;
    tag().is_some_and(has)
}

/// Makes one. Returns an error number.
///
/// # Safety
///
/// A place for it.
pub unsafe fn make(cond: *mut pthread_cond_t, clock: clockid_t, shared: c_int) -> c_int {
    // SAFETY: the caller's promise; these belong together.
    unsafe {
        by_attributes(
            libc::pthread_condattr_init,
            |attributes| {
                libc::pthread_condattr_setclock(attributes, clock)
                    | libc::pthread_condattr_setpshared(attributes, shared)
            },
            |attributes| libc::pthread_cond_init(cond, attributes),
            libc::pthread_condattr_destroy,
        )
    }
}

/// The system's call.
///
/// # Safety
///
/// All is there.
unsafe fn wait_here(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: Until) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match until {
            Until::Forever => libc::pthread_cond_wait(cond, mutex),
            Until::Time(deadline) => libc::pthread_cond_timedwait(cond, mutex, deadline),
            Until::Clock(clock, deadline) => pthread_cond_clockwait(cond, mutex, clock, deadline),
        }
    }
}

/// `pthread_cond_wait` and its kin, with a mutex of the system's; `ECANCELED` in a cancelled fibre,
/// with the mutex locked. Blocks the fibre.
///
/// # Safety
///
/// All is there.
pub unsafe fn wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: Until) -> c_int {
    // SAFETY: passed on.
    if until.is_null() || !unsafe { mutex::is_system(mutex) } {
        return libc::EINVAL;
    }
    if is_own_thread() {
        // SAFETY: passed on.
        return unsafe { wait_here(cond, mutex, until) };
    }
    if cancellation_point().is_err() {
        return libc::ECANCELED;
    }
    let call = |stop: &Stop| match stop.is_asked() {
        true => 0,
        // SAFETY: passed on.
        false => unsafe { wait_here(cond, mutex, until) },
    };
    let interrupted = Cell::new(false);
    let interrupt = || {
        interrupted.set(true);
        // SAFETY: passed on.
        unsafe { libc::pthread_cond_broadcast(cond) };
    };
    let on_thread = |worker: &Worker| worker.run_cancellable(call, interrupt);
    // SAFETY: passed on.
    match unsafe { mutex::with_thread(mutex, on_thread) } {
        0 if interrupted.get() => {
            // The thread may have begun its wait after the broadcast, and have consumed a signal
            // since. SAFETY: passed on.
            unsafe { libc::pthread_cond_signal(cond) };
            libc::ECANCELED
        }
        // A wait that had ended before the request has its signal, which no other wait gets: it
        // succeeds, as the system's does.
        libc::ETIMEDOUT if is_cancelled() => libc::ECANCELED,
        number => number,
    }
}

/// `pthread_cond_destroy`, which waits for those who have been woken. Blocks the fibre.
///
/// # Safety
///
/// It is there.
pub unsafe fn destroy(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: passed on.
    unsafe { clear(cond, elsewhere(|| libc::pthread_cond_destroy(cond))) }
}
