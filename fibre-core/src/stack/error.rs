//! Why there is no stack.

use rustix::io::Errno;
use std::io;

/// Why there is no stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackError {
    /// The kernel refused memory, with this error, as in [`io::Error::raw_os_error`].
    NoMemory(i32),
    /// Guards by `mprotect` have used up the mappings a process may have; more of
    /// them would make other people's allocations fail.
    MapLimit(usize),
    /// The C library could not make a thread, with this error, so the stack has no thread-locals.
    NoThread(i32),
}

impl StackError {
    /// The kernel refused memory.
    pub(super) const fn no_memory(errno: Errno) -> Self {
        Self::NoMemory(errno.raw_os_error())
    }

    /// The C library could not make a thread.
    pub(super) const fn no_thread(errno: Errno) -> Self {
        Self::NoThread(errno.raw_os_error())
    }
}

impl std::fmt::Display for StackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoMemory(errno) => {
                let errno = io::Error::from_raw_os_error(*errno);
                write!(f, "no memory for a fibre's stack: {errno}")
            }
            Self::MapLimit(limit) => write!(
                f,
                "no stack: its guard would exceed this process' share of vm.max_map_count ({limit})"
            ),
            Self::NoThread(errno) => {
                let errno = io::Error::from_raw_os_error(*errno);
                write!(
                    f,
                    "the C library could not start a thread for a fibre's stack: {errno}"
                )
            }
        }
    }
}

impl std::error::Error for StackError {}

impl From<StackError> for io::Error {
    fn from(error: StackError) -> Self {
        Self::new(io::ErrorKind::OutOfMemory, error)
    }
}
