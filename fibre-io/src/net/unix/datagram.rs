//! A Unix socket for messages.

use super::SocketAddr;
use super::address::{
    of_other_end, of_path, of_this_end, to_kernel, to_std, unix_pair, unix_socket,
};
use crate::funnel::{Direction, Left};
use crate::net::Shutdown;
use crate::net::endpoint::{Endpoint, RECEIVE, SEND};
use crate::net::handles::{close, handle, limits};
use crate::net::kinds::expect_any;
use crate::timeout::Timeout;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketAddrUnix, SocketType, recv, recvfrom, sendto};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net as std_net;
use std::path::Path;
use std::time::{Duration, Instant};

/// A Unix socket for messages. See [`std::os::unix::net::UnixDatagram`].
///
/// Messages are neither lost nor reordered: a sender waits while its receiver's queue is full
/// (`net.unix.max_dgram_qlen`). The kernel tells connected senders when there is room. Unconnected
/// senders, which use [`send_to`](Self::send_to), try again after pauses of up to 5 ms.
///
/// ```
/// use fibre::os::unix::net::UnixDatagram;
///
/// let (left, right) = UnixDatagram::pair()?;
/// let fibre = fibre::spawn(move || right.send(b"hello"));
/// let mut buffer = [0; 16];
/// assert_eq!(left.recv(&mut buffer)?, 5);
/// fibre.join().unwrap()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct UnixDatagram {
    /// The socket and its limits.
    end: Endpoint,
}

handle!(UnixDatagram, std_net::UnixDatagram, Endpoint, expect_any);
close!(UnixDatagram);
limits!(UnixDatagram);

/// Whether the receiving direction was ended. A blocking call would return then, but a non-blocking
/// one says only that there is no message.
fn has_ended(socket: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(socket, PollFlags::RDHUP)];
    let now = Timespec::default();
    poll(&mut asked, Some(&now)).is_ok() && asked[0].revents().contains(PollFlags::RDHUP)
}

/// The result of `take`; `None` if there is no message and none will come.
fn before_the_end<T>(
    mut take: impl FnMut() -> Result<T, Errno>,
    has_ended: impl FnOnce() -> bool,
) -> Result<Option<T>, Errno> {
    match take() {
        // Nothing comes after the end, but a message may have come just before it.
        Err(Errno::AGAIN) if has_ended() => match take() {
            Err(Errno::AGAIN) => Ok(None),
            taken => taken.map(Some),
        },
        taken => taken.map(Some),
    }
}

impl UnixDatagram {
    /// A socket without a name: it can send and be connected. Blocks nothing.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn unbound() -> io::Result<Self> {
        let end = Endpoint::from_nonblocking(unix_socket(SocketType::DGRAM)?)?;
        Ok(Self { end })
    }

    /// A socket at a path. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of the system calls: `AddrInUse` if something is at the path.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::bind_kernel(&of_path(path.as_ref())?)
    }

    /// A socket at an address, which may be abstract. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        Self::bind_kernel(&to_kernel(address)?)
    }

    /// The common part of both `bind` methods.
    fn bind_kernel(address: &SocketAddrUnix) -> io::Result<Self> {
        let socket = unix_socket(SocketType::DGRAM)?;
        rustix::net::bind(&socket, address)?;
        let end = Endpoint::from_nonblocking(socket)?;
        Ok(Self { end })
    }

    /// Two sockets that are connected to each other. Blocks nothing.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (left, right) = unix_pair(SocketType::DGRAM)?;
        let (left, right) = (
            Endpoint::from_nonblocking(left)?,
            Endpoint::from_nonblocking(right)?,
        );
        Ok((Self { end: left }, Self { end: right }))
    }

    /// Sets the address that [`send`](Self::send) sends to. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of `connect`.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        Ok(rustix::net::connect(&self.end, &of_path(path.as_ref())?)?)
    }

    /// Sets the address that [`send`](Self::send) sends to. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of `connect`.
    pub fn connect_addr(&self, address: &SocketAddr) -> io::Result<()> {
        Ok(rustix::net::connect(&self.end, &to_kernel(address)?)?)
    }

    /// Waits for a message. Bytes that do not fit are lost. Blocks the fibre, or the thread if the
    /// caller is not a fibre.
    ///
    /// # Errors
    ///
    /// Those of `recvfrom`; `TimedOut`; `ConnectionAborted` after [`close`](Self::close).
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receive_from(buffer, RECEIVE)
    }

    /// Waits for a message and leaves it there: the next call receives it again. Blocks the fibre
    /// (or thread).
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receive_from(buffer, RECEIVE | RecvFlags::PEEK)
    }

    /// The common part of the forms that return the sender.
    fn receive_from(&self, buffer: &mut [u8], flags: RecvFlags) -> io::Result<(usize, SocketAddr)> {
        let (length, from) = self.end.receiving(|fd| {
            let take = || recvfrom(fd, &mut *buffer, flags).map(|(length, _, from)| (length, from));
            let received = before_the_end(take, || has_ended(fd))?;
            Ok((received.unwrap_or_default(), Left::More))
        })?;
        Ok((length, to_std(from)?))
    }

    /// The common part of the forms that do not ask for the sender.
    fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
        self.end.receiving(|fd| {
            let take = || recv(fd, &mut *buffer, flags).map(|(_, length)| length);
            let received = before_the_end(take, || has_ended(fd))?;
            Ok((received.unwrap_or(0), Left::More))
        })
    }

    /// Waits for a message. Bytes that do not fit are lost. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer, RECEIVE)
    }

    /// Waits for a message and leaves it there. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer, RECEIVE | RecvFlags::PEEK)
    }

    /// Sends a message to the socket at a path. Blocks the fibre (or thread) while that socket has
    /// no room; see the type.
    ///
    /// # Errors
    ///
    /// Those of `sendto`; `TimedOut`.
    pub fn send_to(&self, buffer: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        self.send_to_kernel(buffer, &of_path(path.as_ref())?)
    }

    /// Sends a message to the socket at an address. Blocks the fibre (or thread) while that socket
    /// has no room; see the type.
    ///
    /// # Errors
    ///
    /// Those of `sendto`; `TimedOut`.
    pub fn send_to_addr(&self, buffer: &[u8], address: &SocketAddr) -> io::Result<usize> {
        self.send_to_kernel(buffer, &to_kernel(address)?)
    }

    /// The common part of sending to an address. No event reports that another socket has room, and
    /// the readiness of the socket that this one is connected to says nothing about it.
    fn send_to_kernel(&self, buffer: &[u8], address: &SocketAddrUnix) -> io::Result<usize> {
        let timeout = Timeout::Set(&self.end.writing);
        let send = |fd: BorrowedFd<'_>| sendto(fd, buffer, SEND, address);
        self.end.source.io_untold(Direction::Write, timeout, send)
    }

    /// Sends a message to the socket that this one is connected to. Blocks the fibre (or thread)
    /// while that socket has no room.
    ///
    /// # Errors
    ///
    /// Those of `send`; `TimedOut`.
    pub fn send(&self, buffer: &[u8]) -> io::Result<usize> {
        self.end.send(buffer)
    }

    /// Ends one direction or both, and wakes the fibres that wait there. From then on receivers get
    /// messages of no bytes. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of `shutdown`.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.end.shutdown(how)
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    ///
    /// Those of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        of_this_end(&self.end)
    }

    /// The address that the socket is connected to.
    ///
    /// # Errors
    ///
    /// Those of `getpeername`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        of_other_end(&self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message that comes between a try and the check for the end is not lost.
    #[test]
    fn the_last_message_is_received() {
        let queue = std::cell::Cell::new(None);
        let take = || queue.take().ok_or(Errno::AGAIN);
        assert_eq!(before_the_end(take, || false), Err(Errno::AGAIN));
        assert_eq!(before_the_end(take, || true), Ok(None));
        let sends_and_ends = || {
            queue.set(Some(7));
            true
        };
        assert_eq!(before_the_end(take, sends_and_ends), Ok(Some(7)));
    }
}
