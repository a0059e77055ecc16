//! A call as the program has made it, for where it may block its thread: on a plain thread, or on
//! one of a pool.

use super::system::{Argument, call_kernel};
use crate::worker::until_cancelled;
use fibre_core::{blocking, cancellation_point, in_fibre};
use fibre_io::poll::Readiness;
use fibre_io::raw::{Call, Failure, patiently};
use rustix::io::Errno;
use std::ffi::c_long;
use std::os::fd::{AsRawFd, RawFd};

/// A system call with its arguments, which stay valid while the program's call lasts.
#[derive(Debug, Clone, Copy)]
pub struct Plain {
    /// The number of the call.
    pub number: c_long,
    /// What it takes.
    pub arguments: [usize; 6],
}

/// A [`Plain`] call of up to six arguments.
macro_rules! plain {
    ($number:ident $(, $argument:expr)* $(,)?) => {{
        let given: &[usize] = &[$($crate::io::system::Argument::word($argument)),*];
        let mut arguments = [0; 6];
        arguments[..given.len()].copy_from_slice(given);
        $crate::io::plain::Plain { number: libc::$number, arguments }
    }};
}
pub(crate) use plain;

impl Plain {
    /// Makes the call here. Blocks the thread.
    pub fn here(self) -> Result<usize, Errno> {
        // SAFETY: what the program has passed.
        unsafe { call_kernel(self.number, self.arguments) }
    }

    /// Makes the call on another thread, where signals do not end it. Blocks the fibre. For calls
    /// that end in a foreseeable time, such as those on files.
    pub fn elsewhere(self) -> Result<usize, Failure> {
        cancellation_point()?;
        Ok(blocking(|| self.endure())?)
    }

    /// [`elsewhere`](Self::elsewhere) for calls that wait for what others do.
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
        let done = until_cancelled(call, || None);
        Ok(done.ok_or(Failure::Cancelled)??)
    }

    /// The same for a call whose first argument is a descriptor, after it is said to be ready; if
    /// that is closed before, `EBADF`. One that does not wait is made here.
    #[cold]
    pub fn when_ready(self, interest: Readiness, call: &mut Call<'_>) -> Result<usize, Failure> {
        if !call.waits()? {
            return Ok(self.here()?);
        }
        call.until_ready(interest)?;
        cancellation_point()?;
        Ok(call.elsewhere(|fd| self.of(fd.as_raw_fd()).endure())?)
    }

    /// The same call on another descriptor.
    fn of(mut self, fd: RawFd) -> Self {
        self.arguments[0] = fd.word();
        self
    }

    /// Makes a call that waits for what others do: of a fibre [until it is
    /// cancelled](Self::until_cancelled), else here.
    pub fn await_others(self) -> Result<usize, Failure> {
        if in_fibre() {
            self.until_cancelled()
        } else {
            Ok(self.here()?)
        }
    }

    /// Makes a call that waits for files, and is no cancellation point: of a fibre on another
    /// thread, else here.
    pub fn await_file(self) -> Result<usize, Errno> {
        if in_fibre() {
            blocking(|| self.endure())
        } else {
            self.here()
        }
    }

    /// Makes the call until no signal ends it.
    fn endure(self) -> Result<usize, Errno> {
        loop {
            match self.here() {
                Err(Errno::INTR) => {}
                done => return done,
            }
        }
    }
}
