//! A TLS stream as programs hold it.

use crate::engine::Engine;
use crate::halves::{NotOneStream, ReadHalf, WriteHalf};
use crate::transport::Transport;
use rustls::Connection;
use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

/// A stream that is encrypted on its way. See the [crate] for how it ends, and for what may
/// go on at the same time.
///
/// [`TlsConnector::connect`](crate::TlsConnector::connect) and
/// [`TlsAcceptor::accept`](crate::TlsAcceptor::accept) make one. A reference reads and writes, too.
pub struct TlsStream<S>(pub(crate) Arc<Engine<S>>);

impl<S: Transport> TlsStream<S> {
    /// The stream below: for its time-outs and addresses. What is read or written there breaks TLS.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        self.0.transport()
    }

    /// Gives the stream below back, and drops what TLS has received of the peer and not handed out.
    ///
    /// # Errors
    ///
    /// The stream, while a half of it is alive.
    pub fn into_inner(self) -> Result<S, Self> {
        match Arc::try_unwrap(self.0) {
            Ok(engine) => Ok(engine.into_transport()),
            Err(shared) => Err(Self(shared)),
        }
    }

    /// Calls `f` with rustls' connection, which knows the peer's certificates, the protocol that
    /// was agreed on (ALPN), the version, the cipher. `f` must not wait: both directions may need
    /// the connection.
    pub fn with_connection<R>(&self, f: impl FnOnce(&Connection) -> R) -> R {
        f(&self.0.connection())
    }

    /// The application's protocol that was agreed on, if any: `h2`, say.
    #[must_use]
    pub fn alpn_protocol(&self) -> Option<Vec<u8>> {
        self.with_connection(|connection| connection.alpn_protocol().map(<[u8]>::to_vec))
    }

    /// Ends one direction, or both.
    ///
    /// * `Write`: sends what was written, tells the peer that nothing more comes (`close_notify`),
    ///   and ends the stream's direction. Blocks the fibre (or thread). Later writes fail.
    /// * `Read`: ends the stream's direction. A read that waits fails with `UnexpectedEof`.
    /// * `Both`: both, to break off what goes on. It does not wait for a writer; if one waits for
    ///   the peer, that is not told anything.
    ///
    /// # Errors
    ///
    /// Those of the stream below.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.shutdown(how)
    }

    /// Splits the stream into a half that reads and one that writes, for two fibres.
    ///
    /// ```no_run
    /// # fn split(stream: fibre_rustls::TlsStream<fibre::net::TcpStream>) {
    /// use std::io::{Read, Write};
    ///
    /// let (mut reader, mut writer) = stream.split();
    /// fibre::spawn(move || {
    ///     for tick in 0..10 {
    ///         writeln!(writer, "tick {tick}")?;
    ///         fibre::sleep(std::time::Duration::from_secs(1));
    ///     }
    ///     writer.shutdown()
    /// });
    /// let mut said = String::new();
    /// let _ = reader.read_to_string(&mut said);
    /// # }
    /// ```
    #[must_use]
    pub fn split(self) -> (ReadHalf<S>, WriteHalf<S>) {
        (ReadHalf(Arc::clone(&self.0)), WriteHalf(self.0))
    }
}

impl<S: Transport> ReadHalf<S> {
    /// Puts the halves of one stream together again.
    ///
    /// # Errors
    ///
    /// Both, if they are of two streams.
    pub fn reunite(self, writer: WriteHalf<S>) -> Result<TlsStream<S>, NotOneStream<S>> {
        if Arc::ptr_eq(&self.0, &writer.0) {
            Ok(TlsStream(self.0))
        } else {
            Err(NotOneStream(self, writer))
        }
    }
}

impl<S: Transport> Read for &TlsStream<S> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        self.0.read(text)
    }
}

impl<S: Transport> Write for &TlsStream<S> {
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

impl<S: Transport> Read for TlsStream<S> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        (&*self).read(text)
    }
}

impl<S: Transport> Write for TlsStream<S> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        (&*self).write(text)
    }

    fn write_vectored(&mut self, texts: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(texts)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}

impl<S: Transport + fmt::Debug> fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream")
            .field("stream", self.get_ref())
            .finish_non_exhaustive()
    }
}
