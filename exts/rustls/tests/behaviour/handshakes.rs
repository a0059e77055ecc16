//! Clients and servers that come to terms, or do not, and how long that may take.

use crate::peers::*;
use crate::support::{for_each_cluster, sockets, watched};
use fibre::os::unix::net::UnixStream;
use fibre_rustls::{TlsAcceptor, TlsConnector};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ProtocolVersion, ServerConfig};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Both versions of TLS, over TCP and Unix sockets, from fibres and threads.
#[test]
fn versions_and_streams() {
    watched(|| {
        for (version, number) in [
            (&rustls::version::TLS12, ProtocolVersion::TLSv1_2),
            (&rustls::version::TLS13, ProtocolVersion::TLSv1_3),
        ] {
            let config = ClientConfig::builder_with_protocol_versions(&[version])
                .with_root_certificates(LOCALHOST.trust())
                .with_no_client_auth();
            let connector = TlsConnector::new(Arc::new(config));
            let (client, server) = UnixStream::pair().unwrap();
            let serving = fibre::spawn(move || {
                let mut stream = acceptor().accept(server).unwrap();
                let mut word = [0; 4];
                stream.read_exact(&mut word).unwrap();
                stream.write_all(&word).unwrap();
                stream.flush().unwrap();
                stream.with_connection(|connection| connection.protocol_version())
            });
            let mut stream = connector.connect(name(), client).unwrap();
            stream.write_all(b"ping").unwrap();
            let mut word = [0; 4];
            stream.read_exact(&mut word).unwrap();
            assert_eq!(&word, b"ping");
            assert_eq!(serving.join().unwrap(), Some(number));
        }
    });
}

/// What the two agree on is known to both.
#[test]
fn protocols_are_agreed_on() {
    for_each_cluster(|_| {
        let (mut ours, mut theirs) = (client_config(), server_config());
        ours.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        theirs.alpn_protocols = vec![b"http/1.1".to_vec()];
        let (client, server) = sockets::pair();
        let serving = fibre::spawn(move || {
            let stream = TlsAcceptor::new(Arc::new(theirs)).accept(server).unwrap();
            stream.alpn_protocol()
        });
        let connector = TlsConnector::new(Arc::new(ours));
        let stream = connector.connect(name(), client).unwrap();
        let agreed = Some(b"http/1.1".to_vec());
        assert_eq!(
            (stream.alpn_protocol(), serving.join().unwrap()),
            (agreed.clone(), agreed)
        );
        let certificates = stream.with_connection(|it| it.peer_certificates().map(<[_]>::to_vec));
        let expected = std::slice::from_ref(&LOCALHOST.certificate);
        assert_eq!(certificates.unwrap(), expected);
    });
}

/// A server with another name, or that nobody vouches for, is refused, and is told why.
#[test]
fn wrong_servers_are_refused() {
    for_each_cluster(|_| {
        let strange = Identity::new("localhost");
        let distrust = ClientConfig::builder()
            .with_root_certificates(strange.trust())
            .with_no_client_auth();
        let other = rustls::pki_types::ServerName::try_from("elsewhere").unwrap();
        for (connector, name) in [
            (connector(), other),
            (TlsConnector::new(Arc::new(distrust)), name()),
        ] {
            let (client, server) = sockets::pair();
            let accepting = fibre::spawn(move || acceptor().accept(server).map(drop));
            let error = connector.connect(name, client).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            let inner = error.get_ref().unwrap().downcast_ref::<rustls::Error>();
            assert!(
                matches!(inner, Some(rustls::Error::InvalidCertificate(_))),
                "{inner:?}"
            );
            let told = accepting.join().unwrap();
            // TLS 1.3 has the server finished before the client's alert comes; a read tells it.
            if let Err(error) = told {
                assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::InvalidData | ErrorKind::ConnectionReset
                    ),
                    "{error}"
                );
            }
        }
    });
}

/// A server may want to know its clients.
#[test]
fn clients_prove_who_they_are() {
    for_each_cluster(|_| {
        let member = Identity::new("member");
        let verifier = WebPkiClientVerifier::builder(Arc::new(member.trust()))
            .build()
            .unwrap();
        let config = ServerConfig::builder()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![LOCALHOST.certificate.clone()], LOCALHOST.key())
            .unwrap();
        let acceptor = TlsAcceptor::new(Arc::new(config));
        let proves = ClientConfig::builder()
            .with_root_certificates(LOCALHOST.trust())
            .with_client_auth_cert(vec![member.certificate.clone()], member.key())
            .unwrap();
        for (config, welcome) in [(proves, true), (client_config(), false)] {
            let (client, server) = sockets::pair();
            let acceptor = acceptor.clone();
            let accepting = fibre::spawn(move || {
                let mut stream = acceptor.accept(server)?;
                stream.write_all(b"welcome")?;
                stream.shutdown(std::net::Shutdown::Write)
            });
            let said = TlsConnector::new(Arc::new(config))
                .connect(name(), client)
                .and_then(|mut stream| {
                    let mut said = String::new();
                    stream.read_to_string(&mut said).map(|_| said)
                });
            assert_eq!(said.is_ok_and(|said| said == "welcome"), welcome);
            assert_eq!(accepting.join().unwrap().is_ok(), welcome);
        }
    });
}

/// A hundred at once, over few processors, and each gets its own answer.
#[test]
fn a_hundred_at_once() {
    for_each_cluster(|_| {
        let address = server(acceptor(), |stream| {
            let mut stream = stream.unwrap();
            let mut word = [0; 8];
            while stream.read_exact(&mut word).is_ok() {
                stream.write_all(&word).unwrap();
            }
        });
        let clients: Vec<_> = (0..100_u64)
            .map(|number| {
                fibre::spawn(move || {
                    let mut stream = connect(address);
                    for round in 0..5 {
                        let word = (number * 1000 + round).to_le_bytes();
                        stream.write_all(&word).unwrap();
                        let mut answer = [0; 8];
                        stream.read_exact(&mut answer).unwrap();
                        assert_eq!(answer, word);
                    }
                })
            })
            .collect();
        clients
            .into_iter()
            .for_each(|client| client.join().unwrap());
    });
}

/// A handshake has a limit of its own, and a limit around it ends it, too, as does cancellation.
#[test]
fn handshakes_have_limits() {
    for_each_cluster(|_| {
        let short = Duration::from_millis(5);
        let (ours, _silent) = sockets::pair();
        let error = acceptor()
            .handshake_timeout(short)
            .accept(ours)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let (ours, _silent) = sockets::pair();
        let patient = connector().handshake_timeout(Duration::MAX);
        let ended = fibre::timeout(short, || patient.connect(name(), ours).map(drop));
        let inner = ended.unwrap_err().into_value().unwrap().unwrap_err();
        assert_eq!(inner.kind(), ErrorKind::TimedOut);
        let (ours, _silent) = sockets::pair();
        let waiting = fibre::spawn(move || acceptor().accept(ours).map(drop));
        fibre::sleep(short);
        waiting.cancel();
        let error = waiting.join().unwrap().unwrap_err();
        assert!(fibre::is_cancelled_error(&error), "{error}");
    });
}
