//! Many clients that ask for a while.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fibre::Cluster;
use fibre::net::TcpStream;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// What is asked. The answer is so short that it comes in one piece.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// How clients use their connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A new one for each request, with a full handshake.
    Handshakes,
    /// One for all requests.
    Requests,
}

/// Clients of one server.
#[derive(Clone)]
pub(crate) struct Load {
    /// Where the server listens.
    address: SocketAddr,
    /// The certificate that clients trust.
    config: Arc<ClientConfig>,
    /// How connections are used.
    manner: Manner,
}

impl Load {
    /// A load for a server with this certificate.
    pub(crate) fn new(
        address: SocketAddr,
        certificate: &CertificateDer<'static>,
        manner: Manner,
    ) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).map_err(io::Error::other)?;
        let mut config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Self {
            address,
            config: Arc::new(config),
            manner,
        })
    }

    /// Has so many clients ask for so long, and returns how many answers they got.
    pub(crate) fn run(
        &self,
        cluster: &Cluster,
        connections: usize,
        time: Duration,
    ) -> io::Result<u64> {
        let end = Instant::now() + time;
        let clients: Vec<_> = (0..connections)
            .map(|_| {
                let load = self.clone();
                cluster.spawn(move || load.ask_until(end))
            })
            .collect();
        let mut answers = 0;
        for client in clients {
            answers += client
                .join()
                .map_err(|_| io::Error::other("a client has panicked"))??;
        }
        Ok(answers)
    }

    /// One client: returns how many answers it got.
    fn ask_until(&self, end: Instant) -> io::Result<u64> {
        let mut answers = 0;
        let mut stream = self.connect()?;
        while Instant::now() < end {
            ask(&mut stream)?;
            answers += 1;
            if self.manner == Manner::Handshakes {
                stream.conn.send_close_notify();
                stream.flush()?;
                stream = self.connect()?;
            }
        }
        Ok(answers)
    }

    /// A connection, before the handshake.
    fn connect(&self) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let client = ClientConnection::new(Arc::clone(&self.config), name);
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        Ok(StreamOwned::new(client.map_err(io::Error::other)?, stream))
    }
}

/// Asks once and reads the answer.
fn ask(stream: &mut StreamOwned<ClientConnection, TcpStream>) -> io::Result<()> {
    stream.write_all(REQUEST)?;
    let mut answer = [0; 1024];
    let mut length = 0;
    while !answer[..length].ends_with(b"TLS.\n") {
        match stream.read(&mut answer[length..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => length += count,
        }
    }
    Ok(())
}
