//! TLS over the streams of fibre, by [`rustls`].
//!
//! A [`TlsStream`] reads and writes as the stream below it does: in blocking style, where a call
//! blocks the fibre, or the thread if the caller is not a fibre. Time-outs and cancellation of the
//! stream below, and `fibre::timeout` around a call, end its calls, and none of them breaks the
//! stream: what was not sent is sent by the next call.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::sync::Arc;
//!
//! use fibre::net::{TcpListener, TcpStream};
//! use fibre_rustls::{TlsAcceptor, TlsConnector};
//! use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
//!
//! // A certificate that vouches for itself. Servers read theirs from files.
//! let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
//! let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
//! let server = rustls::ServerConfig::builder()
//!     .with_no_client_auth()
//!     .with_single_cert(vec![made.cert.der().clone()], key.into())?;
//! let mut trusted = rustls::RootCertStore::empty();
//! trusted.add(made.cert.der().clone())?;
//! let client = rustls::ClientConfig::builder()
//!     .with_root_certificates(trusted)
//!     .with_no_client_auth();
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! let acceptor = TlsAcceptor::new(Arc::new(server));
//! let echo = fibre::spawn(move || -> std::io::Result<()> {
//!     let (stream, _) = listener.accept()?;
//!     let mut stream = acceptor.accept(stream)?;
//!     let mut bytes = [0; 5];
//!     stream.read_exact(&mut bytes)?;
//!     stream.write_all(&bytes)?;
//!     stream.shutdown(std::net::Shutdown::Write)
//! });
//!
//! let connector = TlsConnector::new(Arc::new(client));
//! let name = ServerName::try_from("localhost")?;
//! let mut stream = connector.connect(name, TcpStream::connect(address)?)?;
//! stream.write_all(b"hello")?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer)?;
//! assert_eq!(answer, "hello");
//! echo.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Ends
//!
//! A peer that ends well says so (`close_notify`), and then a read returns zero. An end without it
//! may be an attacker's cut: a read fails with `UnexpectedEof`. [`TlsStream::shutdown`] says it to
//! the peer. Dropping a stream does not.
//!
//! # Both directions at once
//!
//! A shared stream, or its [halves](TlsStream::split), may be read by one fibre and written by
//! another. Neither holds up the other: no lock is held while a call waits for the peer, but that
//! of its own direction.
//!
//! # Files, lowest first
//!
//! | file | idea |
//! |---|---|
//! | `transport` | what TLS lies over |
//! | `engine` | rustls' state machine between two directions |
//! | `halves` | the halves of a stream |
//! | `stream` | a stream as programs hold it |
//! | `connect` | handshakes |
//!
//! # Cryptography
//!
//! A handshake computes for some 0.1 to 1 ms. So it may go on the serving fibre itself; larger keys
//! (RSA of 4096 bits) may be worth `fibre::compute` around [`TlsAcceptor::accept`]. rustls takes
//! 15 KiB of a fibre's stack, 55 KiB in debug builds.

#![deny(unreachable_pub, unnameable_types)]

mod connect;
mod engine;
mod halves;
mod stream;
mod transport;

pub use connect::{TlsAcceptor, TlsConnector};
pub use halves::{NotOneStream, ReadHalf, WriteHalf};
pub use stream::TlsStream;
pub use transport::Transport;
