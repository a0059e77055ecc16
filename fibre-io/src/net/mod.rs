//! TCP and UDP after `std::net`, and in [`unix`] Unix sockets after `std::os::unix::net`: the same
//! names and meanings, but calls block the fibre.
//!
//! | only std has | because |
//! |---|---|
//! | `set_nonblocking` | a call that would block parks its fibre; with a deadline that is past, it tries once |
//! | `WouldBlock` when a time-out is over | it is `TimedOut`, which is distinct from other errors |
//! | `From<OwnedFd>`, `FromRawFd`, `From` std's type | it is `TryFrom`: making a socket non-blocking can fail |
//! | `only_v6`, `set_only_v6` of listeners | deprecated; it must be set before binding: [`TcpListener::builder`] |
//! | `into_incoming`, `set_passcred` and others that are unstable | `socket2::SockRef::from(&socket)` sets every option |
//!
//! | only this has | |
//! |---|---|
//! | `close` | ends the calls of other fibres that wait |
//! | `connections` | a server's accept loop, until the listener is closed; without descriptors it waits |
//! | `set_read_deadline`, `set_write_deadline` | one moment for many calls, also for those that wait already |
//! | `connect_until`, `accept_until`, `accept_timeout` | the same for one call |
//! | `connect_with`, `TcpListener::builder` | options that must be set before connecting or binding |
//! | `serve`, `Server` | a fibre for each connection, until a token is cancelled: limits, and an end with grace |
//! | `TcpListener::group` | listeners on one port, one for each processor |
//! | `AsyncStream` | a connection that tasks of asynchronous code poll |
//! | `split`, `into_split` | the directions as values; an owned writing half ends its direction |
//!
//! Any number of fibres and threads can make all calls at the same time. Each event of a direction
//! of a socket wakes one of its waiters, the one that has waited longest. A fibre that has been
//! cancelled gets `ECANCELED` ([`is_cancelled_error`](fibre_core::is_cancelled_error)).
//!
//! ```
//! use std::io::{Read, Write};
//! use std::time::Duration;
//!
//! let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! let server = fibre::spawn(move || -> std::io::Result<String> {
//!     let (mut connection, _) = listener.accept()?; // blocks the fibre
//!     connection.set_read_timeout(Some(Duration::from_secs(10)))?;
//!     let mut text = String::new();
//!     connection.read_to_string(&mut text)?;
//!     Ok(text)
//! });
//! fibre::net::TcpStream::connect(address)?.write_all(b"hello")?;
//! assert_eq!(server.join().unwrap()?, "hello");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Files:
//!
//! * `async_stream`: connections for asynchronous code;
//! * `tcp_listener`: a TCP socket that accepts connections;
//! * `tcp_stream`: a TCP connection;
//! * `udp`: UDP sockets;
//! * `group`: several listeners on one port, one for each processor;
//! * `server`: a fibre for each connection, until a token is cancelled;
//! * `resolve`: from names to addresses;
//! * `acceptor`: a listening socket of any family;
//! * `endpoint`: a descriptor, and how long calls in either direction may wait;
//! * `handles`: what every kind of socket offers, as macros;
//! * `kinds`: checks what kind a foreign socket is.

mod acceptor;
mod async_stream;
mod endpoint;
mod group;
mod handles;
mod kinds;
mod resolve;
mod server;
mod split;
mod tcp_listener;
mod tcp_stream;
mod udp;
pub mod unix;

pub use async_stream::{AsyncStream, Connection};
pub use group::AcceptGroup;
pub use resolve::{
    Resolved, ToSocketAddrs, lookup_host, lookup_host_timeout, lookup_host_until,
    lookup_host_within,
};
pub use server::{Listener, Server, serve};
#[doc(hidden)]
pub use split::Stream;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use std::net::{
    AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6,
};
pub use tcp_listener::{
    AcceptArm, ConnectionArm, Connections, Incoming, TcpListener, TcpListenerBuilder,
};
pub use tcp_stream::TcpStream;
pub use udp::UdpSocket;

use crate::source::Source;
use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::OwnedFd;

/// A new non-blocking socket of a kind for addresses of this family.
fn internet_socket(address: &SocketAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(family, kind, flags, None)?)
}

/// Tries `f` on each address until one succeeds; returns the last error if none does.
fn each_address<T>(
    addresses: impl ToSocketAddrs,
    mut f: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "no address to try");
    for address in addresses.to_socket_addrs()? {
        match f(address) {
            Ok(value) => return Ok(value),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// An internet address, as std has it.
fn to_std(address: &SocketAddrAny) -> io::Result<SocketAddr> {
    SocketAddr::try_from(address.clone())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not an internet address"))
}

/// The internet address that a socket has.
fn address_of(socket: &Source) -> io::Result<SocketAddr> {
    match socket.simulated() {
        Some(socket) => Ok(socket.local_address()),
        None => to_std(&rustix::net::getsockname(socket)?),
    }
}

/// The internet address that a socket is connected to.
fn peer_of(socket: &Source) -> io::Result<SocketAddr> {
    if let Some(socket) = socket.simulated() {
        return Ok(socket.peer_address()?);
    }
    rustix::net::getpeername(socket)?
        .as_ref()
        .map_or_else(|| Err(io::ErrorKind::NotConnected.into()), to_std)
}
