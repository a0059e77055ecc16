//! Waiting for several descriptors at once, by their numbers: like [`crate::poll`], but descriptors
//! may be closed meanwhile.

use super::failure::Failure;
use super::number::Number;
use crate::poll::{PollFd, poll_numbers};
use fibre_core::Limit;
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// Waits until one of the descriptors meets a condition asked about, or is closed
/// ([`INVALID`](crate::poll::Readiness::INVALID)); returns how many do. Returns 0 if the deadline
/// came first. Blocks the fibre, or the thread if the caller is no fibre.
///
/// ```
/// use fibre::io::{PollFd, Readiness};
///
/// let (reader, writer) = std::io::pipe()?;
/// let mut fds = [PollFd::new(&reader, Readiness::READ), PollFd::new(&writer, Readiness::WRITE)];
/// assert_eq!(fibre::io::raw::poll(&mut fds, None), Ok(1));
/// assert_eq!(fds.map(|one| one.readiness()), [Readiness::NONE, Readiness::WRITE]);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// [`Failure::Cancelled`] if the fibre is cancelled before the call or while it waits; `EINVAL` for
/// more descriptors than the process may have; when descriptors or memory run out.
pub fn poll(fds: &mut [PollFd<'_>], deadline: Option<Instant>) -> Result<usize, Failure> {
    let find = |fd: BorrowedFd<'_>| Number::of(fd).map(drop);
    poll_numbers(fds, Limit::of(deadline), find).map_err(|error| {
        match Errno::from_io_error(&error) {
            Some(Errno::CANCELED) => Failure::Cancelled,
            _ => error.into(),
        }
    })
}
