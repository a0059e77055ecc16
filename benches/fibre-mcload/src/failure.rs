//! Why a connection is given up.

use std::io;

/// Why a connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nobody listens.
    Refused,
    /// The server has closed it.
    Closed,
    /// The server, or the network, has broken it.
    Reset,
    /// An answer was overdue.
    TimedOut,
    /// What came was no answer.
    Nonsense,
    /// This machine has no more descriptors or addresses.
    Exhausted,
    /// Something else.
    Other,
}

impl Failure {
    /// The failure in a word or two.
    #[must_use]
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::TimedOut => "timed out",
            Self::Nonsense => "nonsense",
            Self::Exhausted => "exhausted",
            Self::Other => "other",
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::UnexpectedEof => Self::Closed,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Reset,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::AddrNotAvailable => Self::Exhausted,
            _ => match rustix::io::Errno::from_io_error(&error) {
                Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => Self::Exhausted,
                _ => Self::Other,
            },
        }
    }
}
