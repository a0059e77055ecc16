//! An echo server over TLS, and a client that talks to it by two fibres: one that writes, one that
//! reads.
//!
//! ```sh
//! cargo run --release -p fibre-rustls --example echo_tls
//! ```

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use fibre::net::{TcpListener, TcpStream};
use fibre_rustls::{TlsAcceptor, TlsConnector};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let (server, client) = configurations()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    fibre::spawn(move || serve(&listener, &TlsAcceptor::new(server)));

    let name = ServerName::try_from("localhost")?;
    let stream = TlsConnector::new(client).connect(name, TcpStream::connect(address)?)?;
    let (reader, mut writer) = stream.split();
    let writing = fibre::spawn(move || {
        for number in 1..=3 {
            writeln!(writer, "line {number}")?;
        }
        writer.shutdown()
    });
    for line in BufReader::new(reader).lines() {
        println!("the server says: {}", line?);
    }
    writing.join().map_err(|_| "the writer has panicked")??;
    Ok(())
}

/// Echoes what each client says until it has said farewell.
fn serve(listener: &TcpListener, acceptor: &TlsAcceptor) {
    for (stream, _) in listener.connections() {
        let acceptor = acceptor.clone();
        fibre::spawn(move || -> io::Result<()> {
            let mut stream = acceptor.accept(stream)?;
            let mut buffer = [0; 4096];
            loop {
                match stream.read(&mut buffer)? {
                    0 => return stream.shutdown(Shutdown::Write),
                    length => stream.write_all(&buffer[..length])?,
                }
            }
        });
    }
}

/// A server with a certificate that vouches for itself, and a client that trusts it.
fn configurations() -> Result<(Arc<ServerConfig>, Arc<ClientConfig>), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let mut trusted = RootCertStore::empty();
    trusted.add(made.cert.der().clone())?;
    let client = ClientConfig::builder()
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok((Arc::new(server), Arc::new(client)))
}
