//! From the listening socket to a fibre for each connection.
//!
//! A connection needs a permit before it is accepted. It is given back however
//! the connection's fibre ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fibre::Limit;
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::OwnedSemaphorePermit;

use crate::connection;
use crate::server::Server;

/// Complaints are printed at most this often.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// Accepts connections until it is cancelled: the acceptor's life.
///
/// Errors are no reason to stop: most concern one connection that is gone
/// already, and when file descriptors run out, `accept` paces itself.
pub(crate) fn accept_all(server: &Arc<Server>, listener: &TcpListener) {
    let mut complaints = Complaints::default();
    while let Ok(permit) = server.permits.permit_owned_within(Limit::Cancellation) {
        let admitted = listener
            .accept()
            .and_then(|(stream, peer)| admit(server, permit, stream, peer));
        if let Err(error) = admitted
            && !fibre::is_cancelled()
        {
            complaints.complain(&error);
        }
    }
}

/// Starts the fibre of an accepted connection. If that is impossible, the connection is closed.
fn admit(
    server: &Arc<Server>,
    permit: OwnedSemaphorePermit,
    stream: TcpStream,
    peer: SocketAddr,
) -> io::Result<()> {
    server.connections.fetch_add(1, Ordering::Relaxed);
    let server = Arc::clone(server);
    let serve = move || {
        // Given back after the socket has been closed, however the fibre ends.
        let _permit = permit;
        let served = connection::serve(&server, stream);
        server.served.fetch_add(served, Ordering::Relaxed);
    };
    fibre::Builder::new()
        .name(format!("connection {peer}"))
        .spawn(serve)
        .map(drop)
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
