//! The connections of a server: how many there may be, and how they are stopped.
//!
//! A connection is *at rest* while it waits for the first byte of a next request, and *at work*
//! otherwise. To stop, the server ends the receiving direction of all that are at rest, which then
//! read the end of the stream; the others find out when they want to rest.
//!
//! Invariant: both facts, at rest and stopping, change under the connection's lock, so either the
//! stopper finds it at rest or it finds the stopper. A connection is entered before it is
//! served, under the lock that also guards `stopping`: it is refused, or the stopper sees it.

use std::collections::HashMap;
use std::net::Shutdown;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fibre::sync::{Condvar, Mutex};

/// What a server needs of a connection's socket besides reading and writing.
pub trait Socket: Send + Sync + 'static {
    /// Sets how long each call may wait.
    fn set_timeout(&self, timeout: Duration) -> std::io::Result<()>;

    /// Sets until when all calls may wait.
    fn set_deadline(&self, deadline: Option<Instant>);

    /// Ends a direction or both.
    fn shutdown(&self, how: Shutdown) -> std::io::Result<()>;
}

impl Socket for fibre::net::TcpStream {
    fn set_timeout(&self, timeout: Duration) -> std::io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }

    fn set_deadline(&self, deadline: Option<Instant>) {
        self.set_read_deadline(deadline);
        self.set_write_deadline(deadline);
    }

    fn shutdown(&self, how: Shutdown) -> std::io::Result<()> {
        self.shutdown(how)
    }
}

/// A connection as its server knows it.
#[derive(Debug)]
pub struct Link<S> {
    /// The socket.
    socket: S,
    /// What the stopper and the connection tell each other.
    state: Mutex<State>,
}

/// What a connection is about.
#[derive(Debug, Default)]
struct State {
    /// It waits for the first byte of a next request.
    at_rest: bool,
    /// No request should follow.
    stopping: bool,
}

impl<S: Socket> Link<S> {
    /// The socket.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// The connection is about to wait for a next request; false if there should be no next one.
    pub fn rest(&self) -> bool {
        let mut state = self.state.lock();
        state.at_rest = !state.stopping;
        state.at_rest
    }

    /// Something has arrived that must not be cut off.
    pub fn work(&self) {
        self.state.lock().at_rest = false;
    }

    /// Whether the server is stopping.
    pub fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Breaks the connection off. One that is broken already needs no shutdown.
    pub fn cut(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Lets the request in flight be the last.
    fn stop(&self) {
        let mut state = self.state.lock();
        state.stopping = true;
        if state.at_rest {
            let _ = self.socket.shutdown(Shutdown::Read);
        }
    }
}

/// All connections of a server.
#[derive(Debug)]
pub struct Connections<S> {
    /// What the lock guards.
    register: Mutex<Register<S>>,
    /// Notified when a connection ends, and when the server stops.
    changed: Condvar,
    /// How many there may be at once.
    most: usize,
}

/// The links by number.
#[derive(Debug)]
struct Register<S> {
    /// No link is entered any more.
    stopping: bool,
    /// The number of the next link, which is also how many there have been.
    next: u64,
    /// The links that are served.
    links: HashMap<u64, Arc<Link<S>>>,
}

impl<S: Socket> Connections<S> {
    /// Room for so many.
    pub fn new(most: usize) -> Self {
        let register = Register {
            stopping: false,
            next: 0,
            links: HashMap::new(),
        };
        Self {
            register: Mutex::new(register),
            changed: Condvar::new(),
            most,
        }
    }

    /// Enters a connection, once there is room for it; `None` if the server is stopping. Blocks
    /// the fibre, or the thread if the caller is not a fibre.
    pub fn admit(self: &Arc<Self>, socket: S) -> Option<Admission<S>> {
        let state = Mutex::new(State::default());
        let link = Arc::new(Link { socket, state });
        let mut register = self.register.lock();
        self.changed.wait_while(&mut register, |register| {
            register.links.len() >= self.most && !register.stopping
        });
        if register.stopping {
            return None;
        }
        let number = register.next;
        register.next += 1;
        register.links.insert(number, Arc::clone(&link));
        Some(Admission {
            number,
            link,
            connections: Arc::clone(self),
        })
    }

    /// How many there have been.
    pub fn count(&self) -> u64 {
        self.register.lock().next
    }

    /// Whether the server is stopping.
    pub fn is_stopping(&self) -> bool {
        self.register.lock().stopping
    }

    /// Admits nobody any more and lets every connection's request be its last.
    pub fn stop(&self) {
        let mut register = self.register.lock();
        register.stopping = true;
        register.links.values().for_each(|link| link.stop());
        self.changed.notify_all();
    }

    /// Breaks off the connections that have not ended.
    pub fn cut(&self) {
        let register = self.register.lock();
        register.links.values().for_each(|link| link.cut());
    }

    /// Waits until all connections have ended; false if some have not after `timeout`. Blocks the
    /// fibre (or thread).
    pub fn ended_within(&self, timeout: Duration) -> bool {
        let mut register = self.register.lock();
        let waiting = |register: &mut Register<S>| !register.links.is_empty();
        self.changed
            .wait_while_timeout(&mut register, timeout, waiting);
        register.links.is_empty()
    }
}

/// A connection that is entered, and taken out again however its fibre ends.
#[derive(Debug)]
pub struct Admission<S: Socket> {
    /// Its number, which no other connection has had.
    pub number: u64,
    /// The connection.
    link: Arc<Link<S>>,
    /// Where it is entered.
    connections: Arc<Connections<S>>,
}

impl<S: Socket> Admission<S> {
    /// The connection, for those who may have to break it off.
    pub fn share(&self) -> Arc<Link<S>> {
        Arc::clone(&self.link)
    }
}

impl<S: Socket> Deref for Admission<S> {
    type Target = Link<S>;

    fn deref(&self) -> &Link<S> {
        &self.link
    }
}

impl<S: Socket> Drop for Admission<S> {
    fn drop(&mut self) {
        let link = self.connections.register.lock().links.remove(&self.number);
        drop(link);
        self.connections.changed.notify_all();
    }
}
