//! Waiting for descriptors: `poll`, `select` and their kin, and [`fibre_fd_wait`].
//!
//! What is told is what is the case.

use super::entry::{found, or_leave, waits};
use crate::memory::{duration, fetch_any};
use crate::sigmask::during;
use fibre_core::{Limit, in_fibre};
use fibre_io::poll::Readiness;
use fibre_io::posix::boundary::check;
use fibre_io::posix::poll::{poll_all, wait_on_thread};
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::switching::borrow;
use fibre_io::posix::syscall::syscall;
use fibre_io::raw::wait;
use fibre_sync::raw::{Clock, Wait};
use rustix::io::Errno;
use std::ffi::c_int;
use std::ptr;
use std::time::{Duration, Instant};

/// Waits until something of `events` (`POLLIN`, `POLLOUT`, `POLLPRI`, `POLLRDHUP`) is the case with
/// a descriptor, or an error or hang-up, and returns what is, as `poll` has it; 0 once the
/// monotonic clock shows `*deadline`. Without a deadline (`NULL`) it waits for ever, and with one
/// that has passed, it looks. -1 and `EBADF` for what is no descriptor, or is closed meanwhile
/// ([`fibre_close`](super::numbers)); `EINVAL` for what is no time. A cancellation point.
///
/// It is made for descriptors that are non-blocking, and read and written in any way. A program
/// that reads by this library's calls makes no system call for a wait that follows a read which
/// took all there was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_fd_wait(
    fd: c_int,
    events: c_int,
    deadline: *const libc::timespec,
) -> c_int {
    or_leave(|| {
        if fd < 0 {
            return Err(Errno::BADF.into());
        }
        // SAFETY: null, or the caller's time.
        let deadline = unsafe { fetch_any(deadline) }?;
        let deadline = deadline.as_ref().map(moment).transpose()?;
        // Other bits are those of other kinds of waits.
        let interest = Readiness::from_bits(events as u16);
        if !in_fibre() {
            return wait_on_thread(fd, events as u16, deadline.flatten());
        }
        let holds = wait(borrow(fd), interest, deadline.flatten())?;
        found(usize::from(holds.bits()))
    })
}

/// The moment at which the monotonic clock shows this; `None` for one that it never shows.
fn moment(time: &libc::timespec) -> Result<Option<Instant>, Errno> {
    let wait = Wait::at(Clock::Monotonic, time.tv_sec, time.tv_nsec);
    match wait.map_err(|_| Errno::INVAL)?.limit() {
        Limit::Deadline(deadline) => Ok(Some(deadline)),
        _ => Ok(None),
    }
}

/// `poll`: with a time-out in milliseconds, a negative one for none. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_poll(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: c_int,
) -> c_int {
    let call = syscall!(SYS_poll, fds, count as usize, timeout);
    let limit = u64::try_from(timeout).ok().map(Duration::from_millis);
    waits(call, |_| {
        // SAFETY: the caller's descriptors.
        found(unsafe { poll_all(fds, count, limit, Freely) }?)
    })
}

/// `ppoll`: with a time-out, `NULL` for none. A fibre has the mask meanwhile; only what it has
/// raised itself interrupts it. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_ppoll(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    or_leave(|| {
        // SAFETY: null, or the caller's time, of which the kernel writes to a copy.
        let mut time = unsafe { fetch_any(timeout) }?;
        let limit = time.as_ref().map(duration).transpose()?;
        let time = time.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        if !in_fibre() {
            return Ok(syscall!(SYS_ppoll, fds, count as usize, time, signals, 8).here()?);
        }
        // SAFETY: the caller's descriptors and mask.
        found(unsafe { during(signals, || poll_all(fds, count, limit, Freely)) }?)
    })
}

/// `poll` of a program that was built with `_FORTIFY_SOURCE`: ends the process if there is no room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_poll_chk(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: c_int,
    room: usize,
) -> c_int {
    check(count as usize, room / size_of::<libc::pollfd>());
    // SAFETY: the caller's descriptors.
    unsafe { fibre_poll(fds, count, timeout) }
}

/// `ppoll` of such a program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_ppoll_chk(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    signals: *const libc::sigset_t,
    room: usize,
) -> c_int {
    check(count as usize, room / size_of::<libc::pollfd>());
    // SAFETY: the caller's descriptors.
    unsafe { fibre_ppoll(fds, count, timeout, signals) }
}
