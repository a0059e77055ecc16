//! `pthread_cancel` of a thread that is a fibre, and what becomes of the request.
//!
//! A request is deferred: it acts in the thread's next call that is a cancellation point, before
//! that does anything, or while it waits. The thread then ends as by `pthread_exit`, with
//! `PTHREAD_CANCELED`. To end a wait, the request also cancels the fibre. What is no cancellation
//! point notices nothing of that, and a thread that has disabled requests, or ends, is in a shield.
//!
//! The asynchronous type is accepted. Nothing interrupts a fibre that computes, so with this type,
//! too, requests act at cancellation points. But then those of these calls that say what is to
//! become of a request are such points.
//!
//! The calls that are cancellation points end their thread themselves, from their own frames: no
//! frame between them and C has anything to drop.

use super::exit::end;
use super::thread::Thread;
use crate::entry::{
    Cancelling, cancellation_point, make_cancellation_points, may_switch_as_thread,
};
use crate::errno;
use crate::next::call_next;
use fibre_core::internal::{lower_shield, raise_shield};
use libc::pthread_t;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

/// `PTHREAD_CANCELED`.
const CANCELED: *mut c_void = ptr::without_provenance_mut(usize::MAX);

/// `PTHREAD_CANCEL_ENABLE`, and `PTHREAD_CANCEL_DEFERRED`.
const FIRST: c_int = 0;
/// `PTHREAD_CANCEL_DISABLE`, and `PTHREAD_CANCEL_ASYNCHRONOUS`.
const SECOND: c_int = 1;

/// What a cancellation point does once there has been a request.
fn act(wish: Cancelling) -> bool {
    // In the midst of the runtime's own calls, and within `plainly`, nothing ends.
    if wish == Cancelling::End && !may_switch_as_thread() {
        return false;
    }
    let caller = Thread::of_caller();
    let Some(thread) = caller.filter(|thread| thread.requests().are_due()) else {
        return false;
    };
    if wish == Cancelling::End {
        end(thread, CANCELED)
    }
    true
}

/// Asks a thread to end. `0` also if it has ended, and was neither joined nor detached.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cancel(thread: pthread_t) -> c_int {
    // SAFETY: the caller's thread.
    let Some(ours) = (unsafe { Thread::of(thread) }) else {
        return call_next!(pthread_cancel: fn(thread => pthread_t) -> c_int);
    };
    let number = errno::get();
    make_cancellation_points(act);
    // It may end as soon as there is the request, before its fibre is cancelled.
    let held = ours.hold();
    held.requests().make();
    held.fibre().cancel();
    drop(held);
    errno::set(number);
    if let Some(caller) = caller() {
        caller.requests().act_at_once();
    }
    0
}

/// The calling thread, if it is a fibre and has not ended: the runtime, which has its calls plain
/// then, makes these calls for the next thread.
fn caller<'a>() -> Option<&'a Thread> {
    if may_switch_as_thread() {
        Thread::of_caller()
    } else {
        None
    }
}

/// Ends the calling thread if there was a request.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_testcancel() {
    match caller() {
        Some(_) => cancellation_point(),
        None => call_next!(pthread_testcancel: fn() -> ()),
    }
}

/// Sets whether requests act, or are kept until they do.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    let Some(thread) = caller() else {
        return call_next!(pthread_setcancelstate: fn(
            state => c_int, old => *mut c_int
        ) -> c_int);
    };
    let requests = thread.requests();
    // SAFETY: the caller's place.
    match unsafe { change(requests.are_disabled(), state, old) } {
        Err(error) => return error,
        Ok((before, now)) if before != now && now => raise_shield(),
        Ok((before, now)) if before != now => lower_shield(),
        Ok(_) => {}
    }
    requests.act_at_once();
    0
}

/// Sets the type of requests.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    let Some(thread) = caller() else {
        return call_next!(pthread_setcanceltype: fn(kind => c_int, old => *mut c_int) -> c_int);
    };
    let requests = thread.requests();
    // SAFETY: the caller's place.
    if let Err(error) = unsafe { change(requests.are_asynchronous(), kind, old) } {
        return error;
    }
    requests.act_at_once();
    0
}

/// Changes one of the two settings, and says what it was and is; an error number for a value that
/// there is not.
///
/// # Safety
///
/// The caller's place, or null.
unsafe fn change(
    setting: &Cell<bool>,
    wanted: c_int,
    old: *mut c_int,
) -> Result<(bool, bool), c_int> {
    let now = match wanted {
        FIRST => false,
        SECOND => true,
        _ => return Err(libc::EINVAL),
    };
    let before = setting.replace(now);
    if !old.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *old = if before { SECOND } else { FIRST } };
    }
    Ok((before, now))
}
