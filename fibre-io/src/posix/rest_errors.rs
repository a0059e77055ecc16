//! What a call checks before it continues a partly done job.
//!
//! If a system call has moved a part and then finds an error, it returns how much it has moved, and
//! leaves the error to the next one, to `SO_ERROR`, to `poll` and to duplicates. If one of our
//! calls makes several system calls, the one that finds an error takes it away from all of these.
//! So before each system call except the first, our call checks for an error. If there is one, the
//! call returns how much it has moved, and the error stays. (If an error comes between the check
//! and the system call, the latter takes it, and only the count shows it.)

use crate::posix::switching::borrow;
use crate::raw::look;
use crate::readiness::Readiness;
use rustix::io::{Errno, ioctl_fionread};
use std::ffi::c_int;

/// Whether an error is pending.
///
/// # Errors
///
/// `EBADF` if there is no such descriptor.
pub fn has_error(fd: c_int) -> Result<bool, Errno> {
    Ok(look(borrow(fd), Readiness::NONE)?.contains(Readiness::ERROR))
}

/// Whether an error has ended a stream. Messages about sent data (`MSG_ERRQUEUE`) are reported in
/// the same way; the stream goes on after them.
///
/// # Errors
///
/// As [`has_error`].
pub fn has_broken(fd: c_int) -> Result<bool, Errno> {
    Ok(look(borrow(fd), Readiness::NONE)?.contains(Readiness::ERROR | Readiness::HANGUP))
}

/// Whether a stream has only an error for its reader: earlier data is read first.
///
/// # Errors
///
/// As [`has_error`].
pub fn is_at_error(fd: c_int) -> Result<bool, Errno> {
    Ok(has_broken(fd)? && ioctl_fionread(borrow(fd)).unwrap_or(0) == 0)
}
