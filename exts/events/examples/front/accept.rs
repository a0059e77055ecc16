//! From the listening socket to a client with a place: the work of colour 1.

use super::connection::{Admission, Connection, Gone};
use super::server::{Accepting, CLIENTS, READINESS, Server, Service};
use fibre_events::Handler;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Instant;

static ACCEPT: Handler = Handler::new("Accept");
static REGISTER_FD_IN_EPOLL: Handler = Handler::new("RegisterFdInEpoll");
static DEC_CLIENT_ACCEPTED: Handler = Handler::new("DecClientAccepted");

/// How many clients one event accepts.
const BATCH: usize = 64;

/// What accepting a client came to.
enum Accepted {
    Client(TcpStream),
    /// This one has gone already.
    Gone,
    /// Nobody waits, or there is nothing left to accept with; the next tick tries again.
    Nobody,
}

impl<S: Service> Server<S> {
    /// Has clients accepted.
    pub(crate) fn post_accept(self: &Arc<Self>) {
        let server = Arc::clone(self);
        let event = ACCEPT.with(move || server.accept());
        self.post_under(CLIENTS, event);
    }

    /// Accepts those that wait, as far as there are places.
    fn accept(self: &Arc<Self>) {
        let mut accepting = self
            .accepting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for _ in 0..BATCH {
            let Some(listener) = &accepting.listener else {
                return;
            };
            if accepting.free.is_empty() {
                return;
            }
            let stream = match accept_one(listener) {
                Accepted::Client(stream) => stream,
                Accepted::Gone => continue,
                Accepted::Nobody => return,
            };
            let Some(place) = accepting.free.pop() else {
                return;
            };
            self.admit(stream, Admission::new(place, &self.gone));
        }
        self.post_accept();
    }

    /// Registers a client.
    fn admit(self: &Arc<Self>, stream: TcpStream, admission: Admission) {
        let deadline = Instant::now() + self.limits.idle;
        let connection = Box::new(Connection::new(stream, admission, deadline));
        let server = Arc::clone(self);
        let event = REGISTER_FD_IN_EPOLL.with(move || server.register(connection));
        self.post_under(READINESS, event);
    }

    /// What is told of clients that have gone.
    pub(crate) fn gone(server: Weak<Self>) -> Gone {
        Arc::new(move |place| {
            let Some(server) = server.upgrade() else {
                return;
            };
            let shared = Arc::clone(&server);
            let event = DEC_CLIENT_ACCEPTED.with(move || shared.client_has_gone(place));
            server.post_under(CLIENTS, event);
        })
    }

    /// A client has gone, and another may have its place.
    fn client_has_gone(self: &Arc<Self>, place: usize) {
        let mut accepting = self
            .accepting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let may_wait = accepting.free.is_empty() && accepting.listener.is_some();
        accepting.free.push(place);
        self.end_if_over(&accepting);
        drop(accepting);
        if may_wait {
            self.post_accept();
        }
    }

    /// Closes the listener; an event of this colour.
    pub(crate) fn stop_accepting(&self) {
        let mut accepting = self
            .accepting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        accepting.listener = None;
        self.end_if_over(&accepting);
    }

    /// Stops the events when there is nobody left, and nobody to come.
    fn end_if_over(&self, accepting: &Accepting) {
        if accepting.listener.is_none() && accepting.free.len() == accepting.places {
            self.events.stop();
        }
    }
}

/// Accepts one client.
fn accept_one(listener: &TcpListener) -> Accepted {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    match accept_with(listener, flags) {
        Ok(stream) => {
            let stream = TcpStream::from(stream);
            match stream.set_nodelay(true) {
                Ok(()) => Accepted::Client(stream),
                Err(_) => Accepted::Gone,
            }
        }
        Err(Errno::CONNABORTED | Errno::INTR | Errno::PROTO) => Accepted::Gone,
        Err(_) => Accepted::Nobody,
    }
}
