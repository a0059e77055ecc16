//! A TCP connection.

use super::async_stream::Connection;
use super::endpoint::Endpoint;
use super::handles::{close, handle, limits, stream};
use super::kinds::expect_tcp;
use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{Shutdown, SocketAddr, ToSocketAddrs, address_of, each_address, internet_socket};
use crate::copy::{CopyFrom, CopyTo, Duplex, Origin};
use crate::forward::{reads_as_reference, writes_as_reference};
use crate::funnel::{Direction, Left};
use crate::simulated::{Carries, Network, network_of_caller};
use crate::source::Source;
use crate::timeout::{Timeout, not_zero};
use fibre_core::cancellation_point;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketType, sockopt};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net as std_net;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A TCP connection. See [`std::net::TcpStream`]; `&TcpStream` reads and writes, too, so
/// one fibre may read while another writes.
///
/// Writing to a connection without a peer is an error and never raises SIGPIPE. Several fibres that
/// read, or write, take turns. The bytes of one system call stay together.
///
/// ```
/// use std::io::{Read, Write};
/// use std::time::{Duration, Instant};
///
/// let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
/// let mut client = fibre::net::TcpStream::connect(listener.local_addr()?)?;
/// let (mut server, _) = listener.accept()?;
/// client.write_all(b"GET /")?;
///
/// // The whole request within a second, in how many pieces it may come.
/// server.set_read_deadline(Some(Instant::now() + Duration::from_secs(1)));
/// let mut request = [0; 5];
/// server.read_exact(&mut request)?;
/// assert_eq!(&request, b"GET /");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Use the `socket2` crate, which works on every type with a descriptor, for options without a
/// method here:
///
/// ```
/// use socket2::{SockRef, TcpKeepalive};
/// use std::time::Duration;
///
/// # let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
/// # let stream = fibre::net::TcpStream::connect(listener.local_addr()?)?;
/// let socket = SockRef::from(&stream);
/// socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(Duration::from_secs(30)))?;
/// socket.set_recv_buffer_size(1 << 20)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TcpStream {
    /// The socket and its limits.
    end: Endpoint,
}

handle!(TcpStream, std_net::TcpStream, Endpoint, expect_tcp);
close!(TcpStream);
limits!(TcpStream);
stream!(TcpStream);

impl Connection for TcpStream {
    fn source(&self) -> &Source {
        self.end.source.lend()
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.end.shutdown(how)
    }
}

impl TcpStream {
    /// A stream on a connected socket.
    pub(super) fn from_source(source: Source) -> Self {
        Self {
            end: Endpoint::new(source),
        }
    }

    /// Connects to the first address that answers. Blocks the fibre, or the thread if the
    /// caller is not a fibre. Looking up a host *name* blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the system calls, for the last address tried.
    pub fn connect(addresses: impl ToSocketAddrs) -> io::Result<Self> {
        cancellation_point()?;
        each_address(addresses, |address| Self::connect_within(&address, None))
    }

    /// Connects, waiting for `timeout` at most. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the system calls; `TimedOut`; `InvalidInput` for a zero time-out.
    pub fn connect_timeout(address: &SocketAddr, timeout: Duration) -> io::Result<Self> {
        let end = Instant::now().checked_add(not_zero(timeout)?);
        Self::connect_within(address, end)
    }

    /// Connects, waiting until `deadline` at most. With a past deadline, only a connection that is
    /// made without waiting succeeds. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the system calls; `TimedOut`.
    pub fn connect_until(address: &SocketAddr, deadline: Instant) -> io::Result<Self> {
        Self::connect_within(address, Some(deadline))
    }

    /// Connects a socket that was made and set up elsewhere, for instance bound to an address of
    /// this machine, or with options that must be set before. Blocks the fibre (or thread).
    ///
    /// ```
    /// use socket2::{Domain, Socket, Type};
    /// use std::net::{Ipv4Addr, SocketAddr};
    ///
    /// let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
    /// let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    /// socket.bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), 0)).into())?;
    /// let stream = fibre::net::TcpStream::connect_with(socket, &listener.local_addr()?)?;
    /// assert_eq!(listener.accept()?.1, stream.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the system calls; `InvalidInput` if it is not a TCP socket.
    pub fn connect_with(socket: impl Into<OwnedFd>, address: &SocketAddr) -> io::Result<Self> {
        cancellation_point()?;
        let socket = socket.into();
        expect_tcp(&socket)?;
        Self::connect_source(Source::new(socket)?, address, None)
    }

    /// Connects a new socket.
    fn connect_within(address: &SocketAddr, end: Option<Instant>) -> io::Result<Self> {
        cancellation_point()?;
        let socket = internet_socket(address, SocketType::STREAM)?;
        Self::connect_source(Source::made(socket)?, address, end)
    }

    /// Connects a socket.
    fn connect_source(
        source: Source,
        address: &SocketAddr,
        end: Option<Instant>,
    ) -> io::Result<Self> {
        let timeout = end.map_or(Timeout::Endless, Timeout::Until);
        if let Some(network) = network_of_caller() {
            return Self::connect_simulated(&*network, source, address, timeout);
        }
        let mut begun = false;
        let connect = |fd: BorrowedFd<'_>| {
            if begun {
                return Ok((connected(fd)?, Left::More));
            }
            begun = true;
            match rustix::net::connect(fd, address) {
                Err(Errno::INPROGRESS | Errno::INTR) => Err(Errno::AGAIN),
                done => Ok((done, Left::More)),
            }
        };
        source.io(Direction::Write, timeout, connect)??;
        Ok(Self::from_source(source))
    }

    /// Connects a simulated socket; `source` stands in for it.
    #[cold]
    fn connect_simulated(
        network: &dyn Network,
        source: Source,
        address: &SocketAddr,
        timeout: Timeout<'_>,
    ) -> io::Result<Self> {
        let socket = network.socket(Carries::Bytes, address)?;
        source.simulate(Arc::clone(&socket));
        source.io(Direction::Write, timeout, |_| {
            Ok((socket.connect(address)?, Left::More))
        })?;
        Ok(Self::from_source(source))
    }

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// Those of `getpeername`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        super::peer_of(&self.end.source)
    }

    /// The address of this end.
    ///
    /// # Errors
    ///
    /// Those of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        address_of(&self.end.source)
    }

    /// Reads into a buffer from `take`, which is called when there may be something to read. The
    /// buffer is dropped before the call waits, so an idle connection has none. Returns the buffer,
    /// and how many bytes were read into it; zero at the end of the stream. Blocks like a read.
    /// `take` must not block.
    ///
    /// ```
    /// use fibre::BufferPool;
    /// use fibre::net::{TcpListener, TcpStream};
    /// use std::io::Write;
    ///
    /// static POOL: BufferPool = BufferPool::new(4096, 64);
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut client = TcpStream::connect(listener.local_addr()?)?;
    /// let (server, _) = listener.accept()?;
    /// client.write_all(b"GET /")?;
    /// let (request, length) = server.read_with(|| POOL.take())?;
    /// assert_eq!(&request[..length], b"GET /");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As reading; `InvalidInput` for an empty buffer.
    #[inline]
    pub fn read_with<B: AsMut<[u8]>>(&self, take: impl FnMut() -> B) -> io::Result<(B, usize)> {
        self.end.read_with(take)
    }

    /// Whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// Those of `getsockopt`.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(sockopt::tcp_nodelay(&self.end)?)
    }

    /// Sets whether small writes are sent at once (`TCP_NODELAY`). Default: no.
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(&self.end, nodelay)?)
    }

    /// How many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Those of `getsockopt`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(sockopt::ip_ttl(&self.end)?)
    }

    /// Sets how many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        Ok(sockopt::set_ip_ttl(&self.end, ttl)?)
    }

    /// How long closing goes on sending what was written (`SO_LINGER`).
    ///
    /// # Errors
    ///
    /// Those of `getsockopt`.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(sockopt::socket_linger(&self.end)?)
    }

    /// Sets how long closing goes on sending what was written (`SO_LINGER`): `None`, the default,
    /// in the background; zero not at all, and the peer gets a reset. With any other time, dropping
    /// the stream blocks the *thread* for that long.
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        if let Some(socket) = self.end.source.simulated() {
            socket.resets_at_close(linger == Some(Duration::ZERO));
        }
        Ok(sockopt::set_socket_linger(&self.end, linger)?)
    }

    /// Whether acknowledgements are sent at once (`TCP_QUICKACK`).
    ///
    /// # Errors
    ///
    /// Those of `getsockopt`.
    pub fn quickack(&self) -> io::Result<bool> {
        Ok(sockopt::tcp_quickack(&self.end)?)
    }

    /// Sets whether acknowledgements are sent at once (`TCP_QUICKACK`), until the kernel
    /// changes its mind.
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_quickack(&self.end, quickack)?)
    }
}

impl Read for &TcpStream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.end.read(buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.end.read_vectored(buffers)
    }
}

impl Write for &TcpStream {
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

reads_as_reference!(TcpStream);
writes_as_reference!(TcpStream);

/// How a handshake went. An event is only a hint, so a socket without error and without peer is
/// still connecting: `EAGAIN`.
fn connected(socket: BorrowedFd<'_>) -> Result<Result<(), Errno>, Errno> {
    sockopt::socket_error(socket)??;
    match rustix::net::getpeername(socket) {
        Err(Errno::NOTCONN) => Err(Errno::AGAIN),
        asked => Ok(asked.map(drop)),
    }
}
