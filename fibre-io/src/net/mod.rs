//! TCP, after `std::net`: the same names, the same meanings, but what blocks is the
//! fibre. Differences: a time-out is reported as `TimedOut`, and there is `close`.

mod listener;
mod stream;

pub use listener::{Incoming, TcpListener};
pub use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, ToSocketAddrs};
pub use stream::TcpStream;

use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType, ipproto, socket_with};
use std::io;
use std::os::fd::OwnedFd;

/// A new non-blocking TCP socket for addresses of this kind.
fn tcp_socket(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(
        family,
        SocketType::STREAM,
        flags,
        Some(ipproto::TCP),
    )?)
}

/// Tries `f` on each address until one succeeds; the last error otherwise.
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
