//! When a library's calls let other fibres run.
//!
//! The C library is for programs that were compiled for fibres: its calls let others run now and
//! then, and make calls on files elsewhere. `fibre-libc` replaces the system's library under code
//! that does not know of fibres, and that may hold something of its kernel thread during a call. So
//! there a call leaves the stack only if it would block.

use crate::posix::quick::make_here;
use crate::posix::syscall::Syscall;
use crate::raw::{Call, Direction, Failure, Wish, look};
use crate::readiness::Readiness;
use fibre_core::internal::yield_point_cancellable;
use rustix::io::Errno;
use std::os::fd::{BorrowedFd, RawFd};

/// When calls let other fibres run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switching {
    /// Even when they would not block.
    Freely,
    /// Only when they would block.
    OnlyToWait,
}

impl Switching {
    /// A call on a descriptor that has done nothing yet.
    ///
    /// # Errors
    ///
    /// As [`Call::new`].
    #[inline]
    pub fn call(
        self,
        fd: BorrowedFd<'_>,
        direction: Direction,
        wish: Wish,
    ) -> Result<Call<'_>, Errno> {
        let call = Call::new(fd, direction, wish)?;
        Ok(match self {
            Self::Freely => call,
            Self::OnlyToWait => call.trying_first(),
        })
    }

    /// What a call begins with that then looks whether it has to wait.
    ///
    /// # Errors
    ///
    /// If the fibre has been cancelled, and the call notices that here.
    #[inline]
    pub fn begin(self) -> Result<(), Failure> {
        if self == Self::Freely {
            yield_point_cancellable()?;
        }
        Ok(())
    }

    /// Makes a call that ends in a foreseeable time, such as a call on a file.
    ///
    /// # Errors
    ///
    /// Those of the call; if the fibre has been cancelled, and the call leaves the stack.
    pub fn make_bounded(self, call: Syscall) -> Result<usize, Failure> {
        match self {
            Self::Freely => call.elsewhere(),
            Self::OnlyToWait => Ok(call.here()?),
        }
    }

    /// Makes a call on a file that moves so many bytes: here, if it can be expected to be quick.
    ///
    /// # Errors
    ///
    /// As [`make_bounded`](Self::make_bounded).
    pub fn make_on_file(self, fd: RawFd, bytes: usize, call: Syscall) -> Result<usize, Failure> {
        if self == Self::OnlyToWait {
            return Ok(call.here()?);
        }
        yield_point_cancellable()?;
        match make_here(borrow(fd), bytes, call) {
            Some(done) => Ok(done?),
            None => call.elsewhere(),
        }
    }

    /// Makes a call on a descriptor, its first argument, that has no form of the call without a
    /// wait.
    ///
    /// # Errors
    ///
    /// As [`Syscall::when_ready`].
    pub fn make_when_ready(
        self,
        made: Syscall,
        interest: Readiness,
        call: &mut Call<'_>,
    ) -> Result<usize, Failure> {
        match self {
            Self::Freely => made.when_ready(interest, call),
            // It is ready, so it does not block, unless another reader is faster.
            Self::OnlyToWait if !look(call.fd(), interest)?.is_empty() => Ok(made.here()?),
            Self::OnlyToWait => made.when_ready(interest, call),
        }
    }
}

/// A number as a descriptor. It is no negative one.
#[inline(always)]
#[must_use]
pub fn borrow(fd: RawFd) -> BorrowedFd<'static> {
    debug_assert!(fd >= 0, "negative numbers are no descriptors");
    // SAFETY: the number is passed to the kernel only, which refuses those that are not open. That
    // others close or reopen it meanwhile is between them and the program, see `crate::raw`.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// The descriptor that a system call has returned.
#[inline(always)]
#[must_use]
pub fn opened(word: usize) -> BorrowedFd<'static> {
    // Descriptors fit.
    borrow(word as RawFd)
}
