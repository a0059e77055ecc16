//! Which sockets are ready: the work of colour 0.
//!
//! The server has an epoll instance of its own. Its descriptor is the only one that the server
//! registers with the events. So a wake-up serves all sockets that have become ready, and a client
//! that waits costs neither a stack nor a fibre.

use super::server::{Client, Server, Service};
use fibre_events::Handler;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// The timer's handler, which the paper does not have.
pub(super) static SWEEP: Handler = Handler::new("Sweep");

/// Sockets that one look learns of, at most.
const BATCH: usize = 256;

/// What the listener is known by; clients are known by their places.
const LISTENER: u64 = u64::MAX;

/// What a client's last word, or its failure, is known by.
const ENDS: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);

/// Makes the instance tell of edges of a socket.
fn add(epoll: impl AsFd, socket: impl AsFd, name: u64) -> io::Result<()> {
    let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
    Ok(epoll::add(epoll, socket, EventData::new_u64(name), flags)?)
}

/// An instance that tells of a listener's edges.
pub(crate) fn instance(listener: impl AsFd) -> io::Result<OwnedFd> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    add(&epoll, listener, LISTENER)?;
    Ok(epoll)
}

impl<S: Service> Server<S> {
    /// Reports a client's edges. The first comes at once, as there is room for writing.
    pub(crate) fn register(self: &Arc<Self>, connection: Client<S>) {
        let name = connection.place() as u64;
        if add(&*self.epoll, &connection.stream, name).is_ok() {
            self.lay(connection);
        }
    }

    /// Goes on with all clients that have ready sockets.
    pub(crate) fn look(self: &Arc<Self>) {
        let mut space = [MaybeUninit::uninit(); BATCH];
        let at_once = rustix::time::Timespec::default();
        let Ok((ready, _)) = epoll::wait(&*self.epoll, &mut space, Some(&at_once)) else {
            return; // interrupted: it is called again
        };
        for event in ready {
            let (data, flags) = (event.data, event.flags);
            match data.u64() {
                LISTENER => self.post_accept(),
                place => {
                    if let Some(mut connection) = self.table.edge(place as usize) {
                        connection.has_more |= flags.intersects(ENDS);
                        self.go_on(connection);
                    }
                }
            }
        }
    }

    /// Ends clients that have waited for too long, and looks for new ones.
    pub(crate) fn sweep(self: &Arc<Self>) {
        let now = Instant::now();
        for connection in self.table.take_if(|waits| waits.deadline <= now) {
            if connection.is_midway() {
                S::late(self, connection);
            }
        }
        if !self.is_stopping() {
            self.post_accept();
        }
    }

    /// The event of the timer.
    pub(crate) fn sweeping(self: &Arc<Self>) -> fibre_events::Event {
        let server = Arc::clone(self);
        SWEEP.with(move || server.sweep())
    }
}
