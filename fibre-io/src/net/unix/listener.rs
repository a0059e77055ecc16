//! A Unix socket that accepts connections.

use super::address::{of_path, of_this_end, to_kernel, to_std, unix_socket};
use super::{SocketAddr, UnixStream};
use crate::net::acceptor::{Accepting, Acceptor, BACKLOG, Next, accept_arm};
use crate::net::handles::{close_listener, handle};
use crate::net::kinds::expect_unix_stream;
use crate::source::Source;
use crate::timeout::Timeout;
use rustix::net::{SocketAddrAny, SocketAddrUnix, SocketType};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net as std_net;
use std::path::Path;
use std::time::{Duration, Instant};

/// A Unix socket that accepts connections. See [`std::os::unix::net::UnixListener`].
///
/// ```
/// use fibre::os::unix::net::{UnixListener, UnixStream};
/// use std::io::{Read, Write};
///
/// let path = std::env::temp_dir().join(format!("fibre-doc-{}.socket", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// let server = fibre::spawn(move || listener.accept()?.0.write_all(b"hello"));
/// let mut text = String::new();
/// UnixStream::connect(&path)?.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// server.join().unwrap()?;
/// std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Dropping it leaves the file at its path in place, as std does.
#[derive(Debug)]
pub struct UnixListener {
    /// The acceptor on the socket.
    end: Acceptor,
}

handle!(
    UnixListener,
    std_net::UnixListener,
    Acceptor,
    expect_unix_stream
);
close_listener!(UnixListener);

impl UnixListener {
    /// Makes a socket at a path, and listens. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of the system calls: `AddrInUse` if something is at the path.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::bind_kernel(&of_path(path.as_ref())?)
    }

    /// Binds to an address, which may be abstract, and listens. Blocks nothing.
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        Self::bind_kernel(&to_kernel(address)?)
    }

    /// The common part of both `bind` methods.
    fn bind_kernel(address: &SocketAddrUnix) -> io::Result<Self> {
        let socket = unix_socket(SocketType::STREAM)?;
        rustix::net::bind(&socket, address)?;
        rustix::net::listen(&socket, BACKLOG.cast_signed())?;
        let end = Acceptor::made(socket)?;
        Ok(Self { end })
    }

    /// Waits for a connection. Blocks the fibre, or the thread if the caller is not a fibre.
    /// Several fibres may accept on one listener.
    ///
    /// # Errors
    ///
    /// Those of `accept`, with a pause before the next call when the process is out of
    /// descriptors or memory, as of [`TcpListener::accept`](crate::net::TcpListener::accept);
    /// `ConnectionAborted` after [`close`](Self::close).
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.end.accept(Timeout::Endless, accepted)
    }

    /// Waits for a connection for `timeout` at most; a connection that is there already is
    /// accepted even if it is zero. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept); `TimedOut`.
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<(UnixStream, SocketAddr)> {
        self.end.accept(Timeout::within(timeout), accepted)
    }

    /// Waits for a connection until `deadline` at most; a connection that is there already is
    /// accepted even if that is past. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept); `TimedOut`.
    pub fn accept_until(&self, deadline: Instant) -> io::Result<(UnixStream, SocketAddr)> {
        self.end.accept(Timeout::Until(deadline), accepted)
    }

    /// [`accept`](Self::accept) as an arm of `select!`. If another arm is chosen, no connection has
    /// been accepted. It is no cancellation point. Its errors are those of
    /// [`accept`](Self::accept): when the process is out of descriptors it fails, and the next arm
    /// waits before it tries. A server's loop should use an arm of [`Connections`], which is not
    /// chosen then.
    ///
    /// ```
    /// use fibre::os::unix::net::{UnixListener, UnixStream};
    /// use fibre::{select, sync::Event};
    /// use std::os::linux::net::SocketAddrExt;
    /// use std::os::unix::net::SocketAddr;
    ///
    /// let name = format!("fibre-doc-accept-{}", std::process::id());
    /// let address = SocketAddr::from_abstract_name(name)?;
    /// let (listener, stop) = (UnixListener::bind_addr(&address)?, Event::new());
    /// let _client = UnixStream::connect_addr(&address)?;
    /// let accepted = select! {
    ///     connection = listener.accept_arm() => connection.is_ok(),
    ///     () = stop.wait_arm() => false,
    /// };
    /// assert!(accepted);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn accept_arm(&self) -> UnixAcceptArm<'_> {
        UnixAcceptArm(Accepting::new(&self.end, accepted))
    }

    /// Accepts one connection after the other, until the listener is closed: a server's loop.
    /// Blocks the fibre, or the thread if the caller is not a fibre, while it waits for the next.
    ///
    /// It ends after [`close`](Self::close), when the fibre is cancelled, and when a `timeout`
    /// around it is over. When the process is out of descriptors or memory, it does not end: it
    /// waits, as [`accept`](Self::accept) does after such an error, and tries again. A failure of
    /// one connection ends only that one. To bound how many are served at a time, take a permit of
    /// a `Semaphore` before each, as the guide's proxy does.
    ///
    /// ```
    /// use fibre::os::unix::net::{UnixListener, UnixStream};
    /// use std::io::{Read, Write};
    /// use std::os::linux::net::SocketAddrExt;
    /// use std::os::unix::net::SocketAddr;
    /// use std::sync::Arc;
    ///
    /// let name = format!("fibre-doc-connections-{}", std::process::id());
    /// let address = SocketAddr::from_abstract_name(name)?;
    /// let listener = Arc::new(UnixListener::bind_addr(&address)?);
    /// let accepting = Arc::clone(&listener);
    /// let server = fibre::spawn(move || {
    ///     for (mut stream, _) in accepting.connections() {
    ///         fibre::spawn(move || stream.write_all(b"hello"));
    ///     }
    /// });
    /// let mut text = String::new();
    /// UnixStream::connect_addr(&address)?.read_to_string(&mut text)?;
    /// assert_eq!(text, "hello");
    /// listener.close();
    /// server.join().unwrap(); // the loop has ended
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connections(&self) -> Connections<'_> {
        Connections(self)
    }

    /// The results of [`accept`](Self::accept), one after the other, without end: errors, too, even
    /// after [`close`](Self::close). For a loop that ends with the listener, and not with an error,
    /// use [`connections`](Self::connections).
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming(self)
    }

    /// The address that the socket listens on.
    ///
    /// # Errors
    ///
    /// Those of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        of_this_end(&self.end)
    }
}

accept_arm! {
    /// An arm of `select!` that accepts a connection; made by [`UnixListener::accept_arm`].
    UnixAcceptArm(Accepting: (UnixStream, SocketAddr)) => io::Result<(UnixStream, SocketAddr)>
}

accept_arm! {
    /// An arm of `select!` that accepts the next connection; made by [`Connections::next_arm`].
    UnixConnectionArm(Next: (UnixStream, SocketAddr)) => Option<(UnixStream, SocketAddr)>
}

/// Makes a stream of an accepted socket, with its peer's address.
fn accepted(
    source: Source,
    address: Option<SocketAddrAny>,
) -> io::Result<(UnixStream, SocketAddr)> {
    Ok((UnixStream::from_source(source), to_std(address)?))
}

/// The connections of a listener, until it is closed. See [`UnixListener::connections`].
#[derive(Debug, Clone)]
#[must_use = "nothing is accepted unless it is asked for"]
pub struct Connections<'a>(&'a UnixListener);

impl<'a> Connections<'a> {
    /// The next connection as an arm of `select!`; `None` once the listener is closed. While the
    /// process is out of descriptors or memory it waits, and others are chosen. If another arm is
    /// chosen, no connection has been accepted. It is no cancellation point.
    ///
    /// ```
    /// use fibre::os::unix::net::UnixListener;
    /// use fibre::{select, sync::Event};
    /// use std::os::linux::net::SocketAddrExt;
    /// use std::os::unix::net::SocketAddr;
    ///
    /// let name = format!("fibre-doc-next-{}", std::process::id());
    /// let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    /// let (connections, stop) = (listener.connections(), Event::new());
    /// stop.set();
    /// let is_told_to_stop = select! {
    ///     connection = connections.next_arm() => connection.is_none(),
    ///     () = stop.wait_arm() => true,
    /// };
    /// assert!(is_told_to_stop);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn next_arm(&self) -> UnixConnectionArm<'a> {
        UnixConnectionArm(Next::new(&self.0.end, accepted))
    }
}

impl Iterator for Connections<'_> {
    type Item = (UnixStream, SocketAddr);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.end.next(accepted)
    }
}

/// What a listener accepts, without end. See [`UnixListener::incoming`].
#[derive(Debug)]
pub struct Incoming<'a>(&'a UnixListener);

impl Iterator for Incoming<'_> {
    type Item = io::Result<UnixStream>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.accept().map(|(stream, _)| stream))
    }
}

impl<'a> IntoIterator for &'a UnixListener {
    type Item = io::Result<UnixStream>;
    type IntoIter = Incoming<'a>;

    fn into_iter(self) -> Incoming<'a> {
        self.incoming()
    }
}
