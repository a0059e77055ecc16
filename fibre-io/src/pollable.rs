//! Any descriptor that a fibre can wait for: timers, event counters, terminals, watches of
//! directories, sockets of other libraries.

use crate::forward::{reads_as_reference, writes_as_reference};
use crate::funnel::{Direction, Left};
use crate::poll::{PollFd, Readiness, poll, poll_timeout, poll_until};
use crate::source::{PassOn, Source, closed};
use crate::timeout::Timeout;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

/// A holder of a descriptor, with calls that block the fibre instead of the thread.
///
/// It owns the value it is made of, or borrows it: a reference and a [`BorrowedFd`] have a
/// descriptor, too. The descriptor becomes non-blocking for everybody who shares its open file,
/// even other processes (a terminal). [`into_inner`](Self::into_inner) makes it blocking again.
///
/// ```
/// use fibre::io::Pollable;
/// use rustix::event::{EventfdFlags, eventfd};
///
/// let counter = Pollable::new(eventfd(0, EventfdFlags::CLOEXEC)?)?;
/// let mut count = [0; 8];
/// std::thread::scope(|scope| {
///     scope.spawn(|| rustix::io::write(&counter, &7_u64.to_ne_bytes()));
///     counter.read_with(|fd| Ok(rustix::io::read(fd, &mut count)?))
/// })?;
/// assert_eq!(u64::from_ne_bytes(count), 7);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Pollable<T: AsFd> {
    /// The descriptor's holder, with its slot.
    source: Source<T>,
    /// Whether the descriptor was blocking before.
    was_blocking: bool,
}

impl<T: AsFd> Pollable<T> {
    /// Takes over a value that has a descriptor, and always the same one. Blocks nothing.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a file or directory, which block the thread instead of reporting
    /// readiness: use [`blocking`](fibre_core::blocking) for these. `AlreadyExists` if another
    /// object of this runtime has the descriptor. Those of `fcntl`.
    pub fn new(inner: T) -> io::Result<Self> {
        match FileType::from_raw_mode(fstat(&inner)?.st_mode) {
            FileType::RegularFile | FileType::Directory | FileType::BlockDevice => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "files block the thread and cannot be waited for: use fibre::fs or fibre::blocking",
                ));
            }
            _ => {}
        }
        let source = Source::sole(inner)?;
        let flags = fcntl_getfl(&source)?;
        let was_blocking = !flags.contains(OFlags::NONBLOCK);
        if was_blocking {
            fcntl_setfl(&source, flags | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            source,
            was_blocking,
        })
    }

    /// The value it is made of.
    #[must_use]
    pub fn get_ref(&self) -> &T {
        self.source.get_ref()
    }

    /// Gives back the value it is made of; its descriptor is blocking again, if it was before.
    ///
    /// # Errors
    ///
    /// Those of `fcntl`.
    pub fn into_inner(self) -> io::Result<T> {
        if self.was_blocking {
            let flags = fcntl_getfl(&self.source)?;
            fcntl_setfl(&self.source, flags - OFlags::NONBLOCK)?;
        }
        Ok(self.source.release())
    }

    /// Calls `operation` until it does not fail with `WouldBlock` (or `Interrupted`), and waits
    /// between two tries until there may be something to read. Blocks the fibre, or the thread if
    /// the caller is not a fibre; `operation` must not.
    ///
    /// `operation` gets the value that this is made of. It is not called while the gate knows that
    /// there is nothing to read.
    ///
    /// # Errors
    ///
    /// Those of `operation`; `ConnectionAborted` after [`close`](Self::close); `ECANCELED` if the
    /// fibre is cancelled before the call or while it waits.
    pub fn read_with<R>(&self, operation: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.io(Direction::Read, operation)
    }

    /// [`read_with`](Self::read_with) for the other direction: waits until there may be room to
    /// write.
    ///
    /// # Errors
    ///
    /// As for reading.
    pub fn write_with<R>(&self, operation: impl FnMut(&T) -> io::Result<R>) -> io::Result<R> {
        self.io(Direction::Write, operation)
    }

    /// The common part of reading and writing.
    fn io<R>(
        &self,
        direction: Direction,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let inner = self.source.get_ref();
        // Not all kinds of descriptors tell what is left: always try once more.
        self.source.io(direction, Timeout::Endless, |_| {
            self.source.keep_nonblocking();
            let unwound = PassOn(&self.source, direction);
            let done = operation(inner);
            std::mem::forget(unwound);
            match done {
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => Err(Errno::AGAIN),
                    io::ErrorKind::Interrupted => Err(Errno::INTR),
                    _ => Ok((Err(error), Left::More)),
                },
                done => Ok((done, Left::More)),
            }
        })?
    }

    /// Waits until there is something to read, which may be gone when the caller tries. Blocks the
    /// fibre (or thread).
    ///
    /// # Errors
    ///
    /// As [`poll`]'s; `ConnectionAborted` after [`close`](Self::close).
    pub fn readable(&self) -> io::Result<()> {
        self.ready(Readiness::READ)
    }

    /// Waits until there is room to write, as [`readable`](Self::readable) does for reading.
    ///
    /// # Errors
    ///
    /// As for [`readable`](Self::readable).
    pub fn writable(&self) -> io::Result<()> {
        self.ready(Readiness::WRITE)
    }

    /// Waits until a condition of `interest` holds, or there is an error. Blocks the fibre (or
    /// thread).
    fn ready(&self, interest: Readiness) -> io::Result<()> {
        let mut this = [PollFd::new(self, interest)];
        poll(&mut this)?;
        unless_closed(this[0].readiness()).map(drop)
    }

    /// Waits until a condition of `interest` holds, or there is an error, but for `timeout` at
    /// most; returns the conditions that hold. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// As for [`readable`](Self::readable).
    pub fn ready_timeout(&self, interest: Readiness, timeout: Duration) -> io::Result<Readiness> {
        let mut this = [PollFd::new(self, interest)];
        poll_timeout(&mut this, timeout)?;
        unless_closed(this[0].readiness())
    }

    /// [`ready_timeout`](Self::ready_timeout) with a deadline; a past one looks once.
    ///
    /// # Errors
    ///
    /// As for [`readable`](Self::readable).
    pub fn ready_until(&self, interest: Readiness, deadline: Instant) -> io::Result<Readiness> {
        let mut this = [PollFd::new(self, interest)];
        poll_until(&mut this, deadline)?;
        unless_closed(this[0].readiness())
    }

    /// Makes all waiting and all later calls fail with `ConnectionAborted`. The descriptor is
    /// closed when this is dropped. Blocks nothing.
    pub fn close(&self) {
        self.source.close();
    }
}

/// Turns the conditions that a call found into its result: an error if the object was closed.
fn unless_closed(readiness: Readiness) -> io::Result<Readiness> {
    if readiness.contains(Readiness::INVALID) {
        Err(closed())
    } else {
        Ok(readiness)
    }
}

impl<T: AsFd> AsFd for Pollable<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }
}

impl<T: AsFd> AsRawFd for Pollable<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl<T: AsFd> Read for &Pollable<T>
where
    for<'a> &'a T: Read,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_with(|mut inner| inner.read(buffer))
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.read_with(|mut inner| inner.read_vectored(buffers))
    }
}

reads_as_reference!(Pollable<T> where [T: AsFd] for<'a> &'a T: Read);

impl<T: AsFd> Write for &Pollable<T>
where
    for<'a> &'a T: Write,
{
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_with(|mut inner| inner.write(buffer))
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write_with(|mut inner| inner.write_vectored(buffers))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_with(|mut inner| inner.flush())
    }
}

writes_as_reference!(Pollable<T> where [T: AsFd] for<'a> &'a T: Write);
