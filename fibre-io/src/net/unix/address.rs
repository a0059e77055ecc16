//! Addresses of Unix sockets, from std's form to the kernel's and back; new sockets.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, socket_with, socketpair,
};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::slice;

/// The flags of new sockets.
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A new non-blocking socket.
pub(super) fn unix_socket(kind: SocketType) -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, kind, FLAGS, None)?)
}

/// Two new non-blocking sockets, connected to each other.
pub(super) fn unix_pair(kind: SocketType) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, kind, FLAGS, None)?)
}

/// The address of a path. As std, an empty one is no address to bind or connect to.
pub(super) fn of_path(path: &Path) -> io::Result<SocketAddrUnix> {
    to_kernel(&SocketAddr::from_pathname(path)?)
}

/// An address as the kernel has it.
pub(super) fn to_kernel(address: &SocketAddr) -> io::Result<SocketAddrUnix> {
    if let Some(name) = address.as_abstract_name() {
        return Ok(SocketAddrUnix::new_abstract_name(name)?);
    }
    match address.as_pathname() {
        Some(path) => Ok(SocketAddrUnix::new(path.as_os_str().as_bytes())?),
        None => Ok(SocketAddrUnix::new_unnamed()),
    }
}

/// An address as std has it; `None` is that of a socket without a name. (`rustix` takes such an
/// address for an abstract one, and panics at a path of 108 bytes, which any peer may have. std
/// cannot express such a path either, so it counts as no name.)
pub(super) fn to_std(address: Option<SocketAddrAny>) -> io::Result<SocketAddr> {
    let name = address.as_ref().map_or(&[][..], name_of);
    match name {
        [] => SocketAddr::from_pathname(""),
        [0, name @ ..] => SocketAddr::from_abstract_name(name),
        _ => {
            let path = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let address = SocketAddr::from_pathname(OsStr::from_bytes(path));
            address.or_else(|_| SocketAddr::from_pathname(""))
        }
    }
}

/// The bytes that follow the family in a Unix address.
fn name_of(address: &SocketAddrAny) -> &[u8] {
    if address.address_family() != AddressFamily::UNIX {
        return &[];
    }
    // SAFETY: the address is as long as it says.
    let bytes = unsafe {
        slice::from_raw_parts(address.as_ptr().cast::<u8>(), address.addr_len() as usize)
    };
    bytes
        .get(size_of::<libc::sa_family_t>()..)
        .unwrap_or_default()
}

/// The address that a socket is bound to.
pub(super) fn of_this_end(socket: impl AsFd) -> io::Result<SocketAddr> {
    to_std(Some(rustix::net::getsockname(socket)?))
}

/// The address that a socket is connected to.
pub(super) fn of_other_end(socket: impl AsFd) -> io::Result<SocketAddr> {
    match rustix::net::getpeername(socket) {
        Ok(address) => to_std(address),
        Err(Errno::NOTCONN) => Err(io::ErrorKind::NotConnected.into()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::addr::SocketAddrArg;

    #[test]
    fn addresses_go_there_and_back() -> io::Result<()> {
        let long = "x".repeat(107);
        for name in ["a", long.as_str()] {
            let addresses = [
                SocketAddr::from_pathname(name)?,
                SocketAddr::from_abstract_name(name)?,
            ];
            for address in addresses {
                let back = to_std(Some(to_kernel(&address)?.as_any()))?;
                assert_eq!(back.as_pathname(), address.as_pathname());
                assert_eq!(back.as_abstract_name(), address.as_abstract_name());
            }
        }
        Ok(())
    }

    #[test]
    fn no_name_is_no_name() -> io::Result<()> {
        assert!(to_std(None)?.is_unnamed());
        let unnamed = SocketAddrUnix::new_unnamed();
        assert!(to_std(Some(unnamed.as_any()))?.is_unnamed());
        let longest = SocketAddrUnix::new(&[b'x'; 108][..])?;
        assert!(to_std(Some(longest.as_any()))?.is_unnamed());
        let (left, _right) = unix_pair(SocketType::STREAM)?;
        assert!(of_this_end(&left)?.is_unnamed());
        assert!(of_other_end(&left)?.is_unnamed());
        Ok(())
    }
}
