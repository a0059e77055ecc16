//! A Unix stream: a connection between processes of one machine.

use super::address::{of_other_end, of_path, of_this_end, to_kernel, unix_pair, unix_socket};
use super::credentials::peer_credentials;
use super::descriptors::{self, Received};
use super::{SocketAddr, UCred};
use crate::copy::{CopyFrom, CopyTo, Duplex, Origin};
use crate::forward::{reads_as_reference, writes_as_reference};
use crate::funnel::Direction;
use crate::net::Shutdown;
use crate::net::async_stream::Connection;
use crate::net::endpoint::Endpoint;
use crate::net::handles::{close, handle, limits, stream};
use crate::net::kinds::expect_unix_stream;
use crate::net::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::source::Source;
use crate::timeout::{Timeout, not_zero};
use fibre_core::cancellation_point;
use rustix::net::{RecvFlags, SocketAddrUnix, SocketType};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net as std_net;
use std::path::Path;
use std::time::{Duration, Instant};

/// A Unix stream. See [`std::os::unix::net::UnixStream`]; `&UnixStream` reads and writes, too.
///
/// ```
/// use fibre::os::unix::net::UnixStream;
/// use std::io::{Read, Write};
///
/// let (mut left, mut right) = UnixStream::pair()?;
/// let fibre = fibre::spawn(move || right.write_all(b"hello"));
/// let mut text = String::new();
/// left.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// fibre.join().unwrap()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Reads close any descriptors that a peer sends along with its bytes; [`recv_fds`](Self::recv_fds)
/// returns them.
///
/// The kernel reports no event when the *peer* ends its reading direction (`shutdown(Read)`) while
/// this end waits for room to write. The fibre then waits until the peer closes, where a blocking
/// thread would get `BrokenPipe` at once.
#[derive(Debug)]
pub struct UnixStream {
    /// The socket and its limits.
    end: Endpoint,
}

handle!(
    UnixStream,
    std_net::UnixStream,
    Endpoint,
    expect_unix_stream
);
close!(UnixStream);
limits!(UnixStream);
stream!(UnixStream);

impl Connection for UnixStream {
    fn source(&self) -> &Source {
        self.end.source.lend()
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.end.shutdown(how)
    }
}

impl UnixStream {
    /// A stream on a connected socket.
    pub(super) fn from_source(source: Source) -> Self {
        Self {
            end: Endpoint::new(source),
        }
    }

    /// Connects to the listener at a path. Blocks the fibre, or the thread if the caller is not a
    /// fibre, while the listener's queue is full.
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::connect_kernel(&of_path(path.as_ref())?, Timeout::Endless)
    }

    /// Connects to the listener at an address, which may be abstract. Blocks the fibre (or thread)
    /// while the listener's queue is full.
    ///
    /// ```
    /// use fibre::os::unix::net::{SocketAddr, UnixListener, UnixStream};
    /// use std::os::linux::net::SocketAddrExt;
    ///
    /// let name = format!("fibre-doc-{}", std::process::id());
    /// let address = SocketAddr::from_abstract_name(name)?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// let client = UnixStream::connect_addr(&address)?;
    /// let (server, _) = listener.accept()?;
    /// assert_eq!(server.peer_cred()?.pid, Some(std::process::id().cast_signed()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn connect_addr(address: &SocketAddr) -> io::Result<Self> {
        Self::connect_kernel(&to_kernel(address)?, Timeout::Endless)
    }

    /// Connects to the listener at an address, which may be abstract, waiting for `timeout` at
    /// most. Blocks the fibre (or thread) while the listener's queue is full.
    ///
    /// # Errors
    ///
    /// Those of the system calls; `TimedOut`; `InvalidInput` for a zero duration, as for TCP.
    pub fn connect_timeout(address: &SocketAddr, timeout: Duration) -> io::Result<Self> {
        let timeout = Timeout::within(not_zero(timeout)?);
        Self::connect_kernel(&to_kernel(address)?, timeout)
    }

    /// Connects to the listener at an address, which may be abstract, waiting until `deadline` at
    /// most; a past deadline tries once. Blocks the fibre (or thread) while the listener's queue is
    /// full.
    ///
    /// # Errors
    ///
    /// Those of the system calls; `TimedOut`.
    pub fn connect_until(address: &SocketAddr, deadline: Instant) -> io::Result<Self> {
        Self::connect_kernel(&to_kernel(address)?, Timeout::Until(deadline))
    }

    /// The common part of connecting.
    fn connect_kernel(address: &SocketAddrUnix, timeout: Timeout<'_>) -> io::Result<Self> {
        cancellation_point()?;
        let socket = unix_socket(SocketType::STREAM)?;
        let source = Source::made(socket)?;
        let connect = |fd: BorrowedFd<'_>| rustix::net::connect(fd, address);
        source.io_untold(Direction::Write, timeout, connect)?;
        Ok(Self::from_source(source))
    }

    /// Two streams that are connected to each other. Blocks nothing.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (left, right) = unix_pair(SocketType::STREAM)?;
        let (left, right) = (
            Source::from_nonblocking(left)?,
            Source::from_nonblocking(right)?,
        );
        Ok((Self::from_source(left), Self::from_source(right)))
    }

    /// Writes some bytes, and sends up to 253 descriptors with the first of them; the peer then has
    /// these, too. Blocks like a write.
    ///
    /// ```
    /// use fibre::os::unix::net::UnixStream;
    /// use fibre::io::{PipeReader, pipe};
    /// use std::io::{Read, Write};
    /// use std::os::fd::AsFd;
    ///
    /// let (left, right) = UnixStream::pair()?;
    /// let (reader, mut writer) = pipe()?;
    /// assert_eq!(left.send_fds(b"a pipe", &[reader.as_fd()])?, 6);
    /// let (mut text, mut descriptors) = ([0; 100], Vec::new());
    /// let received = right.recv_fds(&mut text, &mut descriptors)?;
    /// assert_eq!(&text[..received.bytes], b"a pipe");
    /// let mut pipe = PipeReader::try_from(descriptors.remove(0))?;
    /// writer.write_all(b"x")?;
    /// assert_eq!(pipe.read(&mut text)?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of writing; `InvalidInput` for more descriptors, or without a byte; `ETOOMANYREFS` for
    /// more descriptors on their way than this process may have open.
    pub fn send_fds(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
        descriptors::send(&self.end, bytes, descriptors)
    }

    /// Reads some bytes, and appends the descriptors that came with them to `descriptors`; started
    /// programs do not inherit these. Blocks like a read.
    ///
    /// # Errors
    ///
    /// Those of reading; `InvalidInput` without room for a byte.
    pub fn recv_fds(
        &self,
        buffer: &mut [u8],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<Received> {
        descriptors::receive(&self.end, buffer, descriptors)
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// Those of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        of_this_end(&self.end)
    }

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// Those of `getpeername`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        of_other_end(&self.end)
    }

    /// The credentials of the process that made the other end.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the descriptor is not a Unix socket.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        peer_credentials(&self.end)
    }
}

impl Read for &UnixStream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.end.read_with_descriptors(buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.end.read_vectored(buffers)
    }
}

impl Write for &UnixStream {
    #[inline]
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.end.write(buffer)
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.end.write_vectored(buffers)
    }

    #[inline]
    fn write_all(&mut self, buffer: &[u8]) -> io::Result<()> {
        self.end.write_all(buffer)
    }

    /// Does nothing: the stream has no buffer of its own.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

reads_as_reference!(UnixStream);
writes_as_reference!(UnixStream);
