//! The HTTP client `ureq` on fibres: how it connects, and how it looks names up.
//!
//! ureq asks a *connector* for a connection and a *resolver* for addresses, and has its own of both
//! as defaults. These two are in their place; TLS, redirects, bodies and the pool of connections
//! are ureq's as they are, and one agent serves any number of fibres.
//!
//! Time-outs become deadlines of the socket. What ureq asks while it may hold a lock of its pool,
//! whether a connection is still open, is answered without waiting: a fibre that waited there would
//! keep the others of its processor from ever going on.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::{Arc, Weak};
use std::time::Instant;

use fibre::io::{PollFd, Readiness, try_poll};
use fibre::net::{TcpStream, ToSocketAddrs, lookup_host_until};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, RustlsConnector,
    ShutdownHandle, Transport,
};
use ureq::{Agent, Error};

/// An agent whose calls block the fibre, or the thread if the caller is not a fibre.
pub fn agent(config: Config) -> Agent {
    let connector = FibreConnector.chain(RustlsConnector::default());
    Agent::with_parts(config, connector, FibreResolver)
}

/// Connects fibre's streams.
#[derive(Debug)]
struct FibreConnector;

impl Connector for FibreConnector {
    type Out = FibreTransport;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _: Option<()>,
    ) -> Result<Option<FibreTransport>, Error> {
        let deadline = deadline_of(details.timeout)?;
        let mut last = Error::HostNotFound;
        for address in &details.addrs {
            let connected = match deadline {
                Some(deadline) => TcpStream::connect_until(address, deadline),
                None => TcpStream::connect(address),
            };
            match connected {
                Ok(stream) => {
                    stream.set_nodelay(details.config.no_delay())?;
                    let stream = Arc::new(Shared(stream));
                    let handle: Weak<Shared> = Arc::downgrade(&stream);
                    (details.register_shutdown)(handle)?;
                    let (input, output) = (
                        details.config.input_buffer_size(),
                        details.config.output_buffer_size(),
                    );
                    return Ok(Some(FibreTransport {
                        stream,
                        buffers: LazyBuffers::new(input, output),
                    }));
                }
                Err(error) => last = told(error, details.timeout),
            }
        }
        Err(last)
    }
}

/// A stream that the agent may end while it is in use.
#[derive(Debug)]
struct Shared(TcpStream);

impl ShutdownHandle for Shared {
    fn shutdown(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// A connection as ureq knows it.
#[derive(Debug)]
struct FibreTransport {
    /// The socket.
    stream: Arc<Shared>,
    /// What ureq reads from and writes to.
    buffers: LazyBuffers,
}

impl Transport for FibreTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = timeout.for_write();
        let mut stream = &self.stream.0;
        stream.set_write_deadline(deadline_of(timeout)?);
        let output = &self.buffers.output()[..amount];
        stream
            .write_all(output)
            .map_err(|error| told(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = timeout.for_read();
        let mut stream = &self.stream.0;
        stream.set_read_deadline(deadline_of(timeout)?);
        let input = self.buffers.input_append_buf();
        let count = stream.read(input).map_err(|error| told(error, timeout))?;
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    /// A connection at rest has nothing to read: bytes or an end mean that it is of no use.
    fn is_open(&mut self) -> bool {
        let mut fds = [PollFd::new(&self.stream.0, Readiness::READ)];
        try_poll(&mut fds).is_ok_and(|ready| ready == 0)
    }
}

/// Looks names up as the rest of the runtime does.
#[derive(Debug)]
struct FibreResolver;

impl Resolver for FibreResolver {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(Error::BadUri(uri.to_string()));
        };
        let Some(name) = DefaultResolver::host_and_port(scheme, authority) else {
            return Err(Error::BadUri(uri.to_string()));
        };
        let found: Vec<_> = match deadline_of(timeout)? {
            Some(deadline) => lookup_host_until(&name, deadline).map(Iterator::collect),
            None => name.to_socket_addrs().map(Iterator::collect),
        }
        .map_err(|error| told(error, timeout))?;
        let mut addresses = self.empty();
        for address in found {
            if addresses.try_push(address).is_err() {
                break;
            }
        }
        Ok(addresses)
    }
}

/// The moment a time-out ends at; `None` for never.
fn deadline_of(timeout: NextTimeout) -> Result<Option<Instant>, Error> {
    if timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    if timeout.after.is_not_happening() {
        return Ok(None);
    }
    Ok(Instant::now().checked_add(*timeout.after))
}

/// An error of a socket in ureq's words.
fn told(error: io::Error, timeout: NextTimeout) -> Error {
    match error.kind() {
        ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => Error::Io(error),
    }
}
