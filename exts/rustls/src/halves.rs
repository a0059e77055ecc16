//! The halves of a stream, for two fibres.

use crate::engine::Engine;
use crate::transport::Transport;
use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

/// The half of a [`TlsStream`](crate::TlsStream) that reads. Dropping it tells the peer nothing.
pub struct ReadHalf<S>(pub(crate) Arc<Engine<S>>);

/// The half of a [`TlsStream`](crate::TlsStream) that writes. Dropping it does not end the
/// direction: [`shutdown`](Self::shutdown) does.
pub struct WriteHalf<S>(pub(crate) Arc<Engine<S>>);

/// Two halves that are not of one stream.
pub struct NotOneStream<S>(
    /// The one that reads.
    pub ReadHalf<S>,
    /// The one that writes.
    pub WriteHalf<S>,
);

impl<S: Transport> ReadHalf<S> {
    /// The stream below.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        self.0.transport()
    }
}

impl<S: Transport> WriteHalf<S> {
    /// The stream below.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        self.0.transport()
    }

    /// Sends what was written, tells the peer that nothing more comes, and ends the direction.
    /// Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// Those of the stream below.
    pub fn shutdown(&self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }
}

impl<S: Transport> Read for ReadHalf<S> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        self.0.read(text)
    }
}

impl<S: Transport> Write for WriteHalf<S> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.write(&[IoSlice::new(text)])
    }

    fn write_vectored(&mut self, texts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write(texts)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S> fmt::Debug for ReadHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadHalf").finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for WriteHalf<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteHalf").finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for NotOneStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotOneStream")
    }
}

impl<S> fmt::Display for NotOneStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves are of two streams")
    }
}

impl<S> std::error::Error for NotOneStream<S> {}
