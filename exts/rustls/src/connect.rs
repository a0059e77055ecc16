//! Handshakes, which have a limit: a peer that says nothing, or a byte now and then, costs a
//! server no more than that.

use crate::engine::Engine;
use crate::stream::TlsStream;
use crate::transport::Transport;
use fibre_core::timeout;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// How long a handshake may take, unless the program says otherwise.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Makes TLS connections as a client. Cloning gives another handle.
#[derive(Debug, Clone)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
    handshake: Duration,
}

impl TlsConnector {
    /// A connector with this configuration. Its handshakes may take 10 seconds.
    #[must_use]
    pub fn new(config: Arc<ClientConfig>) -> Self {
        Self {
            config,
            handshake: HANDSHAKE,
        }
    }

    /// How long a handshake may take in all, whatever the peer sends meanwhile. Default: 10 s.
    #[must_use]
    pub fn handshake_timeout(mut self, time: Duration) -> Self {
        self.handshake = time;
        self
    }

    /// Comes to terms with the server of this name over a connected stream. Blocks the fibre, or
    /// the thread if the caller is not a fibre.
    ///
    /// # Errors
    ///
    /// `TimedOut`; `InvalidData` with rustls' error inside, if the server is not who it should be,
    /// or speaks no TLS that suits; `UnexpectedEof`; those of the stream.
    pub fn connect<S: Transport>(
        &self,
        name: ServerName<'static>,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let connection = ClientConnection::new(Arc::clone(&self.config), name);
        let connection = connection.map_err(io::Error::other)?;
        shake_hands(connection.into(), stream, self.handshake)
    }
}

/// Makes TLS connections as a server. Cloning gives another handle.
#[derive(Debug, Clone)]
pub struct TlsAcceptor {
    config: Arc<ServerConfig>,
    handshake: Duration,
}

impl TlsAcceptor {
    /// An acceptor with this configuration. Its handshakes may take 10 seconds.
    #[must_use]
    pub fn new(config: Arc<ServerConfig>) -> Self {
        Self {
            config,
            handshake: HANDSHAKE,
        }
    }

    /// How long a handshake may take in all, whatever the peer sends meanwhile. Default: 10 s.
    #[must_use]
    pub fn handshake_timeout(mut self, time: Duration) -> Self {
        self.handshake = time;
        self
    }

    /// Comes to terms with a client over a stream that has been accepted. Call it in the fibre that
    /// serves the client: a slow one then holds up nobody. Blocks the fibre, or the thread if the
    /// caller is not a fibre.
    ///
    /// # Errors
    ///
    /// `TimedOut`; `InvalidData` with rustls' error inside, if the client speaks no TLS that suits;
    /// `UnexpectedEof`; those of the stream.
    pub fn accept<S: Transport>(&self, stream: S) -> io::Result<TlsStream<S>> {
        let connection = ServerConnection::new(Arc::clone(&self.config));
        let connection = connection.map_err(io::Error::other)?;
        shake_hands(connection.into(), stream, self.handshake)
    }
}

/// Comes to terms with the peer within so long.
fn shake_hands<S: Transport>(
    connection: Connection,
    stream: S,
    limit: Duration,
) -> io::Result<TlsStream<S>> {
    let engine = Engine::new(connection, stream);
    match timeout(limit, || engine.handshake()) {
        Ok(done) => done.map(|()| TlsStream(Arc::new(engine))),
        Err(_) => Err(ErrorKind::TimedOut.into()),
    }
}
