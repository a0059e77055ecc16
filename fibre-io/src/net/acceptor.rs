//! A listening socket of any family, and what accepting does besides the system call.

use crate::backoff::Backoff;
use crate::patience::Patience;
use crate::source::{Direction, Left, Source, number_of};
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags, acceptfrom_with, sockopt};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Connections that the kernel queues before they are accepted; it cuts this at
/// `net.core.somaxconn`.
pub const BACKLOG: u32 = 4096;

/// See the module text.
#[derive(Debug)]
pub struct Acceptor {
    /// The listening socket.
    pub source: Source,
    /// What it does when the process is out of descriptors.
    backoff: Backoff,
}

impl Acceptor {
    /// On a listening socket.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            backoff: Backoff::default(),
        }
    }

    /// On a listening socket of somebody else, which is made non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Source::new`].
    pub fn adopt(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self::new(Source::new(fd)?))
    }

    /// On a listening socket that is known to be non-blocking.
    ///
    /// # Errors
    ///
    /// As [`Source::from_nonblocking`].
    pub fn from_nonblocking(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self::new(Source::from_nonblocking(fd)?))
    }

    /// A duplicate with a descriptor of its own.
    ///
    /// # Errors
    ///
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self::new(self.source.try_clone()?))
    }

    /// Waits for a connection, and makes `T` of its non-blocking socket and the peer's address.
    pub fn accept<T>(
        &self,
        patience: Patience<'_>,
        make: impl FnOnce(Source, Option<SocketAddrAny>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.backoff.pause(number_of(&self.source), patience);
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accepted = self.source.io(Direction::Read, patience, |fd| {
            loop {
                match acceptfrom_with(fd, flags) {
                    // It was gone before we got to it; the next one may be there.
                    Err(Errno::CONNABORTED | Errno::PROTO) => {}
                    Err(errno) => return Err(errno),
                    Ok(accepted) => return Ok((accepted, Left::More)),
                }
            }
        });
        match &accepted {
            Ok(_) => self.backoff.fed(),
            Err(error) if is_starvation(error) => self.backoff.starved(),
            Err(_) => {}
        }
        let (fd, address) = accepted?;
        make(Source::from_nonblocking(fd)?, address)
    }

    /// Takes the error that the socket has noted.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(sockopt::socket_error(&self.source)?.err().map(Into::into))
    }
}

impl AsFd for Acceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

/// Whether an error says nothing about the next call: the process or the system is out of something,
/// or the network told of a connection that came to nothing.
pub fn is_transient(error: &io::Error) -> bool {
    let of_the_network = matches!(
        Errno::from_io_error(error),
        Some(
            Errno::NETDOWN
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH
                | Errno::PERM
        )
    );
    of_the_network || is_starvation(error)
}

/// Whether an error says that the process or the system is out of something.
fn is_starvation(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(
        errno,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
    )
}
