//! A TCP connection.

use super::{Shutdown, SocketAddr, ToSocketAddrs, each_address, tcp_socket, to_std};
use crate::gate_word::Snapshot;
use crate::patience::{Patience, TimeLimit};
use crate::source::{Direction, Left, Source};
use crate::transfer::{left, total, useful};
use fibre_core::cancellation_point;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, recv, recvmsg, send, sendmsg,
    sockopt,
};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net as std_net;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// A TCP connection. See [`std::net::TcpStream`]; `&TcpStream` reads and writes, too, so
/// one fibre may read while another writes.
///
/// Writing to a connection whose peer is gone is an error and never a SIGPIPE.
#[derive(Debug)]
pub struct TcpStream {
    source: Source,
    /// How long reads wait.
    reading: TimeLimit,
    /// How long writes wait.
    writing: TimeLimit,
}

impl TcpStream {
    /// A stream on a connected socket.
    pub(super) fn from_source(source: Source) -> Self {
        Self {
            source,
            reading: TimeLimit::default(),
            writing: TimeLimit::default(),
        }
    }

    /// Connects to the first address that answers. Blocks the fibre, or the thread if the
    /// caller is not a fibre. Looking up a host *name* blocks the thread.
    ///
    /// # Errors
    ///
    /// Those of the system calls, for the last address tried.
    pub fn connect(addresses: impl ToSocketAddrs) -> io::Result<Self> {
        each_address(addresses, |address| Self::connect_within(&address, None))
    }

    /// Connects, waiting for `timeout` at most. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the system calls; `TimedOut`; `InvalidInput` for a zero time-out.
    pub fn connect_timeout(address: &SocketAddr, timeout: Duration) -> io::Result<Self> {
        if timeout.is_zero() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a time-out of zero",
            ));
        }
        Self::connect_within(address, Some(timeout))
    }

    /// The common part.
    fn connect_within(address: &SocketAddr, timeout: Option<Duration>) -> io::Result<Self> {
        cancellation_point()?;
        let source = Source::from_nonblocking(tcp_socket(address)?)?;
        let seen = source.snapshot(Direction::Write);
        match rustix::net::connect(&source, address) {
            Ok(()) => {}
            Err(Errno::INPROGRESS | Errno::INTR) => Self::finish_connect(&source, seen, timeout)?,
            Err(errno) => return Err(errno.into()),
        }
        Ok(Self::from_source(source))
    }

    /// Waits for the handshake and asks how it went. An event is a hint only, so a socket
    /// without error and without peer is still on its way.
    fn finish_connect(
        source: &Source,
        mut seen: Snapshot,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            source.wait_ready(Direction::Write, seen, deadline)?;
            seen = source.snapshot(Direction::Write);
            sockopt::socket_error(source)?.map_err(io::Error::from)?;
            match rustix::net::getpeername(source) {
                Err(Errno::NOTCONN) => {}
                asked => return asked.map(drop).map_err(io::Error::from),
            }
        }
    }

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// Those of `getpeername`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        rustix::net::getpeername(&self.source)?
            .as_ref()
            .map_or_else(|| Err(io::ErrorKind::NotConnected.into()), to_std)
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// Those of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        to_std(&rustix::net::getsockname(&self.source)?)
    }

    /// Ends one direction or both. Who waits in it is woken. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of `shutdown`.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let how = match how {
            Shutdown::Read => rustix::net::Shutdown::Read,
            Shutdown::Write => rustix::net::Shutdown::Write,
            Shutdown::Both => rustix::net::Shutdown::Both,
        };
        Ok(rustix::net::shutdown(&self.source, how)?)
    }

    /// Makes all calls that wait, and all later ones, fail with `ConnectionAborted`. The
    /// socket is closed when the stream is dropped. Blocks nothing.
    pub fn close(&self) {
        self.source.close();
    }

    /// A second handle to the same connection, with a descriptor of its own and copies
    /// of the time-outs.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            source: Source::from_nonblocking(self.source.as_fd().try_clone_to_owned()?)?,
            reading: self.reading.duplicate(),
            writing: self.writing.duplicate(),
        })
    }

    /// The longest that a read waits; `None`, the default, is for ever.
    ///
    /// # Errors
    ///
    /// None; the type is std's.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.reading.timeout())
    }

    /// The longest that a write waits; `None`, the default, is for ever.
    ///
    /// # Errors
    ///
    /// None; the type is std's.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.writing.timeout())
    }

    /// Sets the longest that a read waits before it fails with `TimedOut`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a zero duration.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.reading.set_timeout(timeout)
    }

    /// Sets the longest that a write waits before it fails with `TimedOut`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a zero duration.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.writing.set_timeout(timeout)
    }

    /// Whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// Those of `getsockopt`.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(sockopt::tcp_nodelay(&self.source)?)
    }

    /// Sets whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(&self.source, nodelay)?)
    }

    /// Takes the error that the socket has noted, if any.
    ///
    /// # Errors
    ///
    /// Those of `getsockopt`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(sockopt::socket_error(&self.source)?
            .err()
            .map(io::Error::from))
    }

    /// Reads without taking: the next read sees the same bytes. Blocks as a read.
    ///
    /// # Errors
    ///
    /// As reading.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source
            .io(Direction::Read, Patience::Set(&self.reading), |fd| {
                // What was seen is still there.
                recv(fd, &mut *buffer, RecvFlags::PEEK | RecvFlags::DONTWAIT)
                    .map(|(count, _)| (count, Left::More))
            })
    }

    /// The same connection for blocking threads. Clones share the mode: calls on them still
    /// block only fibres, but for accepting.
    ///
    /// # Errors
    ///
    /// When it cannot be made blocking.
    pub fn into_std(self) -> io::Result<std_net::TcpStream> {
        Ok(self.source.into_fd()?.into())
    }
}

/// How everything is sent: without SIGPIPE, and without blocking the thread, even if a
/// duplicate of the socket was made blocking.
const SEND: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

impl Read for &TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        self.source
            .io(Direction::Read, Patience::Set(&self.reading), |fd| {
                let (count, _) = recv(fd, &mut *buffer, RecvFlags::DONTWAIT)?;
                Ok((count, left(count, buffer.len())))
            })
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Some(window) = useful(buffers) else {
            return Ok(0);
        };
        let buffers = &mut buffers[window];
        let wanted = total(buffers);
        self.source
            .io(Direction::Read, Patience::Set(&self.reading), |fd| {
                let mut nothing = RecvAncillaryBuffer::default();
                let got = recvmsg(fd, buffers, &mut nothing, RecvFlags::DONTWAIT)?;
                Ok((got.bytes, left(got.bytes, wanted)))
            })
    }
}

impl Write for &TcpStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        self.source
            .io(Direction::Write, Patience::Set(&self.writing), |fd| {
                let count = send(fd, buffer, SEND)?;
                Ok((count, left(count, buffer.len())))
            })
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(window) = useful(buffers) else {
            return Ok(0);
        };
        let buffers = &buffers[window];
        let wanted = total(buffers);
        self.source
            .io(Direction::Write, Patience::Set(&self.writing), |fd| {
                let mut nothing = SendAncillaryBuffer::default();
                let count = sendmsg(fd, buffers, &mut nothing, SEND)?;
                Ok((count, left(count, wanted)))
            })
    }

    /// Does nothing: the stream has no buffer of its own.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(buffers)
    }
}

impl Write for TcpStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self).write(buffer)
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(buffers)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TryFrom<std_net::TcpStream> for TcpStream {
    type Error = io::Error;

    /// Takes a connected socket over and makes it non-blocking.
    fn try_from(stream: std_net::TcpStream) -> io::Result<Self> {
        Ok(Self::from_source(Source::new(stream.into())?))
    }
}

impl TryFrom<OwnedFd> for TcpStream {
    type Error = io::Error;

    /// Takes a connected socket over and makes it non-blocking.
    fn try_from(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self::from_source(Source::new(fd)?))
    }
}

impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

impl AsRawFd for TcpStream {
    fn as_raw_fd(&self) -> RawFd {
        self.source.as_fd().as_raw_fd()
    }
}
