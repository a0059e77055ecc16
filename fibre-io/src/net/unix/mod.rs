//! Unix sockets after `std::os::unix::net`: the same names and meanings, but calls block the fibre.
//! See [`net`](super) for the differences.
//!
//! Addresses are std's, also abstract ones ([`std::os::linux::net::SocketAddrExt`]).
//!
//! Two calls are tried again after pauses, since no event reports their success: connecting to a
//! listener with a full queue, and sending from an unconnected socket to a full one.
//!
//! Files:
//!
//! * `stream`: a connection between processes of one machine;
//! * `listener`: a socket that accepts these;
//! * `datagram`: a socket for messages;
//! * `address`: addresses, from std's form to the kernel's and back;
//! * `credentials`: the process at the other end;
//! * `descriptors`: descriptors that are sent along with bytes (`SCM_RIGHTS`).

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
pub use listener::{Connections, Incoming, UnixAcceptArm, UnixConnectionArm, UnixListener};
pub use std::os::unix::net::SocketAddr;
pub use stream::UnixStream;
