//! The process at the other end of a Unix socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The process at the other end, as it was when the connection was made. Like std's type, which is
/// unstable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UCred {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// The process's number; `None` if this process cannot see it, as it is in another namespace.
    pub pid: Option<i32>,
}

/// Asks the kernel for the peer's credentials. (`rustix` takes a process number of zero for
/// impossible.)
pub(super) fn peer_credentials(socket: impl AsFd) -> io::Result<UCred> {
    let mut found = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut size = size_of_val(&found) as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to where there is room for them.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut size,
        )
    };
    if result != 0 {
        let kind = io::ErrorKind::Unsupported;
        return Err(io::Error::new(kind, "the peer has no credentials"));
    }
    Ok(UCred {
        uid: found.uid,
        gid: found.gid,
        pid: Some(found.pid).filter(|pid| *pid != 0),
    })
}
