//! A connection, as hyper reads and writes it.

use fibre_io::net::{AsyncStream, Connection};
use hyper::rt::{Read, ReadBufCursor, Write};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A connection that hyper reads and writes. See [`AsyncStream`].
#[derive(Debug)]
pub struct FibreIo<S: Connection>(AsyncStream<S>);

impl<S: Connection> FibreIo<S> {
    /// Takes a connection over. Blocks nothing.
    #[must_use]
    pub fn new(stream: S) -> Self {
        Self(AsyncStream::new(stream))
    }

    /// The connection.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        self.0.get_ref()
    }

    /// Gives the connection back, after an upgrade of the protocol say.
    #[must_use]
    pub fn into_inner(self) -> S {
        self.0.into_inner()
    }
}

impl<S: Connection + Unpin> Read for FibreIo<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: what has been initialised stays so: the kernel only writes.
        let room = unsafe { buffer.as_mut() };
        let Poll::Ready(read) = self.get_mut().0.poll_read_uninit(context, room) else {
            return Poll::Pending;
        };
        // SAFETY: so many bytes at the beginning have been initialised.
        read.map(|count| unsafe { buffer.advance(count) }).into()
    }
}

impl<S: Connection + Unpin> Write for FibreIo<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().0.poll_write(context, buffer)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().0.shut_down())
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().0.poll_write_vectored(context, buffers)
    }
}
