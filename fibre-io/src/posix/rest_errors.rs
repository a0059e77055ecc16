//! What a call looks at before it goes on with the rest of its work.
//!
//! A system call that has moved a part and then finds an error says how much it has moved, and
//! leaves the error to the next one, to `SO_ERROR`, to `poll` and to duplicates. Where a call of
//! ours is several system calls to the kernel, the one that finds an error takes it away from all
//! of these. So before each but the first our call looks whether there is one. If so, it ends with
//! what it has moved, and the error stays where it is. (The system call takes an error that comes
//! between the look and it, and only the count tells of it.)

use crate::posix::switching::borrow;
use crate::raw::look;
use crate::readiness::Readiness;
use rustix::io::{Errno, ioctl_fionread};
use std::ffi::c_int;

/// Whether an error waits to be told.
///
/// # Errors
///
/// `EBADF` if there is no such descriptor.
pub fn has_error(fd: c_int) -> Result<bool, Errno> {
    Ok(look(borrow(fd), Readiness::NONE)?.contains(Readiness::ERROR))
}

/// Whether an error has ended a stream. What else is told as one are messages about what was sent
/// (`MSG_ERRQUEUE`); it goes on after them.
///
/// # Errors
///
/// As [`has_error`].
pub fn has_broken(fd: c_int) -> Result<bool, Errno> {
    Ok(look(borrow(fd), Readiness::NONE)?.contains(Readiness::ERROR | Readiness::HANGUP))
}

/// Whether an error is all that a stream has for its reader: what came before it is read first.
///
/// # Errors
///
/// As [`has_error`].
pub fn is_at_error(fd: c_int) -> Result<bool, Errno> {
    Ok(has_broken(fd)? && ioctl_fionread(borrow(fd)).unwrap_or(0) == 0)
}
