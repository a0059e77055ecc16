//! Sockets that a test kit simulates.
//!
//! A test decides about the network of a program that is not changed for it. So the door is here,
//! below the types of [`net`](crate::net): a socket is made as ever, and if the caller's network is
//! simulated (`network_of_caller`) a [`Socket`] of that network takes the kernel's part. The
//! descriptor stays, as a *stand-in*: a TCP socket that is never bound nor connected. It keeps the
//! number, and it keeps the options that do nothing here, such as `TCP_NODELAY`.
//!
//! ```text
//!   recv(stand-in) ──► ENOTCONN ──► is the slot's registration simulated? ──► Socket::receive
//!   recv(other)    ──► bytes, or EAGAIN: as ever
//! ```
//!
//! The kernel refuses every transfer on a stand-in, and only a refused call looks further. Calls
//! that succeed or would block look at nothing more; what a refused one needs is kept over the
//! system call, which costs them a few instructions. The slot says who tells of events: an epoll
//! instance, or a simulated socket, which does that by [`Gates`]. All above is the same for both:
//! the funnel, the gates, the order of waiters, limits of time, and cancellation.
//!
//! A program without a simulated network pays for one load and one branch where it binds, connects
//! or looks a name up. Nothing here is part of the interface of `fibre`.

use crate::gate::single::Gate;
use crate::gate::word::News;
use rustix::io::Errno;
use std::fmt::{Debug, Display};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::{Arc, OnceLock};

/// How the network of the calling fibre is found; `None`: it is the kernel's.
pub type Door = fn() -> Option<Arc<dyn Network>>;

/// Whether any network is simulated in this process, and how callers find theirs.
static DOOR: OnceLock<Door> = OnceLock::new();

/// What a socket carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// A stream of bytes, as TCP does.
    Bytes,
    /// Messages, as UDP does.
    Datagrams,
}

/// The network as one host sees it.
pub trait Network: Send + Sync {
    /// A new socket, neither bound nor connected.
    ///
    /// # Errors
    ///
    /// `EMFILE` if the host has no descriptor left; `EAFNOSUPPORT` for addresses like that one.
    fn socket(&self, carries: Carries, address: &SocketAddr) -> Result<Arc<dyn Socket>, Errno>;

    /// The addresses of a host.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none of this name.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// A simulated socket, as one descriptor refers to it. Its calls neither block nor switch. `EAGAIN`
/// says that a call would block; an event at the gates then says that it may not any more.
pub trait Socket: Send + Sync + Debug + Display {
    /// Where it tells of events from now on.
    fn tells(&self, gates: Gates);

    /// Takes an address of the host.
    ///
    /// # Errors
    ///
    /// Those of `bind`.
    fn bind(&self, address: &SocketAddr) -> Result<(), Errno>;

    /// Takes connections from now on.
    ///
    /// # Errors
    ///
    /// Those of `listen`.
    fn listen(&self, backlog: u32) -> Result<(), Errno>;

    /// Begins to connect, goes on with it, or says how it has ended. `EAGAIN` while it goes on.
    ///
    /// # Errors
    ///
    /// Those of `connect`.
    fn connect(&self, address: &SocketAddr) -> Result<(), Errno>;

    /// Whether there is a connection to [take](Self::take_accepted).
    ///
    /// # Errors
    ///
    /// Those of `accept`, `EAGAIN` if there is none.
    fn accept(&self) -> Result<(), Errno>;

    /// The connection that has waited longest to be accepted.
    fn take_accepted(&self) -> Option<(Arc<dyn Socket>, SocketAddr)>;

    /// Receives bytes or a message. A caller that *peeks* leaves them there.
    ///
    /// # Errors
    ///
    /// Those of `recvmsg`.
    fn receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        peeks: bool,
    ) -> Result<(usize, Option<SocketAddr>), Errno>;

    /// Sends bytes or a message, to the peer or to this address.
    ///
    /// # Errors
    ///
    /// Those of `sendmsg`.
    fn send(&self, buffers: &[IoSlice<'_>], to: Option<&SocketAddr>) -> Result<usize, Errno>;

    /// Ends one direction, or both.
    ///
    /// # Errors
    ///
    /// Those of `shutdown`.
    fn shutdown(&self, how: Shutdown) -> Result<(), Errno>;

    /// Whether the last close resets the connection (`SO_LINGER` of zero).
    fn resets_at_close(&self, resets: bool);

    /// The address of this end.
    fn local_address(&self) -> SocketAddr;

    /// The address of the other end.
    ///
    /// # Errors
    ///
    /// `ENOTCONN` if there is none.
    fn peer_address(&self) -> Result<SocketAddr, Errno>;

    /// Takes the recorded error.
    fn take_error(&self) -> Option<Errno>;

    /// The same socket for another descriptor.
    ///
    /// # Errors
    ///
    /// `EMFILE` if the host has no descriptor left.
    fn duplicate(&self) -> Result<Arc<dyn Socket>, Errno>;

    /// The descriptor is closed, or has been given away. The gates are another's soon.
    fn close(&self);
}

/// The gates of a descriptor, for whoever knows of its events.
#[derive(Debug, Clone, Copy)]
pub struct Gates {
    read: &'static Gate,
    write: &'static Gate,
}

impl Gates {
    /// The gates of a slot.
    pub(crate) fn new(read: &'static Gate, write: &'static Gate) -> Self {
        Self { read, write }
    }

    /// There may be something to read or to accept. Wakes the fibre that has waited longest; blocks
    /// nothing.
    pub fn readable(&self) {
        self.read.event(News::default());
    }

    /// There may be room, or the handshake is over. As [`readable`](Self::readable).
    pub fn writable(&self) {
        self.write.event(News::default());
    }

    /// All calls of both directions try again: the socket has come to an end.
    pub fn ended(&self) {
        self.read.wake_all();
        self.write.wake_all();
    }
}

/// Has networks found by this function from now on, in all of the process. The first one counts.
pub fn simulate(door: Door) {
    // The kit has one function.
    let _ = DOOR.set(door);
}

/// The simulated network that the caller is in; `None`: its network is the kernel's.
#[inline]
pub(crate) fn network_of_caller() -> Option<Arc<dyn Network>> {
    match DOOR.get() {
        None => None,
        Some(door) => ask(*door),
    }
}

/// Asks the door.
#[cold]
fn ask(door: Door) -> Option<Arc<dyn Network>> {
    door()
}
