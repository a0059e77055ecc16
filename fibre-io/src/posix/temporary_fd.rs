//! Descriptors that a call of the program's has for as long as it waits.
//!
//! The program does not know of them. So it may close one (programs close descriptors that they do
//! not know), and then the number belongs to another descriptor: the waiting call gets `EBADF`, and
//! does not touch the number any more.

use crate::raw::{Failure, Known, close, made, wait};
use crate::readiness::Readiness;
use fibre_core::internal::syscall;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::Instant;

/// A descriptor that becomes readable, and is closed with this.
#[derive(Debug)]
pub struct TemporaryFd(Option<OwnedFd>);

impl TemporaryFd {
    /// A descriptor that becomes readable when a process ends.
    ///
    /// # Errors
    ///
    /// Those of `pidfd_open`.
    pub fn of_process(pid: i32) -> Result<Self, Errno> {
        let pid = Pid::from_raw(pid).ok_or(Errno::INVAL)?;
        pidfd_open(pid, PidfdFlags::empty()).map(Self::new)
    }

    /// A descriptor that is readable while one of these signals, a bit each, is pending.
    ///
    /// # Errors
    ///
    /// Those of `signalfd`.
    pub fn of_signals(signals: u64) -> Result<Self, Errno> {
        signalfd(signals).map(Self::new)
    }

    /// Owns a descriptor.
    fn new(fd: OwnedFd) -> Self {
        made(fd.as_fd(), Known::NOTHING);
        Self(Some(fd))
    }

    /// Waits until the descriptor is readable, or for the deadline. Blocks the fibre.
    ///
    /// # Errors
    ///
    /// Those of [`wait`]; `EBADF` if the program has closed the number.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        let fd = self.0.as_ref().ok_or(Errno::BADF)?;
        let waited = wait(fd.as_fd(), Readiness::READ, deadline).map(drop);
        if waited == Err(Errno::BADF.into()) {
            self.0.take().map(IntoRawFd::into_raw_fd);
        }
        waited
    }
}

impl Drop for TemporaryFd {
    fn drop(&mut self) {
        if let Some(fd) = self.0.take() {
            let number = fd.as_raw_fd();
            let close_it = || {
                drop(fd);
                Ok(())
            };
            // SAFETY: the descriptor is open, and no other code has its number.
            let _ = unsafe { close(number, close_it) };
        }
    }
}

/// A new descriptor of pending signals, a bit each.
///
/// # Errors
///
/// Those of `signalfd`.
pub fn signalfd(signals: u64) -> Result<OwnedFd, Errno> {
    let flags = (libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) as usize;
    let mask = (&raw const signals).expose_provenance();
    let arguments = [usize::MAX, mask, size_of_val(&signals), flags, 0, 0];
    // SAFETY: the call reads the mask, and makes a descriptor that is the caller's.
    unsafe {
        let fd = syscall(libc::SYS_signalfd4, arguments)?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}
