//! Detects listeners that are shut down, which the kernel does not report by itself.
//!
//! A TCP socket that was shut down no longer listens, and accepting fails with `EINVAL`. A Unix
//! socket refuses new clients, and a blocking call fails in the same way. But a non-blocking call
//! gets `EAGAIN` for ever, as if a client might come.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::os::fd::AsFd;

/// Whether a socket was shut down for receiving, so that a listener gets no more clients. Blocks
/// nothing.
///
/// ```
/// use fibre::io::raw::is_shut_down;
///
/// let (socket, _peer) = std::os::unix::net::UnixStream::pair()?;
/// assert!(!is_shut_down(&socket));
/// socket.shutdown(std::net::Shutdown::Read)?;
/// assert!(is_shut_down(&socket));
/// # Ok::<(), std::io::Error>(())
/// ```
#[cold]
pub fn is_shut_down(socket: impl AsFd) -> bool {
    let mut asked = [PollFd::new(&socket, PollFlags::RDHUP)];
    let found = poll(&mut asked, Some(&Timespec::default()));
    found.is_ok() && asked[0].revents().contains(PollFlags::RDHUP)
}
