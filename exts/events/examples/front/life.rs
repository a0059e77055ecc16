//! The server's beginning and end.

use super::limits::Limits;
use super::options::Options;
use super::readiness::{self, SWEEP};
use super::server::{Accepting, CLIENTS, READINESS, Server, Service};
use super::table::Table;
use fibre::signal::SIGINT;
use fibre_events::{Events, Handler};
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

static EPOLL: Handler = Handler::new("Epoll");

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 4096;

impl<S: Service> Server<S> {
    /// Serves the clients of a listener by these events, once they run. Blocks nothing.
    pub(crate) fn start(
        events: &Events,
        listener: TcpListener,
        service: S,
        limits: Limits,
    ) -> io::Result<Arc<Self>> {
        listener.set_nonblocking(true)?;
        rustix::net::listen(&listener, BACKLOG)?;
        let epoll = readiness::instance(&listener)?;
        let address = listener.local_addr()?;
        let server = Arc::new_cyclic(|server: &Weak<Self>| Self {
            events: events.clone(),
            limits,
            service,
            epoll: Arc::new(epoll),
            table: Table::new(limits.clients),
            address,
            accepting: Mutex::new(Accepting::new(listener, limits.clients)),
            gone: Self::gone(server.clone()),
            is_stopping: AtomicBool::new(false),
            answered: AtomicU64::new(0),
        });
        let shared = Arc::clone(&server);
        let look = EPOLL.every(move || shared.look());
        events.on_readable(Arc::clone(&server.epoll), READINESS, look)?;
        let shared = Arc::clone(&server);
        events.every(limits.tick(), READINESS, move || shared.sweeping())?;
        Ok(server)
    }

    /// Serves by what the command line says, until SIGINT. Blocks the thread.
    pub(crate) fn serve(options: &Options, service: S) -> io::Result<()> {
        let events = options.events()?;
        let listener = TcpListener::bind(options.address())?;
        let server = Self::start(&events, listener, service, options.limits())?;
        println!("listening on {}", server.address());
        let stopped = Arc::clone(&server);
        events.on_signal(SIGINT, 0, move || stopped.stop())?;
        let report = events.run();
        println!("{} requests were answered; {report:?}", server.answered());
        Ok(())
    }

    /// Accepts nobody any more, lets requests that have begun be the last, and stops the events
    /// when all clients have gone. Blocks nothing.
    pub(crate) fn stop(self: &Arc<Self>) {
        self.is_stopping.store(true, Ordering::Relaxed);
        let server = Arc::clone(self);
        let end = SWEEP.with(move || server.end_idle());
        self.post_under(READINESS, end);
        let server = Arc::clone(self);
        let end = SWEEP.with(move || server.stop_accepting());
        self.post_under(CLIENTS, end);
    }

    /// Ends those that wait for nothing but another request, now and from now on.
    fn end_idle(self: &Arc<Self>) {
        self.table.close();
        let idle = self.table.take_if(|waits| waits.is_between_requests());
        idle.into_iter().for_each(|client| self.close(client));
    }
}
