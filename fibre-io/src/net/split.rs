//! The two directions of a stream as two values.
//!
//! `&TcpStream` reads and writes, so two fibres can share one connection without halves. The types
//! of the halves say which fibre reads and which writes. Dropping an owned writing half ends its
//! direction, as tokio's does: the peer reads the end, and the connection lives until both halves
//! are gone.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A stream that can be split.
pub trait Stream {
    /// Ends the writing direction; a failure has no receiver.
    fn end_writing(&self);
}

/// The reading direction, borrowed. See [`TcpStream::split`](super::TcpStream::split).
#[derive(Debug)]
pub struct ReadHalf<'a, S>(&'a S);

/// The writing direction, borrowed. See [`TcpStream::split`](super::TcpStream::split).
#[derive(Debug)]
pub struct WriteHalf<'a, S>(&'a S);

/// The reading direction, owned. See [`TcpStream::into_split`](super::TcpStream::into_split).
///
/// Dropping it ends nothing: the peer can go on writing, until the other half is dropped, too.
#[derive(Debug)]
pub struct OwnedReadHalf<S>(Arc<S>);

/// The writing direction, owned. See [`TcpStream::into_split`](super::TcpStream::into_split).
///
/// Dropping it ends the direction, as `shutdown(Shutdown::Write)` does; see
/// [`forget`](Self::forget).
#[derive(Debug)]
pub struct OwnedWriteHalf<S: Stream>(Arc<S>);

/// The error of two halves that belong to different streams; it holds both.
#[derive(Debug)]
pub struct ReuniteError<S: Stream>(pub OwnedReadHalf<S>, pub OwnedWriteHalf<S>);

/// The halves of a borrowed stream.
pub(super) fn borrow<S>(stream: &S) -> (ReadHalf<'_, S>, WriteHalf<'_, S>) {
    (ReadHalf(stream), WriteHalf(stream))
}

/// The halves of a stream.
pub(super) fn own<S: Stream>(stream: S) -> (OwnedReadHalf<S>, OwnedWriteHalf<S>) {
    let stream = Arc::new(stream);
    (OwnedReadHalf(Arc::clone(&stream)), OwnedWriteHalf(stream))
}

impl<S: Stream> OwnedReadHalf<S> {
    /// Joins the halves into one stream again, without ending anything.
    ///
    /// # Errors
    ///
    /// If the halves belong to different streams; they are given back.
    pub fn reunite(self, writer: OwnedWriteHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.0, &writer.0) {
            return Err(ReuniteError(self, writer));
        }
        writer.forget();
        match Arc::try_unwrap(self.0) {
            Ok(stream) => Ok(stream),
            Err(_) => unreachable!("a stream has two halves, and both are here"),
        }
    }
}

impl<S: Stream> OwnedWriteHalf<S> {
    /// Drops the half without ending its direction.
    pub fn forget(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: read once, and `this` is never dropped.
        drop(unsafe { std::ptr::read(&raw const this.0) });
    }
}

impl<S: Stream> Drop for OwnedWriteHalf<S> {
    fn drop(&mut self) {
        self.0.end_writing();
    }
}

impl<S: Stream> fmt::Display for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves belong to different streams")
    }
}

impl<S: Stream + fmt::Debug> std::error::Error for ReuniteError<S> {}

impl<S> AsRef<S> for ReadHalf<'_, S> {
    /// The stream, for its addresses and options.
    fn as_ref(&self) -> &S {
        self.0
    }
}

impl<S> AsRef<S> for WriteHalf<'_, S> {
    /// The stream, for its addresses and options.
    fn as_ref(&self) -> &S {
        self.0
    }
}

impl<S> AsRef<S> for OwnedReadHalf<S> {
    /// The stream, for its addresses and options.
    fn as_ref(&self) -> &S {
        &self.0
    }
}

impl<S: Stream> AsRef<S> for OwnedWriteHalf<S> {
    /// The stream, for its addresses and options.
    fn as_ref(&self) -> &S {
        &self.0
    }
}

/// Reading through a half.
macro_rules! reads {
    ($half:ty $(, $lifetime:lifetime)?) => {
        impl<$($lifetime,)? S> Read for $half
        where
            for<'s> &'s S: Read,
        {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                (&*self.0).read(buffer)
            }

            fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                (&*self.0).read_vectored(buffers)
            }
        }
    };
}

/// Writing through a half.
macro_rules! writes {
    ($half:ty $(, $lifetime:lifetime)?) => {
        impl<$($lifetime,)? S: Stream> Write for $half
        where
            for<'s> &'s S: Write,
        {
            fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
                (&*self.0).write(buffer)
            }

            fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
                (&*self.0).write_vectored(buffers)
            }

            fn flush(&mut self) -> io::Result<()> {
                (&*self.0).flush()
            }
        }
    };
}

reads!(ReadHalf<'a, S>, 'a);
reads!(OwnedReadHalf<S>);
writes!(WriteHalf<'a, S>, 'a);
writes!(OwnedWriteHalf<S>);
