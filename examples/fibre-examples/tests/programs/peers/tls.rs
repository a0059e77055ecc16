//! TLS clients over plain sockets.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::program::{Program, Scratch};

/// What a client has in its hands.
pub(crate) type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A server `https`, and those who trust it.
pub(crate) struct Https {
    /// The server.
    pub(crate) program: Program,
    /// Its certificate.
    pub(crate) certificate: Scratch,
    /// What its clients need.
    config: Arc<ClientConfig>,
}

impl Https {
    /// Starts a server for the test of this name.
    pub(crate) fn start(test: &str, arguments: &[&str]) -> Self {
        let certificate = Scratch::new(test);
        let mut all = vec!["--write-cert", certificate.name()];
        all.extend(arguments);
        let program = Program::start(env!("CARGO_BIN_EXE_https"), &all);
        let config = trusting(&certificate.0);
        Self {
            program,
            certificate,
            config,
        }
    }

    /// A client that has not said anything.
    pub(crate) fn connect(&self) -> Tls {
        let name = ServerName::try_from("localhost").unwrap();
        let client = ClientConnection::new(Arc::clone(&self.config), name).unwrap();
        StreamOwned::new(client, self.program.connect())
    }

    /// The bytes that a client says first.
    pub(crate) fn hello(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.connect().conn.write_tls(&mut bytes).unwrap();
        bytes
    }
}

/// A configuration that trusts one certificate.
fn trusting(certificate: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(certificate).unwrap();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

/// Sends a request for a path.
pub(crate) fn ask(stream: &mut impl Write, path: &str) -> io::Result<()> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    stream.flush()
}

/// Reads an answer: its head and its body.
pub(crate) fn answer(stream: &mut impl Read) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body)?;
    Ok((head, body))
}

/// Asks for a path and checks that the answer is good; returns its body.
pub(crate) fn get(stream: &mut (impl Read + Write), path: &str) -> Vec<u8> {
    ask(stream, path).unwrap();
    let (head, body) = answer(stream).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    body
}
