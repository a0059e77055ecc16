//! Stopping: which connections may be closed, and which must finish.
//!
//! The server knows its connections as [`Link`]s, each a socket and a state word
//! of two bits:
//!
//! * `MIDWAY`: part of a request has arrived and its fibre waits for the rest;
//! * `STOPPED`: the server is stopping, this request is the last.
//!
//! To stop, the server sets `STOPPED` everywhere and shuts the reading side of
//! the links that are not `MIDWAY`. Their fibres either wait for a next request
//! and see the end of the stream instead, or work on an answer, which needs no
//! reading, and see it then. The others finish their request, find `STOPPED`
//! when they leave `MIDWAY`, and close.
//!
//! Invariants: (1) both bits change by read-modify-write on one word, so either
//! the stopper finds `MIDWAY` or the fibre finds `STOPPED` on leaving it; no
//! order between different words is relied on. (2) A link is registered before
//! its fibre reads, under the lock that also guards `stopping`: it is either
//! refused or seen by the stopper. Requests that arrive whole, which is the
//! usual case, touch none of this but one relaxed load.
//!
//! Why not a group of fibres, cancelled as a whole: cancellation ends the wait of
//! a fibre whatever it waits for, and the one in the middle of a request is to go
//! on. Those that do so for too long are cancelled, with the whole cluster.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use fibre::net::TcpStream;
use fibre::sync::Mutex;

/// The fibre waits for the rest of a request.
const MIDWAY: u8 = 1;

/// The server is stopping.
const STOPPED: u8 = 2;

/// A connection as the server knows it.
pub(crate) struct Link {
    /// The socket.
    pub(crate) stream: TcpStream,
    /// `MIDWAY` and `STOPPED`.
    state: AtomicU8,
}

impl Link {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            state: AtomicU8::new(0),
        }
    }

    /// Part of a request has arrived: the rest must not be cut off.
    pub(crate) fn enter_request(&self) {
        self.state.fetch_or(MIDWAY, Ordering::Relaxed);
    }

    /// All of the request has arrived.
    pub(crate) fn leave_request(&self) {
        self.state.fetch_and(!MIDWAY, Ordering::Relaxed);
    }

    /// True if no request should follow this one.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Relaxed) & STOPPED != 0
    }

    /// Lets the request in flight be the last. A socket that is broken already
    /// needs no shutdown.
    fn stop(&self) {
        if self.state.fetch_or(STOPPED, Ordering::Relaxed) & MIDWAY == 0 {
            let _: io::Result<()> = self.stream.shutdown(Shutdown::Read);
        }
    }
}

/// All connections, and whether the server is stopping.
#[derive(Default)]
pub(crate) struct Connections(Mutex<Register>);

/// The links by number.
#[derive(Default)]
struct Register {
    /// The server is stopping: no link is added any more.
    stopping: bool,
    /// The number of the next link, which is also how many there have been.
    next: u64,
    /// The connections with live fibres.
    links: HashMap<u64, Arc<Link>>,
}

impl Connections {
    /// Adds a link and returns its number; `None` if the server is stopping.
    pub(crate) fn add(&self, link: &Arc<Link>) -> Option<u64> {
        let mut register = self.0.lock();
        if register.stopping {
            return None;
        }
        let number = register.next;
        register.next += 1;
        register.links.insert(number, Arc::clone(link));
        Some(number)
    }

    /// Takes the link with this number out again.
    pub(crate) fn remove(&self, number: u64) {
        let link = self.0.lock().links.remove(&number);
        // Closes the socket, if this was its last owner, without the lock.
        drop(link);
    }

    /// How many connections there have been.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().next
    }

    /// Adds no more links and lets every connection's request be its last.
    pub(crate) fn stop(&self) {
        let mut register = self.0.lock();
        register.stopping = true;
        register.links.values().for_each(|link| link.stop());
    }
}
