//! What a host is, and what addresses mean.

use rustix::io::Errno;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

/// The address of what has none.
pub(super) const NOWHERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);

/// The first port that is given to sockets that ask for none.
pub(super) const FIRST_PORT: u16 = 49152;

/// A host.
#[derive(Debug)]
pub(super) struct HostState {
    pub(super) name: String,
    pub(super) address: Ipv4Addr,
    /// The port that is given next.
    pub(super) next_port: u16,
    /// How many descriptors its sockets have.
    pub(super) descriptors: usize,
    /// How many they may have.
    pub(super) most_descriptors: usize,
}

impl HostState {
    /// Takes a descriptor.
    ///
    /// # Errors
    ///
    /// `EMFILE` if none is left.
    pub(super) fn take_descriptor(&mut self) -> Result<(), Errno> {
        if self.descriptors >= self.most_descriptors {
            return Err(Errno::MFILE);
        }
        self.descriptors += 1;
        Ok(())
    }

    /// Gives a descriptor back.
    pub(super) fn free_descriptor(&mut self) {
        self.descriptors -= 1;
    }

    /// Whether a descriptor is left.
    pub(super) fn has_descriptor(&self) -> bool {
        self.descriptors < self.most_descriptors
    }
}

/// Whether both mean an address in common.
pub(super) fn overlap(one: Ipv4Addr, other: Ipv4Addr) -> bool {
    one == other || one.is_unspecified() || other.is_unspecified()
}

/// An address of IPv4.
///
/// # Errors
///
/// `EAFNOSUPPORT` for any other.
pub(super) fn v4(address: &SocketAddr) -> Result<SocketAddrV4, Errno> {
    match address {
        SocketAddr::V4(address) => Ok(*address),
        SocketAddr::V6(_) => Err(Errno::AFNOSUPPORT),
    }
}
