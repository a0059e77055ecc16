//! Waiting for the end of a thread, and giving that up.

use super::thread::Thread;
use crate::entry::{cancellation_point, is_to_end, may_switch_as_thread};
use crate::errno;
use crate::next::call_next;
use fibre_core::internal::Ending;
use fibre_core::{Limit, shield};
use fibre_sync::raw::{Clock, Wait};
use libc::{clockid_t, pthread_t, timespec};
use std::ffi::{c_int, c_void};
use std::ptr;

/// Where a result goes: null, or the caller's place.
type Place = *mut *mut c_void;

/// How long a join waits.
#[derive(Clone, Copy)]
enum Patience {
    /// Not at all.
    None,
    /// Until this.
    Within(Limit),
}

/// `pthread_join` of a thread that is a fibre; `None`: it is one of the C library's. Blocks the
/// fibre, or the thread if the caller is not a fibre.
///
/// # Safety
///
/// The caller's thread and place.
pub(crate) unsafe fn join(thread: pthread_t, result: Place) -> Option<c_int> {
    // SAFETY: passed on.
    unsafe { join_within(thread, result, Patience::Within(Limit::None)) }
}

/// The same, with a limit.
unsafe fn join_within(thread: pthread_t, result: Place, patience: Patience) -> Option<c_int> {
    // SAFETY: the caller's thread.
    let thread = unsafe { Thread::of(thread) }?;
    let number = errno::get();
    // SAFETY: passed on.
    let done = unsafe { wait_for(thread, result, patience) };
    errno::set(number);
    if done == libc::ETIMEDOUT {
        cancellation_point();
    }
    Some(done)
}

/// Waits for a thread, and takes its result.
unsafe fn wait_for(thread: &Thread, result: Place, patience: Patience) -> c_int {
    if Thread::of_caller().is_some_and(|caller| ptr::eq(caller, thread)) {
        return match patience {
            Patience::None => libc::EBUSY,
            Patience::Within(_) => libc::EDEADLK,
        };
    }
    // Without a claim, even for a moment: a caller that joins meanwhile would be refused.
    if matches!(patience, Patience::None) && thread.is_open() && thread.fibre().ending().is_none() {
        return libc::EBUSY;
    }
    if !thread.claim_join() {
        return libc::EINVAL;
    }
    let ending = match patience {
        Patience::None => thread.fibre().ending(),
        Patience::Within(limit) => {
            // SAFETY: the claim is the caller's, so nobody else waits, or detaches it.
            let wait = |limit| unsafe { thread.fibre().wait(limit) };
            // In a stretch of plain calls it is no cancellation point.
            let may_end = may_switch_as_thread() && Thread::of_caller().is_some();
            let bounded = match limit {
                Limit::None if may_end => Limit::Cancellation,
                limit => limit,
            };
            let ended = wait(bounded);
            // A caller that is not to end takes no error of ours, and is not unwound.
            ended.or_else(|| match may_end && is_to_end() {
                true => None,
                false => shield(|| wait(limit)),
            })
        }
    };
    match ending {
        Some(Ending::Returned) => {
            // SAFETY: it has ended, and the claim is the caller's; so is the place.
            unsafe {
                if !result.is_null() {
                    *result = thread.result();
                }
                thread.free();
            }
            0
        }
        // Its frames are still there, and so is its record. A thread without a stack ends the
        // process before that can be seen.
        Some(Ending::Abandoned | Ending::NoStack(_)) => libc::ESRCH,
        None => {
            thread.reopen();
            match patience {
                Patience::None => libc::EBUSY,
                Patience::Within(_) => libc::ETIMEDOUT,
            }
        }
    }
}

/// A moment of a clock as a limit; null stands for no limit.
///
/// # Safety
///
/// Null, or the caller's time.
unsafe fn limit_of(clock: clockid_t, time: *const timespec) -> Result<Limit, c_int> {
    let clock = match clock {
        libc::CLOCK_REALTIME => Clock::Realtime,
        libc::CLOCK_MONOTONIC => Clock::Monotonic,
        _ => return Err(libc::EINVAL),
    };
    // SAFETY: the caller's promise.
    let wait = unsafe { time.as_ref() }.map_or(Ok(Wait::FOREVER), |time| {
        Wait::at(clock, time.tv_sec, time.tv_nsec)
    });
    wait.map(Wait::limit).map_err(|_| libc::EINVAL)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_tryjoin_np(thread: pthread_t, result: Place) -> c_int {
    // SAFETY: the caller's thread and place.
    unsafe { join_within(thread, result, Patience::None) }.unwrap_or_else(
        || call_next!(pthread_tryjoin_np: fn(thread => pthread_t, result => Place) -> c_int),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_timedjoin_np(
    thread: pthread_t,
    result: Place,
    time: *const timespec,
) -> c_int {
    cancellation_point();
    // SAFETY: the caller's thread, place and time.
    let joined = unsafe {
        match limit_of(libc::CLOCK_REALTIME, time) {
            Ok(limit) => join_within(thread, result, Patience::Within(limit)),
            Err(error) => Thread::of(thread).map(|_| error),
        }
    };
    joined.unwrap_or_else(|| {
        call_next!(pthread_timedjoin_np: fn(
            thread => pthread_t, result => Place, time => *const timespec
        ) -> c_int)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_clockjoin_np(
    thread: pthread_t,
    result: Place,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    cancellation_point();
    // SAFETY: the caller's thread, place and time.
    let joined = unsafe {
        match limit_of(clock, time) {
            Ok(limit) => join_within(thread, result, Patience::Within(limit)),
            Err(error) => Thread::of(thread).map(|_| error),
        }
    };
    joined.unwrap_or_else(|| {
        call_next!(pthread_clockjoin_np: fn(
            thread => pthread_t, result => Place, clock => clockid_t, time => *const timespec
        ) -> c_int)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(thread: pthread_t) -> c_int {
    // SAFETY: the caller's thread.
    let Some(ours) = (unsafe { Thread::of(thread) }) else {
        return call_next!(pthread_detach: fn(thread => pthread_t) -> c_int);
    };
    if !ours.claim_detach() {
        return libc::EINVAL;
    }
    if !ours.fibre().detach() {
        // SAFETY: it has ended, so it will not do so itself; the claim is the caller's.
        unsafe { ours.free() };
    }
    0
}
