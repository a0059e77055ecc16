//! UDP sockets.

use super::endpoint::{Endpoint, RECEIVE, SEND};
use super::handles::{close, handle, limits};
use super::kinds::expect_any;
use super::{
    Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, address_of, each_address, internet_socket,
    peer_of, to_std,
};
use crate::funnel::{Direction, Left};
use crate::simulated::{Carries, Network, network_of_caller};
use crate::source::Source;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketType, recvfrom, sendto, sockopt};
use std::io::{self, IoSlice, IoSliceMut};
use std::net as std_net;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A UDP socket. See [`std::net::UdpSocket`].
///
/// Several fibres may receive from one socket, and send on it: they take turns, and each call moves
/// one datagram.
///
/// ```
/// use fibre::net::UdpSocket;
///
/// let server = UdpSocket::bind("127.0.0.1:0")?;
/// let address = server.local_addr()?;
/// let echo = fibre::spawn(move || {
///     let mut buffer = [0; 1500];
///     let (length, from) = server.recv_from(&mut buffer)?;
///     server.send_to(&buffer[..length], from)
/// });
/// let client = UdpSocket::bind("127.0.0.1:0")?;
/// client.connect(address)?;
/// client.send(b"ping")?;
/// let mut answer = [0; 16];
/// assert_eq!(client.recv(&mut answer)?, 4);
/// echo.join().unwrap()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct UdpSocket {
    /// The socket and its limits.
    end: Endpoint,
}

handle!(UdpSocket, std_net::UdpSocket, Endpoint, expect_any);
close!(UdpSocket);
limits!(UdpSocket);

impl UdpSocket {
    /// Binds to the first address that can be bound. Looking up a host *name* blocks the fibre (or
    /// thread).
    ///
    /// # Errors
    ///
    /// Those of the system calls, for the last address tried.
    pub fn bind(addresses: impl ToSocketAddrs) -> io::Result<Self> {
        each_address(addresses, |address| {
            if let Some(network) = network_of_caller() {
                return Self::bind_simulated(&*network, &address);
            }
            let socket = internet_socket(&address, SocketType::DGRAM)?;
            rustix::net::bind(&socket, &address)?;
            let end = Endpoint::from_nonblocking(socket)?;
            Ok(Self { end })
        })
    }

    /// Binds a simulated socket. The stand-in is one of TCP: the kernel would let one of UDP wait.
    #[cold]
    fn bind_simulated(network: &dyn Network, address: &SocketAddr) -> io::Result<Self> {
        let socket = network.socket(Carries::Datagrams, address)?;
        let end = Endpoint::new(Source::made(internet_socket(address, SocketType::STREAM)?)?);
        end.source.simulate(Arc::clone(&socket));
        socket.bind(address)?;
        Ok(Self { end })
    }

    /// Sets the address that [`send`](Self::send) sends to: the first one that works. From now on
    /// the socket receives only datagrams from there. Looking up a host *name* blocks the fibre (or
    /// thread).
    ///
    /// # Errors
    ///
    /// Those of `connect`, for the last address tried.
    pub fn connect(&self, addresses: impl ToSocketAddrs) -> io::Result<()> {
        each_address(addresses, |address| {
            let connected = match self.end.source.simulated() {
                Some(socket) => socket.connect(&address),
                None => rustix::net::connect(&self.end, &address),
            };
            Ok(connected?)
        })
    }

    /// Waits for a datagram. Bytes that do not fit are lost. Blocks the fibre, or the thread if the
    /// caller is not a fibre.
    ///
    /// # Errors
    ///
    /// Those of `recvfrom`; `TimedOut`; `ConnectionAborted` after [`close`](Self::close).
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receive_from(buffer, RECEIVE)
    }

    /// Waits for a datagram and leaves it there: the next call receives it again. Blocks the
    /// fibre (or thread).
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.receive_from(buffer, RECEIVE | RecvFlags::PEEK)
    }

    /// The common part of [`recv_from`](Self::recv_from) and [`peek_from`](Self::peek_from).
    fn receive_from(&self, buffer: &mut [u8], flags: RecvFlags) -> io::Result<(usize, SocketAddr)> {
        let (length, from) = self
            .end
            .receiving(|fd| match recvfrom(fd, &mut *buffer, flags) {
                Ok((length, _, from)) => Ok(((length, from), Left::More)),
                Err(Errno::AGAIN) => Err(Errno::AGAIN),
                Err(errno) => self.end.source.refused(errno, |socket| {
                    let peeks = flags.contains(RecvFlags::PEEK);
                    let slices = &mut [IoSliceMut::new(buffer)];
                    let (length, from) = socket.receive(slices, peeks)?;
                    Ok((length, from.map(Into::into)))
                }),
            })?;
        let from = from.ok_or(io::ErrorKind::InvalidData)?;
        Ok((length, to_std(&from)?))
    }

    /// Sends a datagram to the first address. Blocks the fibre (or thread) while there is no room
    /// in the socket's buffer. Looking up a host *name* blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of `sendto`; `TimedOut`; `InvalidInput` if there is no address.
    pub fn send_to(&self, buffer: &[u8], address: impl ToSocketAddrs) -> io::Result<usize> {
        let Some(address) = address.to_socket_addrs()?.next() else {
            let kind = io::ErrorKind::InvalidInput;
            return Err(io::Error::new(kind, "no address to send to"));
        };
        self.end
            .sending(|fd| match sendto(fd, buffer, SEND, &address) {
                Ok(length) => Ok((length, Left::More)),
                Err(Errno::AGAIN) => Err(Errno::AGAIN),
                Err(errno) => self.end.source.refused(errno, |socket| {
                    socket.send(&[IoSlice::new(buffer)], Some(&address))
                }),
            })
    }

    /// Waits for a datagram from the connected address. Bytes that do not fit are lost. Blocks the
    /// fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of `recv`: among them `ConnectionRefused`, if an earlier datagram found no receiver;
    /// `TimedOut`; `ConnectionAborted` after [`close`](Self::close).
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.end.receive(buffer, RecvFlags::empty())
    }

    /// Waits for a datagram from the connected address and leaves it there. Blocks the fibre (or
    /// thread).
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.end.receive(buffer, RecvFlags::PEEK)
    }

    /// Sends a datagram to the connected address. Blocks the fibre (or thread) while there is no
    /// room in the socket's buffer.
    ///
    /// # Errors
    ///
    /// Those of `send`; `TimedOut`.
    pub fn send(&self, buffer: &[u8]) -> io::Result<usize> {
        self.end.send(buffer)
    }

    /// The address that the socket is connected to.
    ///
    /// # Errors
    ///
    /// Those of `getpeername`; `NotConnected`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        peer_of(&self.end.source)
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    ///
    /// Those of `getsockname`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        address_of(&self.end.source)
    }
}

/// An option as two methods.
macro_rules! option {
    ($get:ident, $set:ident: $type:ty, $kernel_get:ident, $kernel_set:ident, $what:literal) => {
        #[doc = $what]
        ///
        /// # Errors
        ///
        /// Those of `getsockopt`.
        pub fn $get(&self) -> io::Result<$type> {
            Ok(sockopt::$kernel_get(&self.end)?)
        }

        /// Sets this option.
        ///
        /// # Errors
        ///
        /// Those of `setsockopt`.
        pub fn $set(&self, value: $type) -> io::Result<()> {
            Ok(sockopt::$kernel_set(&self.end, value)?)
        }
    };
}

/// Options. They block nothing.
impl UdpSocket {
    option!(
        broadcast, set_broadcast: bool, socket_broadcast, set_socket_broadcast,
        "Whether it may send to broadcast addresses (`SO_BROADCAST`): no, by default."
    );
    option!(
        ttl, set_ttl: u32, ip_ttl, set_ip_ttl,
        "How many routers a datagram may pass (`IP_TTL`)."
    );
    option!(
        multicast_loop_v4, set_multicast_loop_v4: bool, ip_multicast_loop, set_ip_multicast_loop,
        "Whether what it sends to a group comes back to this machine (`IP_MULTICAST_LOOP`)."
    );
    option!(
        multicast_ttl_v4, set_multicast_ttl_v4: u32, ip_multicast_ttl, set_ip_multicast_ttl,
        "How many routers a datagram to a group may pass (`IP_MULTICAST_TTL`): 1, by default."
    );
    option!(
        multicast_loop_v6, set_multicast_loop_v6: bool, ipv6_multicast_loop,
        set_ipv6_multicast_loop,
        "Whether what it sends to a group comes back to this machine (`IPV6_MULTICAST_LOOP`)."
    );

    /// Joins a group by the interface that has the address `interface`; the system chooses if that
    /// is unspecified.
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn join_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        Ok(sockopt::set_ip_add_membership(&self.end, group, interface)?)
    }

    /// Joins a group by the interface with this number; the system chooses if that is zero.
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        Ok(sockopt::set_ipv6_add_membership(
            &self.end, group, interface,
        )?)
    }

    /// Leaves a group that was joined with the same arguments.
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn leave_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        Ok(sockopt::set_ip_drop_membership(
            &self.end, group, interface,
        )?)
    }

    /// Leaves a group that was joined with the same arguments.
    ///
    /// # Errors
    ///
    /// Those of `setsockopt`.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        Ok(sockopt::set_ipv6_drop_membership(
            &self.end, group, interface,
        )?)
    }
}
