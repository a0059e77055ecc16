//! One client: a fibre that sends, hears, and comes back when its connection ends.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fibre::net::TcpStream;
use fibre::sync::{Barrier, Mutex};
use fibre_examples::broker::Position;
use tungstenite::{Bytes, Error, Message, WebSocket};

/// How long a client waits for a connection, and at the end for what it has sent to come back.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client that hears nothing for so long, once all are at their end, has heard all.
const SILENCE: Duration = Duration::from_secs(2);

/// How often a client looks whether that is so.
const LOOK: Duration = Duration::from_millis(100);

/// The pause between two attempts to come back.
const PAUSE: Duration = Duration::from_millis(20);

/// What clients do.
#[derive(Clone)]
pub(crate) struct Load {
    /// Where they connect.
    pub(crate) address: SocketAddr,
    /// Whether what is said is kept for those who come back.
    pub(crate) keeps: bool,
    /// The time between two messages of a client.
    pub(crate) interval: Duration,
    /// How long they send.
    pub(crate) time: Duration,
    /// How many rooms there are.
    pub(crate) rooms: usize,
    /// Where they wait until all are in their rooms.
    pub(crate) begin: Arc<Barrier>,
    /// How many clients still send, or wait for what they have sent.
    pub(crate) unfinished: Arc<AtomicUsize>,
    /// The last position that a client of each room has heard, if it is at its end.
    pub(crate) newest: Arc<Mutex<Vec<Option<Position>>>>,
}

/// What a client has sent and heard.
#[derive(Default)]
pub(crate) struct Heard {
    /// The client's room.
    pub(crate) room: usize,
    /// How many messages it has sent.
    pub(crate) sent: u64,
    /// How many of them once more.
    pub(crate) again: u64,
    /// What it heard, in this order: who sent it, and its number.
    pub(crate) all: Vec<(usize, u64)>,
    /// How long it took to be in its room again.
    pub(crate) away: Vec<Duration>,
}

/// A connection's end.
type Socket = WebSocket<TcpStream>;

/// A client.
pub(crate) struct Client {
    /// Its number.
    number: usize,
    /// What it does.
    load: Load,
    /// When it sends no more.
    end: Instant,
    /// Messages that it has sent and not heard.
    open: BTreeSet<u64>,
    /// The position of the last message that it has heard.
    last: Option<Position>,
    /// Whether it is at its end: it sends no more, and waits for nothing.
    is_finished: bool,
    /// What it has done so far.
    heard: Heard,
}

impl Client {
    /// A client that has not begun.
    pub(crate) fn new(number: usize, load: Load) -> Self {
        let heard = Heard {
            room: number % load.rooms,
            ..Heard::default()
        };
        Self {
            number,
            end: Instant::now() + load.time,
            load,
            open: BTreeSet::new(),
            last: None,
            is_finished: false,
            heard,
        }
    }

    /// Sends until the end, hears all that comes, and returns that. Blocks the fibre.
    pub(crate) fn run(mut self) -> io::Result<Heard> {
        let entered = self.enter();
        self.load.begin.wait();
        self.end = Instant::now() + self.load.time;
        let mut socket = entered?;
        let mut next = Instant::now();
        loop {
            match self.converse(&mut socket, &mut next) {
                Ok(()) => return Ok(self.heard),
                Err(_) if Instant::now() < self.end + PATIENCE => {
                    let left = Instant::now();
                    socket = self.enter()?;
                    self.heard.away.push(left.elapsed());
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Enters the room, with as many attempts as it takes; returns once it is there, and has heard
    /// what it missed. Blocks the fibre.
    fn enter(&mut self) -> io::Result<Socket> {
        let begun = Instant::now();
        loop {
            match self.try_enter() {
                Ok(socket) => return Ok(socket),
                Err(_) if begun.elapsed() < PATIENCE => fibre::sleep(PAUSE),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Enters the room.
    fn try_enter(&mut self) -> Result<Socket, Error> {
        let stream = TcpStream::connect(self.load.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let after = self.last.map(|last| format!("?after={last}"));
        let after = after.unwrap_or_default();
        let url = format!("ws://{}/{}{after}", self.load.address, self.heard.room);
        let (mut socket, _) = tungstenite::client(url, stream).map_err(|error| match error {
            tungstenite::HandshakeError::Failure(error) => error,
            tungstenite::HandshakeError::Interrupted(_) => Error::AttackAttempt,
        })?;
        // The server answers once the client is in the room and has been sent what it missed.
        socket.send(Message::Ping(Bytes::new()))?;
        loop {
            match socket.read()? {
                Message::Pong(_) => break,
                message => self.hear(&message),
            }
        }
        if self.load.keeps {
            for number in &self.open {
                socket.send(self.message(*number))?;
                self.heard.again += 1;
            }
        } else {
            self.open.clear();
        }
        Ok(socket)
    }

    /// Sends and hears until all is done. Blocks the fibre.
    fn converse(&mut self, socket: &mut Socket, next: &mut Instant) -> Result<(), Error> {
        let mut last_heard = Instant::now();
        loop {
            let now = Instant::now();
            if now >= *next && now < self.end {
                let number = self.heard.sent;
                self.heard.sent += 1;
                self.open.insert(number);
                *next += self.load.interval;
                socket.send(self.message(number))?;
                continue;
            }
            let silence = last_heard.max(self.end).elapsed();
            if now >= self.end && self.is_at_end(silence) {
                return Ok(());
            }
            let until = if now >= self.end { now + LOOK } else { *next };
            socket.get_mut().set_read_deadline(Some(until));
            match socket.read() {
                Ok(message) => {
                    last_heard = Instant::now();
                    self.hear(&message);
                }
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::TimedOut => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the client has heard all, as it has heard nothing for so long since the end.
    fn is_at_end(&mut self, silence: Duration) -> bool {
        // What is not kept may never come.
        let waits = !self.open.is_empty() && (self.load.keeps || silence < SILENCE);
        let mut newest = self.load.newest.lock();
        let newest = &mut newest[self.heard.room];
        *newest = self.last.max(*newest);
        let ends = !waits || silence >= PATIENCE;
        if ends && !std::mem::replace(&mut self.is_finished, true) {
            self.load.unfinished.fetch_sub(1, Ordering::Relaxed);
        }
        let all_are = self.load.unfinished.load(Ordering::Relaxed) == 0;
        let is_behind = self.last < *newest && silence < PATIENCE;
        all_are && silence > SILENCE && !is_behind
    }

    /// The message of this number.
    fn message(&self, number: u64) -> Message {
        Message::text(format!("{} {number}", self.number))
    }

    /// Notes a message of the room.
    fn hear(&mut self, message: &Message) {
        let Message::Text(text) = message else { return };
        let Some((head, body)) = text.split_once(": ") else {
            return;
        };
        if let Some((position, _)) = head.split_once(' ') {
            self.last = position.parse().ok().or(self.last);
        }
        let numbers = body.split_once(' ');
        let numbers = numbers.and_then(|(who, number)| Some((who.parse(), number.parse().ok()?)));
        if let Some((Ok(who), number)) = numbers {
            if who == self.number {
                self.open.remove(&number);
            }
            self.heard.all.push((who, number));
        }
    }
}
