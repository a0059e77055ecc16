//! The types that the kernel can copy bytes between.

use crate::source::Source;
use crate::timeout::Timeout;
use fibre_core::blocking;
use std::fs::File;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};

/// What [`copy`](super::copy) can take bytes from: streams, pipes, files, and references to them.
pub trait CopyFrom {
    /// Where the bytes are.
    #[doc(hidden)]
    fn origin(&self) -> Origin<'_>;

    /// Reads, as `Read` does.
    #[doc(hidden)]
    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// What [`copy`](super::copy) can write bytes to: streams, pipes, and references to them.
pub trait CopyTo {
    /// Where the bytes go, and how long to wait for room.
    #[doc(hidden)]
    fn destination(&self) -> (&Source, Timeout<'_>);

    /// Writes, as `Write` does.
    #[doc(hidden)]
    fn write_some(&self, bytes: &[u8]) -> io::Result<usize>;
}

/// What [`copy_bidirectional`](super::copy_bidirectional) connects: streams of sockets.
pub trait Duplex: CopyFrom + CopyTo {
    /// Ends one direction, or both, as `shutdown` does.
    #[doc(hidden)]
    fn end(&self, how: Shutdown) -> io::Result<()>;
}

/// Where bytes are.
#[derive(Debug)]
pub enum Origin<'a> {
    /// In something that makes one wait for them, for so long.
    Stream(&'a Source, Timeout<'a>),
    /// In a file, from its position on.
    File(BorrowedFd<'a>),
}

impl CopyFrom for File {
    fn origin(&self) -> Origin<'_> {
        Origin::File(self.as_fd())
    }

    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
        blocking(|| (&*self).read(buffer))
    }
}

impl<T: CopyFrom + ?Sized> CopyFrom for &T {
    fn origin(&self) -> Origin<'_> {
        (**self).origin()
    }

    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_some(buffer)
    }
}

impl<T: CopyTo + ?Sized> CopyTo for &T {
    fn destination(&self) -> (&Source, Timeout<'_>) {
        (**self).destination()
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        (**self).write_some(bytes)
    }
}

impl<T: Duplex + ?Sized> Duplex for &T {
    fn end(&self, how: Shutdown) -> io::Result<()> {
        (**self).end(how)
    }
}
