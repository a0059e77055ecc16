//! Pipes, after `std::io::pipe`: the same names and meanings, but calls block the fibre.
//!
//! A short read means that the pipe is empty, which saves the read that would find that out. This
//! does not hold if a writer makes the pipe keep packets apart (`O_DIRECT`), nor for a terminal or
//! another foreign descriptor. So only pipes that were made here rely on it.
//!
//! A pipe has no call that writes without SIGPIPE. Processors have the signal blocked, so
//! a fibre that writes to a pipe without readers gets `BrokenPipe` and nothing else; a
//! plain thread gets what the process has chosen, which in Rust programs is the same.

use crate::copy::{CopyFrom, CopyTo, Origin};
use crate::forward::{reads_as_reference, writes_as_reference};
use crate::funnel::{Direction, Left};
use crate::source::Source;
use crate::timeout::Timeout;
use crate::transfer::{left, total, useful};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A pipe: what is written to its second end is read from its first.
///
/// ```
/// use std::io::{Read, Write};
///
/// let (mut reader, mut writer) = fibre::io::pipe()?;
/// let fibre = fibre::spawn(move || {
///     let mut text = String::new();
///     reader.read_to_string(&mut text).map(|_| text)
/// });
/// writer.write_all(b"hello")?;
/// drop(writer);
/// assert_eq!(fibre.join().unwrap()?, "hello");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// The owner of the writing end must not switch it to packets (`O_DIRECT`), unless the reading end
/// is converted, with [`into_std`](PipeReader::into_std) and back.
///
/// # Errors
///
/// When there is no descriptor left.
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
    let reader = PipeReader {
        source: Source::made(reader)?,
        is_ours: true,
    };
    let writer = PipeWriter {
        source: Source::made(writer)?,
    };
    Ok((reader, writer))
}

/// The end that is read from. `&PipeReader` reads, too. At the end of the last writer, reads
/// return 0.
#[derive(Debug)]
pub struct PipeReader {
    /// The descriptor.
    source: Source,
    /// Whether it is of a pipe that was made here: then a short read has emptied it.
    is_ours: bool,
}

/// The end that is written to. `&PipeWriter` writes, too. Up to 4096 bytes (`PIPE_BUF`) are
/// written as one piece; more may be mixed with what others write.
#[derive(Debug)]
pub struct PipeWriter {
    /// The descriptor.
    source: Source,
}

impl PipeReader {
    /// Waits for bytes and takes them as `take` does, which also says how many it wanted.
    fn receive(
        &self,
        mut take: impl FnMut(BorrowedFd<'_>) -> Result<usize, Errno>,
        wanted: usize,
    ) -> io::Result<usize> {
        self.source.io(Direction::Read, Timeout::Endless, |fd| {
            self.source.keep_nonblocking();
            let count = take(fd)?;
            let rest = if self.is_ours {
                left(count, wanted)
            } else {
                Left::More
            };
            Ok((count, rest))
        })
    }

    /// An end on a foreign descriptor.
    fn adopt(source: Source) -> Self {
        let is_ours = false;
        Self { source, is_ours }
    }

    /// On another descriptor of the same end.
    fn twin(&self, source: Source) -> Self {
        Self { source, ..*self }
    }
}

impl PipeWriter {
    /// Waits for room and fills it as `put` does.
    fn send(
        &self,
        mut put: impl FnMut(BorrowedFd<'_>) -> Result<usize, Errno>,
    ) -> io::Result<usize> {
        // A short write fills the pipe, but room for less than a piece is no event: only a
        // refused write says that there will be one.
        self.source.io(Direction::Write, Timeout::Endless, |fd| {
            self.source.keep_nonblocking();
            Ok((put(fd)?, Left::More))
        })
    }

    /// An end on a foreign descriptor.
    fn adopt(source: Source) -> Self {
        Self { source }
    }

    /// On another descriptor of the same end.
    fn twin(&self, source: Source) -> Self {
        Self { source }
    }
}

/// What both ends have in common.
macro_rules! end {
    ($end:ident) => {
        impl $end {
            /// A second handle to the same end, with a descriptor of its own.
            ///
            /// # Errors
            ///
            /// When there is no descriptor left.
            pub fn try_clone(&self) -> io::Result<Self> {
                Ok(self.twin(self.source.try_clone()?))
            }

            /// Makes all calls that wait, and all later ones, fail with
            /// `ConnectionAborted`. The descriptor is closed when this is dropped. Blocks
            /// nothing.
            pub fn close(&self) {
                self.source.close();
            }

            /// The same end for blocking threads; its clones are of that mode, too.
            ///
            /// # Errors
            ///
            /// When it cannot be made blocking.
            pub fn into_std(self) -> io::Result<io::$end> {
                Ok(self.source.into_fd()?.into())
            }
        }

        impl TryFrom<io::$end> for $end {
            type Error = io::Error;

            /// Takes an end over and makes it non-blocking, for all who share it.
            fn try_from(end: io::$end) -> io::Result<Self> {
                OwnedFd::from(end).try_into()
            }
        }

        impl TryFrom<OwnedFd> for $end {
            type Error = io::Error;

            /// Takes an end over and makes it non-blocking, for all who share it.
            fn try_from(fd: OwnedFd) -> io::Result<Self> {
                Source::new(fd).map(Self::adopt)
            }
        }

        impl AsFd for $end {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.source.lend().as_fd()
            }
        }

        impl AsRawFd for $end {
            fn as_raw_fd(&self) -> RawFd {
                self.as_fd().as_raw_fd()
            }
        }
    };
}

end!(PipeReader);
end!(PipeWriter);

impl CopyFrom for PipeReader {
    fn origin(&self) -> Origin<'_> {
        Origin::Stream(&self.source, Timeout::Endless)
    }

    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len();
        self.receive(|fd| rustix::io::read(fd, &mut *buffer), wanted)
    }
}

impl CopyTo for PipeWriter {
    fn destination(&self) -> (&Source, Timeout<'_>) {
        (&self.source, Timeout::Endless)
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(|fd| rustix::io::write(fd, bytes))
    }
}

impl Read for &PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let wanted = buffer.len();
        self.receive(|fd| rustix::io::read(fd, &mut *buffer), wanted)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let Some(window) = useful(buffers) else {
            return Ok(0);
        };
        let buffers = &mut buffers[window];
        let wanted = total(buffers);
        self.receive(|fd| rustix::io::readv(fd, buffers), wanted)
    }
}

reads_as_reference!(PipeReader);

impl Write for &PipeWriter {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        self.send(|fd| rustix::io::write(fd, buffer))
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(window) = useful(buffers) else {
            return Ok(0);
        };
        self.send(|fd| rustix::io::writev(fd, &buffers[window.clone()]))
    }

    /// Does nothing: the pipe's buffer is the kernel's.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

writes_as_reference!(PipeWriter);
