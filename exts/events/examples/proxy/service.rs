//! The proxy: accepts clients as far as there are places, and ends those that wait for too long.
//! Its events have colour 0, as those of a program that was never coloured.

use crate::exchange::{Exchange, Gone};
use crate::front::limits::Limits;
use fibre_events::{Events, Handler};
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

static ACCEPT: Handler = Handler::new("accept_cb");
static SWEEP: Handler = Handler::new("sweep");

/// The colour of all that is not a client's.
const PROXY: u64 = 0;

/// How many clients one event accepts.
const BATCH: usize = 64;

/// The proxy.
pub(crate) struct Proxy {
    events: Events,
    limits: Limits,
    address: SocketAddr,
    /// Its lock is only ever taken by events of the colour [`PROXY`].
    state: Mutex<State>,
}

struct State {
    /// `None` once it stops.
    listener: Option<Arc<TcpListener>>,
    /// Whether clients that come are accepted.
    accepts: bool,
    /// Clients by a number.
    clients: HashMap<u64, Weak<Exchange>>,
    next: u64,
}

impl Proxy {
    /// Serves the clients of a listener by these events, once they run. Blocks nothing.
    pub(crate) fn start(
        events: &Events,
        listener: TcpListener,
        limits: Limits,
    ) -> io::Result<Arc<Self>> {
        listener.set_nonblocking(true)?;
        let proxy = Arc::new(Self {
            events: events.clone(),
            limits,
            address: listener.local_addr()?,
            state: Mutex::new(State {
                listener: Some(Arc::new(listener)),
                accepts: false,
                clients: HashMap::new(),
                next: 0,
            }),
        });
        let shared = Arc::clone(&proxy);
        events.post(PROXY, ACCEPT.with(move || shared.accept_if_possible()));
        let shared = Arc::clone(&proxy);
        events.every(limits.tick(), PROXY, move || {
            let proxy = Arc::clone(&shared);
            SWEEP.with(move || proxy.sweep())
        })?;
        Ok(proxy)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has clients accepted if there are places.
    fn accept_if_possible(self: &Arc<Self>) {
        let mut state = self.state();
        let Some(listener) = &state.listener else {
            return;
        };
        if state.accepts || state.clients.len() >= self.limits.clients {
            return;
        }
        let (proxy, listener) = (Arc::clone(self), Arc::clone(listener));
        let accept = ACCEPT.every(move || proxy.accept());
        state.accepts = self.events.on_readable(listener, PROXY, accept).is_ok();
    }

    /// Accepts clients that wait.
    fn accept(self: &Arc<Self>) {
        let mut state = self.state();
        let Some(listener) = state.listener.clone() else {
            return;
        };
        for _ in 0..BATCH {
            if state.clients.len() >= self.limits.clients {
                state.accepts = false;
                self.events.off_readable(&listener);
                return;
            }
            let client = match listener.accept() {
                Ok((client, _)) => client,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // There is nothing left to accept with; the next sweep tries again.
                    state.accepts = false;
                    self.events.off_readable(&listener);
                    return;
                }
            };
            let number = state.next;
            state.next += 1;
            let gone = self.gone(number);
            state.clients.insert(number, Weak::new());
            if let Some(exchange) = Exchange::begin(&self.events, self.limits, client, gone) {
                state.clients.insert(number, Arc::downgrade(&exchange));
            }
        }
    }

    /// What is told when a client has gone.
    fn gone(self: &Arc<Self>, number: u64) -> Gone {
        let proxy = Arc::downgrade(self);
        Box::new(move || {
            let Some(proxy) = proxy.upgrade() else {
                return;
            };
            let events = proxy.events.clone();
            let event = ACCEPT.with(move || {
                proxy.state().clients.remove(&number);
                proxy.accept_if_possible();
                proxy.end_if_over();
            });
            events.post(PROXY, event);
        })
    }

    /// Ends exchanges that are late.
    fn sweep(self: &Arc<Self>) {
        let now = Instant::now();
        for exchange in self.exchanges() {
            if exchange.is_late(now) {
                exchange.post_end();
            }
        }
        self.accept_if_possible();
    }

    /// All exchanges that have not ended.
    fn exchanges(&self) -> Vec<Arc<Exchange>> {
        let state = self.state();
        state.clients.values().filter_map(Weak::upgrade).collect()
    }

    /// Accepts nobody any more, lets requests that have begun be answered, and stops the events
    /// when all clients have gone. Blocks nothing.
    pub(crate) fn stop(self: &Arc<Self>) {
        let proxy = Arc::clone(self);
        let event = SWEEP.with(move || {
            if let Some(listener) = proxy.state().listener.take() {
                proxy.events.off_readable(&listener);
            }
            let exchanges = proxy.exchanges().into_iter();
            let idle = exchanges.filter(|exchange| exchange.is_idle());
            idle.for_each(|exchange| exchange.post_end());
            proxy.end_if_over();
        });
        self.events.post(PROXY, event);
    }

    /// Stops the events when there is nobody left, and nobody to come.
    fn end_if_over(&self) {
        let state = self.state();
        if state.listener.is_none() && state.clients.is_empty() {
            self.events.stop();
        }
    }

    #[allow(dead_code, reason = "for tests")]
    /// How many of them have sent something.
    pub(crate) fn midway(&self) -> usize {
        let exchanges = self.exchanges().into_iter();
        exchanges.filter(|exchange| !exchange.is_idle()).count()
    }

    #[allow(dead_code, reason = "for tests")]
    /// How many clients there are.
    pub(crate) fn clients(&self) -> usize {
        self.state().clients.len()
    }
}
