//! One client: its request, the connection to the server that it names, and the answer on its way
//! back. All events are of the client's colour, the number of its descriptor.
//!
//! | the paper's callback | here | goes on with |
//! |---|---|---|
//! | req_cb | `read_request`, when the client has sent something | parse |
//! | parse, by cpucb | `parse_request` | tcpconnect |
//! | the callback of tcpconnect | `connected` | write_cb |
//! | write_cb | `write_request`, when the server takes something | – |
//! | – | `relay`, when the server has sent something | – |
//! | – | `drain`, when the client takes something again | `relay` |
//!
//! What has come from the server waits for the client in a buffer of [`ROOM`] bytes, and nothing
//! more is read meanwhile.

use crate::front::limits::Limits;
use crate::target::{self, Refusal, Target};
use fibre_events::{Events, Handler};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static REQUEST: Handler = Handler::new("req_cb");
static PARSE: Handler = Handler::new("parse");
static WRITE: Handler = Handler::new("write_cb");
static RELAY: Handler = Handler::new("relay");
static DRAIN: Handler = Handler::new("drain");
static LATE: Handler = Handler::new("late");

/// The most bytes of a request's head.
const HEAD: usize = 16 * 1024;

/// The most bytes of an answer that wait for a client.
pub(crate) const ROOM: usize = 16 * 1024;

/// How many bytes are read after the last answer, so that no reset takes it away, and how long.
const LINGER: (usize, Duration) = (256 * 1024, Duration::from_secs(1));

/// Told once an exchange has ended and all its descriptors are closed.
pub(crate) type Gone = Box<dyn Fn() + Send + Sync>;

/// A client and its server.
pub(crate) struct Exchange {
    events: Events,
    limits: Limits,
    colour: u64,
    client: Arc<TcpStream>,
    /// Only ever taken by events of its colour, and by those that look for late ones.
    state: Mutex<State>,
    /// Dropped last.
    _gone: OnDrop,
}

/// Calls something when it is dropped.
struct OnDrop(Gone);

impl Drop for OnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// What an exchange waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A request that may have come in part.
    Request,
    /// A connection.
    Connection,
    /// An answer, or its rest.
    Answer,
    /// It has said its last, and reads what still comes.
    Linger,
    Over,
}

/// What changes.
struct State {
    phase: Phase,
    deadline: Instant,
    /// What the client has sent.
    head: Vec<u8>,
    server: Option<Arc<TcpStream>>,
    /// What the server has not taken.
    to_server: Vec<u8>,
    /// What the client has not taken.
    to_client: Vec<u8>,
    /// Whether the client has to take something before more is read for it.
    is_paused: bool,
    /// Whether any of the answer has come.
    is_answered: bool,
    /// Whether nothing more comes from the server.
    is_whole: bool,
    lingered: usize,
}

impl Exchange {
    /// Begins with a client. `None` if it has gone already.
    pub(crate) fn begin(
        events: &Events,
        limits: Limits,
        client: TcpStream,
        gone: Gone,
    ) -> Option<Arc<Self>> {
        let exchange = Arc::new(Self {
            events: events.clone(),
            limits,
            colour: client.as_raw_fd().unsigned_abs().into(),
            client: Arc::new(client),
            state: Mutex::new(State {
                phase: Phase::Request,
                deadline: Instant::now() + limits.idle,
                head: Vec::new(),
                server: None,
                to_server: Vec::new(),
                to_client: Vec::new(),
                is_paused: false,
                is_answered: false,
                is_whole: false,
                lingered: 0,
            }),
            _gone: OnDrop(gone),
        });
        exchange.client.set_nonblocking(true).ok()?;
        exchange.client.set_nodelay(true).ok()?;
        let shared = Arc::clone(&exchange);
        let callback = REQUEST.every(move || shared.read_request());
        let client = Arc::clone(&exchange.client);
        events.on_readable(client, exchange.colour, callback).ok()?;
        Some(exchange)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has waited for too long.
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        let state = self.state();
        state.phase != Phase::Over && state.deadline <= now
    }

    /// Whether nothing of a request has come.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state();
        state.phase == Phase::Request && state.head.is_empty()
    }

    /// Ends it if it is late when this comes to run, or if it is idle.
    pub(crate) fn post_end(self: &Arc<Self>) {
        let exchange = Arc::clone(self);
        let event = LATE.with(move || exchange.late());
        self.events.post(self.colour, event);
    }

    fn late(self: &Arc<Self>) {
        let refusal = {
            let state = self.state();
            match state.phase {
                Phase::Request if state.head.is_empty() => None,
                _ if state.deadline > Instant::now() => return,
                Phase::Request => Some(Refusal::RequestTimeout),
                Phase::Connection => Some(Refusal::GatewayTimeout),
                Phase::Answer if !state.is_answered => Some(Refusal::GatewayTimeout),
                Phase::Answer | Phase::Linger | Phase::Over => None,
            }
        };
        match refusal {
            Some(refusal) => self.refuse(refusal),
            None => self.end(),
        }
    }

    fn read_request(self: &Arc<Self>) {
        let mut room = [0; 4096];
        let read = (&*self.client).read(&mut room);
        let mut state = self.state();
        match (read, state.phase) {
            (Ok(count @ 1..), Phase::Request) => {
                if state.head.is_empty() {
                    state.deadline = Instant::now() + self.limits.request;
                }
                state.head.extend(&room[..count]);
                drop(state);
                let exchange = Arc::clone(self);
                let event = PARSE.with(move || exchange.parse_request());
                self.events.post(self.colour, event);
            }
            (Ok(count @ 1..), _) => {
                // What follows the request is thrown away.
                state.lingered += count;
                let is_enough = state.lingered >= LINGER.0;
                drop(state);
                if is_enough {
                    self.end();
                }
            }
            (Ok(0), Phase::Connection | Phase::Answer) => {
                // The client may have sent its last, and wait for the answer.
                drop(state);
                self.events.off_readable(&self.client);
            }
            (Err(error), _) if is_transient(&error) => {}
            (Ok(_) | Err(_), _) => {
                drop(state);
                self.end();
            }
        }
    }

    fn parse_request(self: &Arc<Self>) {
        let state = self.state();
        if state.phase != Phase::Request {
            return;
        }
        let parsed = target::parse(&state.head);
        let is_full = state.head.len() >= HEAD;
        drop(state);
        match parsed {
            Ok(Some(target)) => self.connect(target),
            Ok(None) if is_full => self.refuse(Refusal::FieldsTooLarge),
            Ok(None) => {}
            Err(refusal) => self.refuse(refusal),
        }
    }

    fn connect(self: &Arc<Self>, target: Target) {
        let mut state = self.state();
        state.phase = Phase::Connection;
        state.deadline = Instant::now() + self.limits.idle;
        state.head = Vec::new();
        state.to_server = target.request;
        drop(state);
        let exchange = Arc::clone(self);
        let connected = move |stream: io::Result<fibre::net::TcpStream>| {
            let stream = stream.and_then(|stream| {
                let stream = stream.into_std()?;
                stream.set_nonblocking(true)?;
                Ok(stream)
            });
            exchange.connected(stream);
        };
        let begun = self
            .events
            .tcp_connect(target.host, target.port, self.colour, connected);
        if begun.is_err() {
            self.refuse(Refusal::BadGateway);
        }
    }

    fn connected(self: &Arc<Self>, stream: io::Result<TcpStream>) {
        let mut state = self.state();
        if state.phase != Phase::Connection {
            return; // it was too late
        }
        let Ok(stream) = stream else {
            drop(state);
            return self.refuse(Refusal::BadGateway);
        };
        let server = Arc::new(stream);
        state.phase = Phase::Answer;
        state.server = Some(Arc::clone(&server));
        drop(state);
        let (writer, reader) = (Arc::clone(self), Arc::clone(self));
        let write = WRITE.every(move || writer.write_request());
        let relay = RELAY.every(move || reader.relay());
        let writes = self
            .events
            .on_writable(Arc::clone(&server), self.colour, write);
        let reads = self.events.on_readable(server, self.colour, relay);
        if writes.and(reads).is_err() {
            self.refuse(Refusal::BadGateway);
        }
    }

    fn write_request(self: &Arc<Self>) {
        let mut state = self.state();
        let Some(server) = state.server.clone() else {
            return;
        };
        match write_some(&server, &mut state.to_server) {
            Ok(false) => {}
            // A server may answer without having taken all.
            Ok(true) | Err(_) => {
                drop(state);
                self.events.off_writable(&server);
            }
        }
    }

    fn relay(self: &Arc<Self>) {
        let mut state = self.state();
        let Some(server) = state.server.clone() else {
            return;
        };
        state.to_client.resize(ROOM, 0);
        let read = (&*server).read(&mut state.to_client);
        state
            .to_client
            .truncate(read.as_ref().copied().unwrap_or(0));
        match read {
            Err(error) if is_transient(&error) => return,
            Ok(0) => state.is_whole = true,
            Ok(_) => {
                state.is_answered = true;
                state.deadline = Instant::now() + self.limits.writing(ROOM);
            }
            Err(_) if state.is_answered => {
                drop(state);
                return self.end(); // so that the client sees that it is not whole
            }
            Err(_) => {}
        }
        if !state.is_answered {
            drop(state);
            return self.refuse(Refusal::BadGateway);
        }
        drop(state);
        self.drain();
    }

    /// Writes what waits for the client, and goes on with the server, or waits for the client.
    fn drain(self: &Arc<Self>) {
        let mut state = self.state();
        let written = write_some(&self.client, &mut state.to_client);
        let server = state.server.clone();
        let is_last = state.is_whole || state.phase == Phase::Linger;
        let was_paused = state.is_paused;
        state.is_paused = matches!(written, Ok(false));
        drop(state);
        match written {
            Err(_) => self.end(),
            Ok(true) if is_last => self.linger(),
            Ok(true) if was_paused => {
                self.events.off_writable(&self.client);
                if let Some(server) = server {
                    let exchange = Arc::clone(self);
                    let relay = RELAY.every(move || exchange.relay());
                    self.watch(self.events.on_readable(server, self.colour, relay));
                }
            }
            Ok(false) if !was_paused => {
                if let Some(server) = server {
                    self.events.off_readable(&server);
                }
                let exchange = Arc::clone(self);
                let drain = DRAIN.every(move || exchange.drain());
                let client = Arc::clone(&self.client);
                self.watch(self.events.on_writable(client, self.colour, drain));
            }
            Ok(_) => {}
        }
    }

    /// Ends it if a callback could not be registered.
    fn watch(self: &Arc<Self>, registered: io::Result<()>) {
        if registered.is_err() {
            self.end();
        }
    }

    /// Tells the client why there is no answer.
    fn refuse(self: &Arc<Self>, refusal: Refusal) {
        let mut state = self.state();
        if matches!(state.phase, Phase::Linger | Phase::Over) {
            return;
        }
        state.phase = Phase::Linger;
        state.deadline = Instant::now() + LINGER.1;
        state.to_client = refusal.answer();
        let server = state.server.take();
        drop(state);
        self.let_go(server);
        self.drain();
    }

    /// Ends our side, and reads on for a while.
    fn linger(self: &Arc<Self>) {
        let mut state = self.state();
        state.phase = Phase::Linger;
        state.deadline = Instant::now() + LINGER.1;
        let server = state.server.take();
        drop(state);
        self.let_go(server);
        self.events.off_writable(&self.client);
        if self.client.shutdown(Shutdown::Write).is_err() {
            self.end();
        }
        // The client's last word may have been read, and its callback been taken back.
        let exchange = Arc::clone(self);
        let callback = REQUEST.every(move || exchange.read_request());
        let client = Arc::clone(&self.client);
        self.watch(self.events.on_readable(client, self.colour, callback));
    }

    /// Closes the connection to the server.
    fn let_go(&self, server: Option<Arc<TcpStream>>) {
        if let Some(server) = server {
            self.events.off_readable(&server);
            self.events.off_writable(&server);
        }
    }

    /// Takes all callbacks back; what they hold is dropped with them.
    fn end(self: &Arc<Self>) {
        let mut state = self.state();
        state.phase = Phase::Over;
        let server = state.server.take();
        drop(state);
        self.let_go(server);
        self.events.off_readable(&self.client);
        self.events.off_writable(&self.client);
    }
}

/// Writes what a socket takes, and forgets that. Returns whether that was all.
fn write_some(mut socket: &TcpStream, bytes: &mut Vec<u8>) -> io::Result<bool> {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(count) => drop(bytes.drain(..count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether a call is to be made again later.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
