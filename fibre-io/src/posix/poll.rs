//! Waiting for descriptors, as `poll` does. Calls return the present state.

use super::memory::of_milliseconds;
use super::switching::{Switching, borrow};
use super::syscall::syscall;
use crate::poll::PollFd;
use crate::raw::{Failure, poll};
use crate::readiness::{Readiness, word};
use rustix::event::{PollFd as KernelPollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::ffi::c_int;
use std::ptr;
use std::time::{Duration, Instant};

/// More descriptors than any process may have.
const MOST_DESCRIPTORS: usize = i32::MAX as usize;

/// Waits for one descriptor. Blocks the thread.
///
/// # Errors
///
/// Those of `poll`; `EBADF` if there is no such descriptor.
pub fn wait_on_thread(fd: c_int, events: u16, deadline: Option<Instant>) -> Result<usize, Failure> {
    let flags = PollFlags::from_bits_retain(events as _);
    let mut asked = [KernelPollFd::from_borrowed_fd(borrow(fd), flags)];
    let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
    // One that the kernel has no number for never ends.
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    rustix::event::poll(&mut asked, left.as_ref())?;
    match asked[0].revents() {
        found if found.contains(PollFlags::NVAL) => Err(Errno::BADF.into()),
        found => Ok(usize::from(word(found))),
    }
}

/// `poll`: waits until something is the case, or for so long. Blocks the fibre.
///
/// # Errors
///
/// Those of `poll`; that the fibre has been cancelled.
///
/// # Safety
///
/// There are so many descriptors.
pub unsafe fn poll_all(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    limit: Option<Duration>,
    switching: Switching,
) -> Result<usize, Failure> {
    let count = usize::try_from(count).map_err(|_| Errno::INVAL)?;
    if count > MOST_DESCRIPTORS {
        return Err(Errno::INVAL.into());
    }
    let fds = match count {
        0 => &mut [],
        _ if fds.is_null() => return Err(Errno::FAULT.into()),
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts_mut(fds, count) },
    };
    wait_for_all(fds, limit, switching)
}

/// Waits until something is the case, or for so long. Blocks the fibre.
///
/// # Errors
///
/// As [`poll_all`].
pub fn wait_for_all(
    fds: &mut [libc::pollfd],
    timeout: Option<Duration>,
    switching: Switching,
) -> Result<usize, Failure> {
    switching.begin()?;
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut now = of_milliseconds(0);
    let now = now.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
    let mask = ptr::null::<libc::sigset_t>();
    let ready = syscall!(SYS_ppoll, fds.as_mut_ptr(), fds.len(), now, mask, 8).endure()?;
    if ready > 0 || timeout == Some(Duration::ZERO) {
        return Ok(ready);
    }
    let open: Vec<_> = fds.iter().filter(|one| one.fd >= 0).collect();
    let numbers: Vec<_> = open.iter().map(|one| borrow(one.fd)).collect();
    let mut asked: Vec<_> = open
        .iter()
        .zip(&numbers)
        .map(|(one, number)| PollFd::new(number, Readiness::from_bits(one.events.cast_unsigned())))
        .collect();
    let ready = poll(&mut asked, deadline)?;
    let told = fds.iter_mut().filter(|one| one.fd >= 0).zip(&asked);
    told.for_each(|(one, answer)| one.revents = answer.readiness().bits().cast_signed());
    Ok(ready)
}
