//! Turning names and text into addresses.
//!
//! Looking up a name asks files and servers, and blocks a thread for as long as that takes. So
//! other threads look names up, and do nothing else: `fibre::fs` and
//! [`blocking`](fibre_core::blocking) do not wait for name servers. Addresses, even as text, are
//! parsed in place, without allocating anything. `std::net::ToSocketAddrs` does both in one call
//! and does not say which. Hence this trait of the same name, shape and implementations.

use crate::simulated::network_of_caller;
use fibre_core::internal::blocking_lookup;
use fibre_core::{Builder, JoinHandle, Limit, cancellation_point};
use std::io;
use std::iter::Cloned;
use std::net as std_net;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::option;
use std::panic::resume_unwind;
use std::slice;
use std::time::{Duration, Instant};
use std::vec;

/// Values that can be turned into addresses. See [`std::net::ToSocketAddrs`]; the lookup of a name
/// blocks the fibre, or the thread if the caller is no fibre.
///
/// Types of other crates that only have std's trait can be given as
/// `&addresses.to_socket_addrs()?.collect::<Vec<_>>()[..]`, inside
/// [`blocking`](fibre_core::blocking) if they look up names.
///
/// ```
/// use fibre::net::ToSocketAddrs;
///
/// let literal = "127.0.0.1:80".to_socket_addrs()?.next();
/// assert_eq!(literal, Some(([127, 0, 0, 1], 80).into()));
/// let named = ("localhost", 80).to_socket_addrs()?.next();
/// assert!(named.is_some_and(|address| address.ip().is_loopback()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait ToSocketAddrs {
    /// The addresses.
    type Iter: Iterator<Item = SocketAddr>;

    /// Turns this into addresses.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the text cannot be parsed, and those of the lookup.
    fn to_socket_addrs(&self) -> io::Result<Self::Iter>;
}

/// The addresses of a name, or the one that was given as text.
#[derive(Debug, Clone)]
pub struct Resolved(Found);

/// See [`Resolved`].
#[derive(Debug, Clone)]
enum Found {
    /// The address that was given as text.
    Literal(option::IntoIter<SocketAddr>),
    /// The addresses of a name.
    Named(vec::IntoIter<SocketAddr>),
}

impl Resolved {
    /// The address that was given as text.
    fn literal(address: SocketAddr) -> io::Result<Self> {
        Ok(Self(Found::Literal(Some(address).into_iter())))
    }

    /// Looks a name up.
    fn named(host: &str, port: u16) -> io::Result<Self> {
        if let Some(network) = network_of_caller() {
            let found = network.resolve(host)?.into_iter();
            let found: Vec<_> = found.map(|ip| SocketAddr::new(ip, port)).collect();
            return Ok(Self(Found::Named(found.into_iter())));
        }
        blocking_lookup(|| std_net::ToSocketAddrs::to_socket_addrs(&(host, port)))
            .map(|found| Self(Found::Named(found)))
    }
}

impl Iterator for Resolved {
    type Item = SocketAddr;

    fn next(&mut self) -> Option<SocketAddr> {
        match &mut self.0 {
            Found::Literal(address) => address.next(),
            Found::Named(addresses) => addresses.next(),
        }
    }
}

/// A lookup that runs as a fibre.
type Lookup = JoinHandle<io::Result<Resolved>>;

/// The outcome of joining a lookup.
type Joined = fibre_core::Result<io::Result<Resolved>>;

/// Splits `host:port`.
fn split(text: &str) -> io::Result<(&str, u16)> {
    let (host, port) = text
        .rsplit_once(':')
        .ok_or_else(|| refused("no port behind a colon"))?;
    let port = port.parse().map_err(|_| refused("the port is no number"))?;
    Ok((host, port))
}

/// The error of text that cannot be parsed.
fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

impl ToSocketAddrs for str {
    type Iter = Resolved;

    fn to_socket_addrs(&self) -> io::Result<Resolved> {
        match self.parse() {
            Ok(address) => Resolved::literal(address),
            Err(_) => split(self).and_then(|(host, port)| Resolved::named(host, port)),
        }
    }
}

impl ToSocketAddrs for (&str, u16) {
    type Iter = Resolved;

    fn to_socket_addrs(&self) -> io::Result<Resolved> {
        let (host, port) = *self;
        match host.parse::<IpAddr>() {
            Ok(address) => Resolved::literal((address, port).into()),
            Err(_) => Resolved::named(host, port),
        }
    }
}

impl ToSocketAddrs for String {
    type Iter = Resolved;

    fn to_socket_addrs(&self) -> io::Result<Resolved> {
        (**self).to_socket_addrs()
    }
}

impl ToSocketAddrs for (String, u16) {
    type Iter = Resolved;

    fn to_socket_addrs(&self) -> io::Result<Resolved> {
        (&*self.0, self.1).to_socket_addrs()
    }
}

impl<'a> ToSocketAddrs for &'a [SocketAddr] {
    type Iter = Cloned<slice::Iter<'a, SocketAddr>>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        Ok(self.iter().cloned())
    }
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {
    type Iter = T::Iter;

    fn to_socket_addrs(&self) -> io::Result<T::Iter> {
        (**self).to_socket_addrs()
    }
}

/// Types that are one address.
macro_rules! one_address {
    ($($type:ty),*) => {$(
        impl ToSocketAddrs for $type {
            type Iter = option::IntoIter<SocketAddr>;

            fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
                Ok(Some(SocketAddr::from(*self)).into_iter())
            }
        }
    )*};
}

one_address!(
    SocketAddr,
    SocketAddrV4,
    SocketAddrV6,
    (IpAddr, u16),
    (Ipv4Addr, u16),
    (Ipv6Addr, u16)
);

/// Looks up a name, given as `host:port` or in any other way that [`ToSocketAddrs`] knows. Blocks
/// the fibre (or thread) if it is a name.
///
/// ```
/// let mut addresses = fibre::net::lookup_host("localhost:80")?;
/// assert!(addresses.all(|address| address.ip().is_loopback()));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of the lookup.
pub fn lookup_host<A: ToSocketAddrs>(host: A) -> io::Result<A::Iter> {
    host.to_socket_addrs()
}

/// [`lookup_host`], but gives up at `deadline`, and when the fibre is cancelled. Blocks the fibre
/// (or thread). Nothing can end the lookup itself: it goes on as a fibre of the caller's cluster.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let soon = Instant::now() + Duration::from_secs(5);
/// assert!(fibre::net::lookup_host_until("localhost:80", soon)?.next().is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Those of the lookup; `TimedOut`; the error of a cancelled fibre; that of a cluster that has no
/// room for one more fibre.
pub fn lookup_host_until(host: &str, deadline: Instant) -> io::Result<Resolved> {
    look_up(host, |lookup| lookup.join_within(deadline))
}

/// The lookup of a name in a fibre of its own, for as long as `join` waits for it.
fn look_up(
    host: &str,
    join: impl FnOnce(Lookup) -> Result<Joined, Lookup>,
) -> io::Result<Resolved> {
    if let Ok(address) = host.parse() {
        return Resolved::literal(address);
    }
    cancellation_point()?;
    let host = host.to_owned();
    match join(Builder::new().spawn(move || host.to_socket_addrs())?) {
        Ok(Ok(found)) => found,
        Ok(Err(payload)) => resume_unwind(payload),
        Err(_detached) => {
            cancellation_point()?;
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// [`lookup_host_until`] with the longest time that it may take.
///
/// ```
/// let minute = std::time::Duration::from_secs(60);
/// assert!(fibre::net::lookup_host_timeout("localhost:80", minute)?.next().is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// As [`lookup_host_until`].
pub fn lookup_host_timeout(host: &str, timeout: Duration) -> io::Result<Resolved> {
    look_up(host, |lookup| lookup.join_timeout(timeout))
}

/// [`lookup_host_until`] within any [`Limit`]: `Limit::Cancellation` for a lookup that only
/// cancellation of the fibre ends. Blocks the fibre (or thread); a pool thread goes on with an
/// abandoned lookup.
///
/// ```
/// use fibre::Limit;
///
/// let found = fibre::net::lookup_host_within("localhost:80", Limit::Cancellation)?;
/// assert!(found.count() > 0);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// As [`lookup_host_until`].
pub fn lookup_host_within(host: &str, limit: impl Into<Limit>) -> io::Result<Resolved> {
    look_up(host, |lookup| lookup.join_within(limit))
}
