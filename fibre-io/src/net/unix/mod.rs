//! Unix sockets, after `std::os::unix::net`: the same names, the same meanings, but what blocks is
//! the fibre. See [`net`](super) for the differences.
//!
//! Addresses are std's, also abstract ones ([`std::os::linux::net::SocketAddrExt`]).
//!
//! What no event tells of is tried again after a pause: connecting to a listener whose
//! queue is full, and sending from an unconnected socket to one that is full.

mod address;
mod credentials;
mod datagram;
mod descriptors;
mod listener;
mod stream;

pub use super::Shutdown;
pub use credentials::UCred;
pub use datagram::UnixDatagram;
pub use descriptors::Received;
pub use listener::{Incoming, UnixListener};
pub use std::os::unix::net::SocketAddr;
pub use stream::UnixStream;
