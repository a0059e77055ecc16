//! Client sockets that do not run out of ports.
//!
//! A client address has about 28,000 ports for one server, and a closed
//! connection keeps its port for a minute (`TIME_WAIT`). The loopback network
//! has 16 million addresses, so clients of a server on it take turns among
//! some of those. The socket is bound to an address without a port
//! (`IP_BIND_ADDRESS_NO_PORT`): with one, the kernel would reserve the port
//! against all servers, and search longer for it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// How many loopback addresses take turns.
const ADDRESSES: u8 = 64;

/// Client addresses, in turn.
#[derive(Debug)]
pub struct Turns {
    /// The server.
    server: SocketAddr,
    /// Last byte of the address that was used last.
    last: u8,
}

impl Turns {
    /// Addresses for clients of `server`.
    pub fn new(server: SocketAddr) -> Self {
        Self { server, last: 0 }
    }

    /// A non-blocking socket with an address of its own, to be connected.
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn socket(&mut self) -> Result<OwnedFd, Errno> {
        let family = match self.server {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        if let Some(address) = self.next() {
            bind_without_port(&socket)?;
            rustix::net::bind(&socket, &address)?;
        }
        Ok(socket)
    }

    /// A non-blocking socket on its way to be connected.
    ///
    /// # Errors
    ///
    /// Those of the system calls.
    pub fn connect(&mut self) -> Result<OwnedFd, Errno> {
        let socket = self.socket()?;
        match rustix::net::connect(&socket, &self.server) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
            Err(error) => Err(error),
        }
    }

    /// The address for the next client; none for a server elsewhere.
    fn next(&mut self) -> Option<SocketAddrV4> {
        match self.server {
            SocketAddr::V4(server) if server.ip().is_loopback() => {
                self.last = self.last % ADDRESSES + 1;
                Some(SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, self.last), 0))
            }
            _ => None,
        }
    }
}

/// Leaves the choice of a port to `connect`.
fn bind_without_port(socket: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the option takes an int, and is given the address and size of one
    // that lives for the call.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if outcome == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_take_turns() {
        let mut turns = Turns::new((Ipv4Addr::LOCALHOST, 80).into());
        let mut address = || turns.next().map(|address| address.ip().octets()[3]);
        assert_eq!((address(), address()), (Some(1), Some(2)));
        let more: Vec<_> = (2..u16::from(ADDRESSES))
            .filter_map(|_| address())
            .collect();
        assert_eq!(more.last(), Some(&ADDRESSES));
        assert_eq!(address(), Some(1));
    }

    #[test]
    fn other_servers_see_the_usual_address() {
        let mut turns = Turns::new((Ipv4Addr::new(192, 0, 2, 1), 80).into());
        assert_eq!(turns.next(), None);
    }
}
