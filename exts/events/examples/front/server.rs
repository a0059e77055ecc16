//! What all handlers share, and what a service does for its clients.

use super::connection::{Connection, Gone};
use super::limits::Limits;
use super::table::Table;
use fibre_events::{Colour, Event, Events, Handler};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The colour of the handlers that look at the epoll instance.
pub(crate) const READINESS: u64 = 0;

/// The colour of the two handlers that count clients.
pub(crate) const CLIENTS: u64 = 1;

/// A connection of a service on its way from event to event.
pub(crate) type Client<S> = Box<Connection<<S as Service>::Talk>>;

/// What a server does for its clients.
pub(crate) trait Service: Sized + Send + Sync + 'static {
    /// What it knows of each client.
    type Talk: Default + Send + 'static;

    /// How many bytes one read takes, at most: more than usual requests need, so that most reads
    /// come back short, which says that nothing is left.
    const ROOM: usize;

    /// The handler of [`next`](Self::next).
    const NEXT: &'static Handler;

    /// Answers the first request of those that have arrived, or writes what has been answered, or
    /// reads more: an event of the client's colour.
    fn next(server: &Arc<Server<Self>>, connection: Client<Self>);

    /// A client has not finished its request in time: an event of the colour [`READINESS`].
    fn late(server: &Arc<Server<Self>>, connection: Client<Self>);
}

/// What all handlers share.
pub(crate) struct Server<S: Service> {
    pub(crate) events: Events,
    pub(crate) limits: Limits,
    pub(crate) service: S,
    pub(crate) epoll: Arc<OwnedFd>,
    pub(crate) table: Table<S::Talk>,
    /// Changed by events of the colour `CLIENTS`.
    pub(crate) accepting: Mutex<Accepting>,
    /// Told the place of a client that has gone.
    pub(crate) gone: Gone,
    pub(crate) is_stopping: AtomicBool,
    pub(crate) answered: AtomicU64,
    pub(crate) address: SocketAddr,
}

/// What events of the colour `CLIENTS` change; its lock is only ever taken by one of them.
#[derive(Debug)]
pub(crate) struct Accepting {
    /// `None` once the server stops.
    pub(crate) listener: Option<TcpListener>,
    /// Places without a client.
    pub(crate) free: Vec<usize>,
    /// How many places there are.
    pub(crate) places: usize,
}

impl Accepting {
    /// A listener that has so many places to give.
    pub(crate) fn new(listener: TcpListener, places: usize) -> Self {
        Self {
            listener: Some(listener),
            free: (0..places).rev().collect(),
            places,
        }
    }
}

impl<S: Service> Server<S> {
    /// Posts an event under a colour, or under the only one.
    pub(crate) fn post_under(&self, colour: impl Into<Colour>, event: Event) {
        if self.limits.one_colour {
            self.events.post(0, event);
        } else {
            self.events.post(colour, event);
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether this request is its connection's last.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Counts an answer.
    pub(crate) fn count_answer(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// Answers to requests that were understood.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}
