//! `epoll_wait` and its kin. An executor that waits in it, as tokio's, keeps its state in
//! thread-locals meanwhile. So a call may leave the stack where these are the fibre's own, and
//! blocks the processor elsewhere.
//!
//! The instance is itself a descriptor, which is readable while it has events. So a call that finds
//! none waits for that, and looks again.

use crate::entry::{
    cancellation_point, finish, is_ours, is_to_end, may_switch_as_thread, plain, stand_in,
};
use fibre_core::shield;
use fibre_io::posix::memory::{Memory, Trusted, duration};
use fibre_io::posix::poll::wait_for_all;
use fibre_io::posix::switching::Switching::OnlyToWait;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::raw::Failure;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// The place of the time among the arguments.
const TIME: usize = 3;

/// The call with no mask of signals. Newer kinds of CPUs have no `epoll_wait`.
fn without_signals(
    instance: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
) -> Syscall {
    let signals = std::ptr::null::<libc::sigset_t>();
    syscall!(SYS_epoll_pwait, instance, events, most, timeout, signals, 8)
}

/// Whether a call on this instance may leave the stack.
fn is_fibres(instance: c_int) -> bool {
    is_ours(instance) && may_switch_as_thread()
}

/// Waits until the instance has events, or for so long. `looks` is the call without a wait. Like
/// the wait for a lock, it notices no cancellation: executors take no such error.
fn wait_for_events(
    instance: c_int,
    looks: Syscall,
    limit: Option<Duration>,
) -> Result<usize, Failure> {
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    loop {
        let found = looks.here()?;
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        if found > 0 || left == Some(Duration::ZERO) {
            return Ok(found);
        }
        let mut asked = [libc::pollfd {
            fd: instance,
            events: libc::POLLIN,
            revents: 0,
        }];
        match wait_for_all(&mut asked, left, OnlyToWait) {
            Err(Failure::Cancelled) if !is_to_end() => {
                shield(|| wait_for_all(&mut asked, left, OnlyToWait))?
            }
            waited => waited?,
        };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_wait(
    instance: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    cancellation_point();
    let call = without_signals(instance, events, most, timeout);
    if timeout == 0 || !is_fibres(instance) {
        return plain(call);
    }
    let limit = u64::try_from(timeout).ok().map(Duration::from_millis);
    stand_in(|| wait_for_events(instance, call.with(TIME, 0), limit))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait(
    instance: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
    signals: *const libc::sigset_t,
) -> c_int {
    if signals.is_null() {
        // SAFETY: the caller's instance and places.
        return unsafe { epoll_wait(instance, events, most, timeout) };
    }
    plain(syscall!(
        SYS_epoll_pwait,
        instance,
        events,
        most,
        timeout,
        signals,
        8
    ))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait2(
    instance: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    cancellation_point();
    if !signals.is_null() || !is_fibres(instance) {
        return plain(syscall!(
            SYS_epoll_pwait2,
            instance,
            events,
            most,
            timeout,
            signals,
            8
        ));
    }
    // SAFETY: null, or the caller's time.
    let time = match unsafe { Trusted::fetch_any(timeout) } {
        Ok(time) => time,
        Err(error) => return finish(Err(error)),
    };
    let limit = match time.as_ref().map(duration).transpose() {
        Ok(limit) => limit,
        Err(error) => return finish(Err(error)),
    };
    let looks = without_signals(instance, events, most, 0);
    stand_in(|| wait_for_events(instance, looks, limit))
}
