//! From the listening socket to a fibre for each connection.
//!
//! A connection needs a permit before it is accepted and is registered before
//! its fibre starts. Both are values that undo themselves, however the fibre
//! ends: [`Permit`] and [`Admission`].

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fibre::net::{TcpListener, TcpStream};

use crate::connection;
use crate::drain::Link;
use crate::server::Server;

/// Complaints are printed at most this often.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// Accepts connections until the listener is closed: the acceptor's life.
///
/// Errors are no reason to stop: most concern one connection that is gone
/// already, and when file descriptors run out, `accept` paces itself.
pub(crate) fn accept_all(server: &Arc<Server>, listener: &TcpListener) {
    let mut complaints = Complaints::default();
    loop {
        server.permits.acquire();
        let permit = Permit(Arc::clone(server));
        let admitted = listener
            .accept()
            .and_then(|(stream, peer)| permit.admit(stream, peer));
        if server.connections.is_stopping() {
            return;
        }
        if let Err(error) = admitted {
            complaints.complain(&error);
        }
    }
}

/// The right to serve one connection.
struct Permit(Arc<Server>);

impl Permit {
    /// Starts the fibre of an accepted connection. If that is impossible, or if
    /// the server is stopping, the connection is closed.
    fn admit(self, stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
        let link = Arc::new(Link::new(stream));
        let Some(number) = self.0.connections.add(&link) else {
            return Ok(());
        };
        let admission = Admission {
            number,
            link,
            permit: self,
        };
        let name = format!("connection {peer}");
        fibre::Builder::new()
            .name(name)
            .spawn(move || admission.serve())
            .map(drop)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.permits.release();
    }
}

/// A connection that is registered, and removed again however its fibre ends.
struct Admission {
    /// Its number in the register.
    number: u64,
    /// The connection.
    link: Arc<Link>,
    /// Given back last.
    permit: Permit,
}

impl Admission {
    /// Serves the connection: its fibre's life.
    fn serve(self) {
        let server = &self.permit.0;
        let served = connection::serve(server, &self.link);
        server.served.fetch_add(served, Ordering::Relaxed);
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.permit.0.connections.remove(self.number);
    }
}

/// Errors on their way to standard error, thinned out.
#[derive(Default)]
struct Complaints {
    /// When the last one was printed.
    last: Option<Instant>,
}

impl Complaints {
    fn complain(&mut self, error: &io::Error) {
        if self
            .last
            .is_none_or(|last| last.elapsed() >= COMPLAINT_INTERVAL)
        {
            self.last = Some(Instant::now());
            eprintln!("webserver: cannot accept connections: {error}");
        }
    }
}
