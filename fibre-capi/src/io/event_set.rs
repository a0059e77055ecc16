//! `epoll_wait` and its kin, for programs that have event loops of their own: an epoll instance is
//! a descriptor that can be read when it has events, so a fibre waits for that and then takes them.
//!
//! As in `poll`, signal masks say nothing to a fibre.

use super::entry::{taken_if_any, waits};
use crate::memory::{duration, fetch_any};
use crate::sigmask::during;
use fibre_core::internal::yield_point_cancellable;
use fibre_io::poll::Readiness;
use fibre_io::posix::switching::borrow;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::raw::{Failure, wait};
use std::ffi::c_int;
use std::ptr;
use std::time::{Duration, Instant};

/// `epoll_wait`: with a time-out in milliseconds, a negative one for none. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_epoll_wait(
    instance: c_int,
    events: *mut libc::epoll_event,
    room: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: the caller's place for events; no mask is the thread's own.
    unsafe { fibre_epoll_pwait(instance, events, room, timeout, ptr::null()) }
}

/// `epoll_pwait`: the same. A fibre has the mask meanwhile; only what it has raised
/// itself interrupts it. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_epoll_pwait(
    instance: c_int,
    events: *mut libc::epoll_event,
    room: c_int,
    timeout: c_int,
    signals: *const libc::sigset_t,
) -> c_int {
    let limit = u64::try_from(timeout).ok().map(Duration::from_millis);
    let call = syscall!(SYS_epoll_pwait, instance, events, room, timeout, signals, 8);
    // SAFETY: the caller's mask.
    waits(call, |call| unsafe {
        during(signals, || take_events(instance, limit, call))
    })
}

/// `epoll_pwait2`: the same with a time-out in nanoseconds, `NULL` for none. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_epoll_pwait2(
    instance: c_int,
    events: *mut libc::epoll_event,
    room: c_int,
    timeout: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    let call = syscall!(
        SYS_epoll_pwait2,
        instance,
        events,
        room,
        timeout,
        signals,
        8
    );
    waits(call, |call| {
        // SAFETY: null, or the caller's time.
        let time = unsafe { fetch_any(timeout) }?;
        let limit = time.as_ref().map(duration).transpose()?;
        // SAFETY: the caller's mask.
        unsafe { during(signals, || take_events(instance, limit, call)) }
    })
}

/// Looks until there is something, and waits
/// in between.
fn take_events(
    instance: c_int,
    timeout: Option<Duration>,
    call: Syscall,
) -> Result<usize, Failure> {
    yield_point_cancellable()?;
    let look = call.of_kind(libc::SYS_epoll_wait).with(3, 0);
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let found = look.endure()?;
        // Whoever else waits at the instance may be there first: then it is waited for again.
        if found > 0
            || timeout == Some(Duration::ZERO)
            || wait(borrow(instance), Readiness::READ, deadline)? == Readiness::NONE
        {
            // Events that have been told may not be told again; none are nothing.
            return taken_if_any(found);
        }
    }
}
