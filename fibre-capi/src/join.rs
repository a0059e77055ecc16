//! Joining and detaching fibres.

use crate::boundary::{contain, keep_errno, keep_errno_cancellable, look_before};
use crate::cancel;
use crate::record::{Record, Refused, fibre_t, of_caller};
use crate::thread::limit_of;
use fibre_core::internal::Ending;
use fibre_core::{Limit, cancellation_point, is_cancelled};
use std::ffi::{c_int, c_void};

/// How a join ended.
enum Joined {
    /// With the fibre's result.
    Value(*mut c_void),
    /// With an error number.
    Failed(c_int),
    /// With the caller's cancellation.
    Cancelled,
}

/// Waits for the end of the fibre with this handle, within a limit; `None`: not at all.
#[inline(always)]
fn join(handle: fibre_t, limit: Option<Limit>) -> Joined {
    // Before anything is found wrong with the handle.
    if limit.is_some() && cancellation_point().is_err() {
        return Joined::Cancelled;
    }
    // It takes no claim, which would be in the way of callers that wait.
    if limit.is_none() && is_to_end(handle) {
        return Joined::Failed(libc::EBUSY);
    }
    let record = match Record::claim_join(handle, of_caller()) {
        Ok(record) => record,
        Err(Refused::Deadlock) if limit.is_none() => return Joined::Failed(libc::EBUSY),
        Err(refused) => return Joined::Failed(refused.number()),
    };
    // SAFETY: the claim is ours.
    let ending = match (unsafe { record.fibre() }, limit) {
        (None, None) => record.ended.is_set().then_some(Ending::Returned),
        (Some(fibre), None) => fibre.ending(),
        // SAFETY: the caller has the claim, so it is alone in waiting, and it is not the fibre.
        (Some(fibre), Some(limit)) => unsafe { fibre.wait(limit) },
        (None, Some(limit)) => {
            let ended = record.ended.wait_within(limit).is_ok() && !is_cancelled();
            ended.then_some(Ending::Returned)
        }
    };
    match ending {
        Some(Ending::Returned) => {
            let value = record.result.get();
            // SAFETY: it has ended, and we have joined it.
            unsafe { forget(record) };
            Joined::Value(value)
        }
        Some(Ending::NoStack(_)) => {
            // SAFETY: it has ended, and we have joined it.
            unsafe { forget(record) };
            Joined::Failed(libc::EAGAIN)
        }
        // Its frames are still there, and so is its record.
        Some(Ending::Abandoned) => Joined::Failed(libc::ESRCH),
        None => {
            record.reopen();
            match limit {
                None => Joined::Failed(libc::EBUSY),
                Some(_) if is_cancelled() => Joined::Cancelled,
                Some(_) => Joined::Failed(libc::ETIMEDOUT),
            }
        }
    }
}

/// Ends the record of one that has been joined.
///
/// # Safety
///
/// It has ended, and the caller has the claim.
unsafe fn forget(record: &'static Record) {
    // SAFETY: the claim is the caller's; without a fibre it is the initial thread's, as others
    // cannot be joined.
    unsafe {
        match record.fibre() {
            Some(_) => record.give_back(),
            None => record.close(),
        }
    }
}

/// Whether the fibre or thread with this handle may be joined once it has ended, which it has not.
fn is_to_end(handle: fibre_t) -> bool {
    let ended = Record::with(handle, |record, fibre| match fibre {
        _ if record.is_detached() => true,
        Some(fibre) => fibre.ending().is_some(),
        None => record.ended.is_set(),
    });
    ended == Ok(false)
}

/// What a join is to the program.
///
/// # Safety
///
/// Null, or the caller's place for the result. No frame above has anything to drop.
unsafe fn finish(joined: Joined, result: *mut *mut c_void) -> c_int {
    match joined {
        Joined::Value(value) => {
            if !result.is_null() {
                // SAFETY: the caller's promise.
                unsafe { *result = value };
            }
            0
        }
        Joined::Failed(number) => number,
        Joined::Cancelled => cancel::leave(),
    }
}

/// The same of a cancellation point: a request may have come since it was looked for.
///
/// # Safety
///
/// As for [`finish`].
unsafe fn finish_or_leave(joined: Joined, result: *mut *mut c_void) -> c_int {
    match joined {
        Joined::Failed(number) => look_before(number),
        // SAFETY: passed on.
        joined => unsafe { finish(joined, result) },
    }
}

/// `pthread_join`: waits for a fibre's end, and has its result. `ESRCH` if there is no such fibre,
/// `EINVAL` if it is detached or being joined, `EDEADLK` if it is the caller or waits for the
/// caller; `EAGAIN` if it never ran, as there was no stack for it. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_join(thread: fibre_t, result: *mut *mut c_void) -> c_int {
    let joined = keep_errno_cancellable(|| join(thread, Some(Limit::Cancellation)));
    // SAFETY: the caller's place.
    unsafe { finish_or_leave(joined, result) }
}

/// `pthread_tryjoin_np`: `fibre_join` that waits for nothing: `EBUSY` if the fibre has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_tryjoin(thread: fibre_t, result: *mut *mut c_void) -> c_int {
    let joined = keep_errno(|| join(thread, None));
    // SAFETY: the caller's place.
    unsafe { finish(joined, result) }
}

/// `pthread_timedjoin_np`: `fibre_join` until a moment of `CLOCK_REALTIME`; null for no limit.
/// `ETIMEDOUT`; `EINVAL` for a time that is none.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_timedjoin(
    thread: fibre_t,
    result: *mut *mut c_void,
    deadline: *const libc::timespec,
) -> c_int {
    // SAFETY: passed on.
    unsafe { fibre_clockjoin(thread, result, libc::CLOCK_REALTIME, deadline) }
}

/// `pthread_clockjoin_np`: `fibre_timedjoin` by `CLOCK_REALTIME` or `CLOCK_MONOTONIC`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_clockjoin(
    thread: fibre_t,
    result: *mut *mut c_void,
    clock: libc::clockid_t,
    deadline: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller's time.
    let joined = keep_errno_cancellable(|| match unsafe { limit_of(clock, deadline) } {
        Ok(limit) => join(thread, Some(limit)),
        Err(error) => Joined::Failed(error.number()),
    });
    // SAFETY: the caller's place.
    unsafe { finish_or_leave(joined, result) }
}

/// `pthread_detach`: nobody will ask for the fibre's end. `ESRCH` if there is no such fibre,
/// `EINVAL` if it is detached or being joined.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_detach(thread: fibre_t) -> c_int {
    let detached = contain(|| {
        let record = Record::claim_detach(thread)?;
        // SAFETY: the claim is ours until the fibre has been detached.
        if unsafe { record.fibre() }.is_some_and(|fibre| !fibre.detach()) {
            // SAFETY: it has ended, and will not do so itself.
            unsafe { record.give_back() };
        }
        Ok(())
    });
    detached.map_or_else(Refused::number, |()| 0)
}
