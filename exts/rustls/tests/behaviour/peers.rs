//! Certificates, servers and clients to test with.

use fibre::net::{TcpListener, TcpStream};
use fibre_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

/// A stream over TCP.
pub(crate) type Tls = TlsStream<TcpStream>;

/// A certificate that vouches for itself, and its key.
pub(crate) struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    /// An identity for this name.
    pub(crate) fn new(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        Self {
            certificate: made.cert.der().clone(),
            key: made.signing_key.serialize_der().into(),
        }
    }

    /// Its key.
    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key().into()
    }

    /// A store that trusts it.
    pub(crate) fn trust(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add(self.certificate.clone()).unwrap();
        store
    }
}

/// The identity of the usual server.
pub(crate) static LOCALHOST: LazyLock<Identity> = LazyLock::new(|| Identity::new("localhost"));

/// The usual server's configuration.
pub(crate) fn server_config() -> ServerConfig {
    ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![LOCALHOST.certificate.clone()], LOCALHOST.key())
        .unwrap()
}

/// The configuration of a client that trusts the usual server.
pub(crate) fn client_config() -> ClientConfig {
    ClientConfig::builder()
        .with_root_certificates(LOCALHOST.trust())
        .with_no_client_auth()
}

/// The usual server.
pub(crate) fn acceptor() -> TlsAcceptor {
    TlsAcceptor::new(Arc::new(server_config()))
}

/// The usual client.
pub(crate) fn connector() -> TlsConnector {
    TlsConnector::new(Arc::new(client_config()))
}

/// The usual server's name.
pub(crate) fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// A server with a fibre for every connection; it ends with the process.
pub(crate) fn server(
    acceptor: TlsAcceptor,
    serve: impl Fn(io::Result<Tls>) + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    // The test's own cluster is to end.
    let cluster = fibre::Cluster::default_cluster().unwrap();
    cluster.spawn(move || {
        for stream in listener.incoming() {
            let (acceptor, serve, stream) = (acceptor.clone(), Arc::clone(&serve), stream.unwrap());
            fibre::spawn(move || serve(acceptor.accept(stream)));
        }
    });
    address
}

/// A client of such a server.
pub(crate) fn connect(address: SocketAddr) -> Tls {
    let stream = TcpStream::connect(address).unwrap();
    connector().connect(name(), stream).unwrap()
}

/// Both ends of one connection.
pub(crate) fn pair() -> (Tls, Tls) {
    let (client, server) = crate::support::sockets::pair();
    let accepting = fibre::spawn(move || acceptor().accept(server));
    let client = connector().connect(name(), client).unwrap();
    (client, accepting.join().unwrap().unwrap())
}
