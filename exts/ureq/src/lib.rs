//! The blocking HTTP client [`ureq`] on fibres.
//!
//! [`agent`] makes an agent. Its calls block the fibre, or the thread if the caller is not a fibre.
//! It is ureq's own agent, with its pool of connections, redirects, TLS and bodies; only how it
//! connects and how it looks names up are fibre's. One agent serves any number of fibres, and
//! clones of it share its pool.
//!
//! ```
//! use std::io::{Read, Write};
//!
//! // A server that answers every request with five bytes.
//! let listener = fibre::net::TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! fibre::spawn(move || {
//!     for (mut stream, _) in listener.connections() {
//!         fibre::spawn(move || -> std::io::Result<()> {
//!             while stream.read(&mut [0; 1024])? > 0 {
//!                 stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")?;
//!             }
//!             Ok(())
//!         });
//!     }
//! });
//!
//! let agent = fibre_ureq::agent(ureq::config::Config::default());
//! let gets: Vec<_> = (0..10)
//!     .map(|_| {
//!         let agent = agent.clone();
//!         fibre::spawn(move || -> Result<String, ureq::Error> {
//!             agent.get(format!("http://{address}/")).call()?.body_mut().read_to_string()
//!         })
//!     })
//!     .collect();
//! for get in gets {
//!     assert_eq!(get.join().unwrap()?, "hello");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Time-outs
//!
//! ureq's own time-outs (`timeout_global` and the others) become deadlines of the socket, and of
//! the look-up of names. `fibre::timeout` around a call, and cancellation of the fibre, end it as
//! well: as an error of the kind `Io`; the connection is not used again then.
//!
//! # Files, lowest first
//!
//! | file | idea |
//! |---|---|
//! | `limits` | ureq's time-outs and errors, and the runtime's |
//! | `transport` | a connection as ureq knows it |
//! | `connector` | how ureq connects |
//! | `resolver` | how it looks names up |
//!
//! # Why fibres do not wait for each other here
//!
//! ureq asks a connection of its pool whether it is still open while it holds a lock of std's. That
//! is answered without waiting: a fibre that waited there would keep the others of its processor
//! from ever going on. Nothing else of ureq holds such a lock while it reads or writes.

#![deny(unreachable_pub, unnameable_types)]

mod connector;
mod limits;
mod resolver;
mod transport;

pub use connector::FibreConnector;
pub use resolver::FibreResolver;
pub use transport::FibreTransport;

use ureq::Agent;
use ureq::config::Config;
use ureq::unversioned::transport::{Connector, RustlsConnector};

/// An agent with calls that block the fibre, or the thread if the caller is not a fibre. See the
/// [crate].
///
/// Another chain of connectors, with a proxy or a TLS of its own, is built by
/// `Agent::with_parts(config, FibreConnector.chain(…), FibreResolver)`.
#[must_use]
pub fn agent(config: Config) -> Agent {
    let connector = FibreConnector.chain(RustlsConnector::default());
    Agent::with_parts(config, connector, FibreResolver)
}
