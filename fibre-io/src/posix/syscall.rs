//! A system call with its arguments, as a program has made it. A plain thread makes it as it is; if
//! it may block its thread, a pool thread makes it.

use crate::posix::worker::until_cancelled;
use crate::raw::{Call, Failure, patiently};
use crate::readiness::Readiness;
use fibre_core::internal::syscall as call_kernel;
use fibre_core::{blocking, cancellation_point};
use rustix::io::Errno;
use std::ffi::c_long;
use std::os::fd::{AsRawFd, RawFd};

/// A system call. The memory that its arguments point to stays valid while the program's call
/// lasts.
#[derive(Debug, Clone, Copy)]
pub struct Syscall {
    /// The kernel's number for the call.
    number: c_long,
    /// What it takes.
    arguments: [usize; 6],
}

/// A [`Syscall`] with up to six arguments, integers and pointers alike.
#[doc(hidden)]
#[macro_export]
macro_rules! __posix_syscall {
    ($number:ident $(, $argument:expr)* $(,)?) => {
        $crate::posix::syscall::Syscall::new(
            libc::$number,
            &[$($crate::posix::syscall::Argument::word($argument)),*],
        )
    };
}
pub use crate::__posix_syscall as syscall;

impl Syscall {
    /// What `syscall!` makes.
    #[inline(always)]
    pub fn new(number: c_long, given: &[usize]) -> Self {
        let mut arguments = [0; 6];
        arguments[..given.len()].copy_from_slice(given);
        Self { number, arguments }
    }

    /// The same call with another argument in this place.
    #[inline(always)]
    pub fn with(mut self, place: usize, argument: impl Argument) -> Self {
        self.arguments[place] = argument.word();
        self
    }

    /// Another system call with the same arguments.
    pub fn of_kind(self, number: c_long) -> Self {
        Self { number, ..self }
    }

    /// Makes the call here. Blocks the thread if the call does.
    #[inline(always)]
    pub fn here(self) -> Result<usize, Errno> {
        // SAFETY: the arguments are what the program has passed, or lie in frames of the caller
        // that outlive the call.
        unsafe { call_kernel(self.number, self.arguments) }
    }

    /// Makes the call until no signal ends it.
    pub fn endure(self) -> Result<usize, Errno> {
        loop {
            match self.here() {
                Err(Errno::INTR) => {}
                done => return done,
            }
        }
    }

    /// Makes the call on another thread. For calls that end in a foreseeable time, such as those on
    /// files. Blocks the fibre.
    pub fn elsewhere(self) -> Result<usize, Failure> {
        cancellation_point()?;
        Ok(blocking(|| self.endure())?)
    }

    /// [`elsewhere`](Self::elsewhere) for calls that wait for others.
    pub fn patiently(self) -> Result<usize, Failure> {
        cancellation_point()?;
        Ok(patiently(|| self.endure())?)
    }

    /// The same, but cancellation of the fibre ends the wait. A call that has done its work by then
    /// has succeeded.
    pub fn until_cancelled(self) -> Result<usize, Failure> {
        cancellation_point()?;
        let call = || match self.here() {
            Err(Errno::INTR) => None,
            done => Some(done),
        };
        Ok(until_cancelled(call, || None).ok_or(Failure::Cancelled)??)
    }

    /// The same for a call on a descriptor, its first argument, after that is said to be ready;
    /// `EBADF` if it is closed before. One that does not wait is made here.
    #[cold]
    pub fn when_ready(self, interest: Readiness, call: &mut Call<'_>) -> Result<usize, Failure> {
        if !call.waits()? {
            return Ok(self.here()?);
        }
        call.until_ready(interest)?;
        cancellation_point()?;
        Ok(call.elsewhere(|fd| self.with(0, fd.as_raw_fd()).endure())?)
    }
}

/// What a system call takes.
pub trait Argument {
    /// The argument as it is passed.
    fn word(self) -> usize;
}

/// Integers; signed ones keep their signs.
macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Argument for $integer {
            #[inline(always)]
            fn word(self) -> usize {
                self as usize
            }
        }
    )*};
}
integers!(usize, RawFd, u32, i64);

impl<T> Argument for *const T {
    #[inline(always)]
    fn word(self) -> usize {
        self.addr()
    }
}

impl<T> Argument for *mut T {
    #[inline(always)]
    fn word(self) -> usize {
        self.addr()
    }
}
