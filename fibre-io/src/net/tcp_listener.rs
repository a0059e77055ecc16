//! A TCP socket that accepts connections.

use super::acceptor::{Accepting, Acceptor, BACKLOG, Next, accept_arm};
use super::handles::{close_listener, handle};
use super::kinds::expect_tcp;
use super::{
    SocketAddr, TcpStream, ToSocketAddrs, address_of, each_address, internet_socket, to_std,
};
use crate::simulated::{Carries, Network, network_of_caller};
use crate::timeout::Timeout;
use rustix::net::{SocketAddrAny, SocketType, sockopt};
use std::io;
use std::net as std_net;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A TCP socket that accepts connections. See [`std::net::TcpListener`].
///
/// ```
/// use std::io::{Read, Write};
///
/// let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let server = fibre::spawn(move || listener.accept()?.0.write_all(b"hello"));
/// let mut text = String::new();
/// fibre::net::TcpStream::connect(address)?.read_to_string(&mut text)?;
/// server.join().unwrap()?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TcpListener {
    /// The acceptor on the socket.
    end: Acceptor,
}

handle!(TcpListener, std_net::TcpListener, Acceptor, expect_tcp);
close_listener!(TcpListener);

/// The options of a listener before it is bound. See [`TcpListener::builder`].
#[derive(Debug, Clone)]
#[must_use = "it does nothing until it is bound"]
pub struct TcpListenerBuilder {
    /// See [`backlog`](Self::backlog).
    backlog: u32,
    /// See [`reuse_address`](Self::reuse_address).
    reuse_address: bool,
    /// See [`reuse_port`](Self::reuse_port).
    reuse_port: bool,
    /// See [`only_v6`](Self::only_v6).
    only_v6: Option<bool>,
    /// See [`nodelay`](Self::nodelay).
    nodelay: bool,
}

impl TcpListenerBuilder {
    /// How many connections the kernel queues before they are accepted: 4096 by default, and at
    /// most `net.core.somaxconn`.
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = connections;
        self
    }

    /// Whether a port can be bound that connections of an earlier listener still use
    /// (`SO_REUSEADDR`): yes, by default.
    pub fn reuse_address(mut self, reuse: bool) -> Self {
        self.reuse_address = reuse;
        self
    }

    /// Whether several listeners of one user can be bound to the port; the kernel spreads the
    /// connections among them (`SO_REUSEPORT`): no, by default.
    pub fn reuse_port(mut self, reuse: bool) -> Self {
        self.reuse_port = reuse;
        self
    }

    /// Whether an IPv6 listener leaves IPv4 alone (`IPV6_V6ONLY`). Default: the system's setting.
    /// It means nothing for IPv4.
    pub fn only_v6(mut self, only: bool) -> Self {
        self.only_v6 = Some(only);
        self
    }

    /// Whether accepted connections send small pieces at once (`TCP_NODELAY`): no, by default.
    /// Connections inherit it, so a server needs no call for each.
    ///
    /// ```
    /// use fibre::net::{TcpListener, TcpStream};
    ///
    /// let listener = TcpListener::builder().nodelay(true).bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(listener.accept()?.0.nodelay()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn nodelay(mut self, nodelay: bool) -> Self {
        self.nodelay = nodelay;
        self
    }

    /// Binds to the first address that can be bound, and listens. Looking up a host *name*
    /// blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the system calls, for the last address tried.
    pub fn bind(&self, addresses: impl ToSocketAddrs) -> io::Result<TcpListener> {
        each_address(addresses, |address| self.bind_one(&address))
    }

    /// Binds to this address, and listens.
    fn bind_one(&self, address: &SocketAddr) -> io::Result<TcpListener> {
        let socket = internet_socket(address, SocketType::STREAM)?;
        sockopt::set_socket_reuseaddr(&socket, self.reuse_address)?;
        if self.reuse_port {
            sockopt::set_socket_reuseport(&socket, true)?;
        }
        if let Some(only) = self.only_v6.filter(|_| address.is_ipv6()) {
            sockopt::set_ipv6_v6only(&socket, only)?;
        }
        if self.nodelay {
            sockopt::set_tcp_nodelay(&socket, true)?;
        }
        if let Some(network) = network_of_caller() {
            return self.bind_simulated(&*network, socket, address);
        }
        rustix::net::bind(&socket, address)?;
        let backlog = i32::try_from(self.backlog).unwrap_or(i32::MAX);
        rustix::net::listen(&socket, backlog)?;
        let end = Acceptor::made(socket)?;
        Ok(TcpListener { end })
    }

    /// Binds a simulated socket, and listens; `stand_in` stands in for it.
    #[cold]
    fn bind_simulated(
        &self,
        network: &dyn Network,
        stand_in: OwnedFd,
        address: &SocketAddr,
    ) -> io::Result<TcpListener> {
        let socket = network.socket(Carries::Bytes, address)?;
        let end = Acceptor::made(stand_in)?;
        end.source.simulate(Arc::clone(&socket));
        socket.bind(address)?;
        socket.listen(self.backlog)?;
        Ok(TcpListener { end })
    }
}

impl TcpListener {
    /// Binds to the first address that can be bound, with `SO_REUSEADDR`, and listens.
    /// Looking up a host *name* blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the system calls, for the last address tried.
    pub fn bind(addresses: impl ToSocketAddrs) -> io::Result<Self> {
        Self::builder().bind(addresses)
    }

    /// A builder, for options that have to be set before the listener is bound.
    ///
    /// ```
    /// use fibre::net::TcpListener;
    ///
    /// let shared = TcpListener::builder().reuse_port(true);
    /// let first = shared.bind("127.0.0.1:0")?;
    /// let second = shared.bind(first.local_addr()?)?;
    /// assert_eq!(first.local_addr()?, second.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn builder() -> TcpListenerBuilder {
        TcpListenerBuilder {
            backlog: BACKLOG,
            reuse_address: true,
            reuse_port: false,
            only_v6: None,
            nodelay: false,
        }
    }

    /// Waits for a connection. Blocks the fibre, or the thread if the caller is not a
    /// fibre. Several fibres may accept on one listener.
    ///
    /// # Errors
    ///
    /// Those of `accept`, except for connections that ended before they were accepted. When the
    /// process is out of descriptors or memory, the call fails at once. The next call first waits
    /// until a descriptor is freed, or for a short time, so a loop that ignores errors does not
    /// spin. `ConnectionAborted` after [`close`](Self::close).
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.end.accept(Timeout::Endless, accepted)
    }

    /// Waits for a connection for `timeout` at most; a connection that is there already is
    /// accepted even if it is zero. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept); `TimedOut`.
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<(TcpStream, SocketAddr)> {
        self.end.accept(Timeout::within(timeout), accepted)
    }

    /// Waits for a connection until `deadline` at most; a connection that is there already is
    /// accepted even if that is past. Blocks the fibre (or thread).
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use std::time::Instant;
    ///
    /// let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
    /// let error = listener.accept_until(Instant::now()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TimedOut);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept); `TimedOut`.
    pub fn accept_until(&self, deadline: Instant) -> io::Result<(TcpStream, SocketAddr)> {
        self.end.accept(Timeout::Until(deadline), accepted)
    }

    /// [`accept`](Self::accept) as an arm of `select!`. If another arm is chosen, no connection has
    /// been accepted. It is no cancellation point. Its errors are those of
    /// [`accept`](Self::accept): when the process is out of descriptors it fails, and the next arm
    /// waits before it tries. A server's loop should use an arm of [`Connections`], which is not
    /// chosen then.
    ///
    /// ```
    /// use fibre::net::{TcpListener, TcpStream};
    /// use fibre::{select, sync::Event};
    ///
    /// let (listener, stop) = (TcpListener::bind("127.0.0.1:0")?, Event::new());
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// select! {
    ///     connection = listener.accept_arm() => assert!(connection?.1.ip().is_loopback()),
    ///     () = stop.wait_arm() => unreachable!("it has not been set"),
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn accept_arm(&self) -> AcceptArm<'_> {
        AcceptArm(Accepting::new(&self.end, accepted))
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
    /// use fibre::net::{TcpListener, TcpStream};
    /// use std::io::{Read, Write};
    /// use std::sync::Arc;
    ///
    /// let listener = Arc::new(TcpListener::bind("127.0.0.1:0")?);
    /// let accepting = Arc::clone(&listener);
    /// let server = fibre::spawn(move || {
    ///     for (mut stream, _) in accepting.connections() {
    ///         fibre::spawn(move || stream.write_all(b"hello"));
    ///     }
    /// });
    /// let mut text = String::new();
    /// TcpStream::connect(listener.local_addr()?)?.read_to_string(&mut text)?;
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
        address_of(&self.end.source)
    }

    /// How many routers the packets of accepted connections may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Those of `getsockopt`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(sockopt::ip_ttl(&self.end)?)
    }

    /// Sets how many routers the packets of accepted connections may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        Ok(sockopt::set_ip_ttl(&self.end, ttl)?)
    }
}

accept_arm! {
    /// An arm of `select!` that accepts a connection; made by [`TcpListener::accept_arm`].
    AcceptArm(Accepting: (TcpStream, SocketAddr)) => io::Result<(TcpStream, SocketAddr)>
}

accept_arm! {
    /// An arm of `select!` that accepts the next connection; made by [`Connections::next_arm`].
    ConnectionArm(Next: (TcpStream, SocketAddr)) => Option<(TcpStream, SocketAddr)>
}

/// Makes a stream of an accepted socket, with its peer's address.
fn accepted(
    source: crate::Source,
    address: Option<SocketAddrAny>,
) -> io::Result<(TcpStream, SocketAddr)> {
    let address = address.ok_or(io::ErrorKind::InvalidData)?;
    Ok((TcpStream::from_source(source), to_std(&address)?))
}

/// The connections of a listener, until it is closed. See [`TcpListener::connections`].
#[derive(Debug, Clone)]
#[must_use = "nothing is accepted unless it is asked for"]
pub struct Connections<'a>(&'a TcpListener);

impl<'a> Connections<'a> {
    /// The next connection as an arm of `select!`; `None` once the listener is closed. While the
    /// process is out of descriptors or memory it waits, and others are chosen. If another arm is
    /// chosen, no connection has been accepted. It is no cancellation point.
    ///
    /// ```
    /// use fibre::net::{TcpListener, TcpStream};
    /// use fibre::{select, sync::Event};
    ///
    /// let (listener, stop) = (TcpListener::bind("127.0.0.1:0")?, Event::new());
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// let connections = listener.connections();
    /// loop {
    ///     select! {
    ///         Some((stream, _)) = connections.next_arm() => {
    ///             fibre::spawn(move || drop(stream)); // serves it
    ///             stop.set();
    ///         }
    ///         () = stop.wait_arm() => break,
    ///     }
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn next_arm(&self) -> ConnectionArm<'a> {
        ConnectionArm(Next::new(&self.0.end, accepted))
    }
}

impl Iterator for Connections<'_> {
    type Item = (TcpStream, SocketAddr);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.end.next(accepted)
    }
}

/// What a listener accepts, without end. See [`TcpListener::incoming`].
#[derive(Debug)]
pub struct Incoming<'a>(&'a TcpListener);

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.accept().map(|(stream, _)| stream))
    }
}
