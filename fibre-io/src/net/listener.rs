//! A TCP socket that accepts connections.

use super::{SocketAddr, TcpStream, ToSocketAddrs, each_address, tcp_socket, to_std};
use crate::backoff::Backoff;
use crate::patience::Patience;
use crate::source::{Direction, Left, Source};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use std::io;
use std::net as std_net;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Connections that the kernel queues before they are accepted; it cuts this at
/// `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// A TCP socket that accepts connections. See [`std::net::TcpListener`].
///
/// ```
/// use std::io::{Read, Write};
///
/// let listener = fibre_io::net::TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let server = fibre_core::spawn(move || listener.accept()?.0.write_all(b"hello"));
/// let mut text = String::new();
/// fibre_io::net::TcpStream::connect(address)?.read_to_string(&mut text)?;
/// server.join().unwrap()?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TcpListener {
    source: Source,
    backoff: Backoff,
}

impl TcpListener {
    /// Binds to the first address that can be bound, with `SO_REUSEADDR`, and listens.
    /// Looking up a host *name* blocks the thread.
    ///
    /// # Errors
    ///
    /// Those of the system calls, for the last address tried.
    pub fn bind(addresses: impl ToSocketAddrs) -> io::Result<Self> {
        each_address(addresses, |address| {
            let socket = tcp_socket(&address)?;
            rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
            rustix::net::bind(&socket, &address)?;
            rustix::net::listen(&socket, BACKLOG)?;
            Self::from_source(Source::from_nonblocking(socket)?)
        })
    }

    /// A listener on a listening socket.
    #[allow(
        clippy::unnecessary_wraps,
        reason = "the last step of fallible callers"
    )]
    fn from_source(source: Source) -> io::Result<Self> {
        Ok(Self {
            source,
            backoff: Backoff::default(),
        })
    }

    /// Waits for a connection. Blocks the fibre, or the thread if the caller is not a
    /// fibre. Several fibres may accept on one listener.
    ///
    /// # Errors
    ///
    /// Those of `accept`, except for connections that ended before they were accepted.
    /// When the process is out of descriptors or memory, the error is returned at once,
    /// and the next call waits for one to be freed, or a little, before it tries: a
    /// loop that ignores errors does not spin. `ConnectionAborted` after
    /// [`close`](Self::close).
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.backoff.pause();
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accepted = self.source.io(Direction::Read, Patience::Endless, |fd| {
            loop {
                match acceptfrom_with(fd, flags) {
                    // It was gone before we got to it; the next one may be there.
                    Err(Errno::CONNABORTED | Errno::PROTO) => {}
                    Err(errno) => return Err(errno),
                    Ok(accepted) => return Ok((accepted, Left::More)),
                }
            }
        });
        match &accepted {
            Ok(_) => self.backoff.fed(),
            Err(error) if is_starvation(error) => self.backoff.starved(),
            Err(_) => {}
        }
        let (fd, address) = accepted?;
        let address = address.ok_or(io::ErrorKind::InvalidData)?;
        Ok((
            TcpStream::from_source(Source::from_nonblocking(fd)?),
            to_std(&address)?,
        ))
    }

    /// The connections, one after the other, without end.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming(self)
    }

    /// The address it listens on.
    ///
    /// # Errors
    ///
    /// Those of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        to_std(&rustix::net::getsockname(&self.source)?)
    }

    /// A second handle to the same socket, with a descriptor of its own.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Self::from_source(Source::from_nonblocking(
            self.source.as_fd().try_clone_to_owned()?,
        )?)
    }

    /// Makes all calls that wait, and all later ones, fail with `ConnectionAborted`. The
    /// socket is closed when the listener is dropped. Blocks nothing.
    pub fn close(&self) {
        self.source.close();
    }

    /// The same socket for blocking threads.
    ///
    /// # Errors
    ///
    /// When it cannot be made blocking.
    pub fn into_std(self) -> io::Result<std_net::TcpListener> {
        Ok(self.source.into_fd()?.into())
    }
}

/// Whether an error says that the process or the system is out of something.
fn is_starvation(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(
        errno,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
    )
}

/// The connections of a listener. See [`TcpListener::incoming`].
#[derive(Debug)]
pub struct Incoming<'a>(&'a TcpListener);

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.accept().map(|(stream, _)| stream))
    }
}

impl TryFrom<std_net::TcpListener> for TcpListener {
    type Error = io::Error;

    /// Takes a listening socket over and makes it non-blocking.
    fn try_from(listener: std_net::TcpListener) -> io::Result<Self> {
        Self::from_source(Source::new(listener.into())?)
    }
}

impl TryFrom<OwnedFd> for TcpListener {
    type Error = io::Error;

    /// Takes a listening socket over and makes it non-blocking.
    fn try_from(fd: OwnedFd) -> io::Result<Self> {
        Self::from_source(Source::new(fd)?)
    }
}

impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

impl AsRawFd for TcpListener {
    fn as_raw_fd(&self) -> RawFd {
        self.source.as_fd().as_raw_fd()
    }
}
