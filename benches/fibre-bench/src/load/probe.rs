//! The delay of one connection while others keep the server from its work.
//!
//! One connection sends a request every millisecond, whether or not the last
//! one has been answered: a client that waited would send nothing during the
//! very delay that is to be seen, and count it once. After a fifth of the time
//! other connections each ask the server to burn CPU time or to block a kernel
//! thread ([`http::Work`]). All of them have been served
//! once before, so that a runtime has given each its place.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::exchange::Exchange;
use super::failure::Failure;
use super::plan::PATIENCE;
use super::summary::{Summary, Tally};
use crate::http;
use crate::measure::CpuClock;

/// Time between two requests of the probe.
const INTERVAL: Duration = Duration::from_millis(1);

/// What keeps the server from its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// Nothing does.
    None,
    /// A handler burns CPU time.
    Spin(Duration),
    /// A handler blocks its kernel thread.
    Block(Duration),
}

impl Disturbance {
    /// The path of the request that causes it.
    fn path(self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Spin(time) => Some(format!("/spin?ms={}", time.as_millis())),
            Self::Block(time) => Some(format!("/block?ms={}", time.as_millis())),
        }
    }

    /// How long it lasts.
    fn time(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Spin(time) | Self::Block(time) => time,
        }
    }
}

/// A measurement of delay.
pub struct Probe {
    /// Where the server listens.
    pub address: SocketAddr,
    /// How long requests are sent.
    pub length: Duration,
    /// What happens after a fifth of it.
    pub disturbance: Disturbance,
    /// On how many connections that happens at the same time.
    pub disturbers: usize,
    /// The CPU clock of the server, if its cost is asked for.
    pub server: Option<CpuClock>,
}

impl Probe {
    /// Sends the requests and says how long the answers took.
    ///
    /// # Errors
    ///
    /// When the generator itself fails. What goes wrong on a connection is in
    /// the summary.
    pub fn run(&self) -> io::Result<Summary> {
        // A timer that may be late by its slack would look like a delay.
        rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
        let mut tally = Tally::new()?;
        if let Err(failure) = self.observe(&mut tally)? {
            tally.failures.count(failure);
        }
        Ok(tally.summary(1 + self.disturbers))
    }

    /// Does it all; the inner error is that of a connection.
    fn observe(&self, tally: &mut Tally) -> io::Result<Result<(), Failure>> {
        let patience = PATIENCE + self.disturbance.time();
        let opened = Client::open(self.address, patience).and_then(|client| {
            let others = 0..self.disturbers;
            let others = others.map(|_| Client::open(self.address, patience));
            Ok((client, others.collect::<Result<Vec<_>, _>>()?))
        });
        let (mut client, mut others) = match opened {
            Ok(opened) => opened,
            Err(failure) => return Ok(Err(failure)),
        };
        tally.begin(self.server)?;
        let outcome = self.send_all(&mut client, &mut others, tally);
        tally.end(self.server)?;
        Ok(outcome)
    }

    /// Sends requests on time until the last answer has come.
    fn send_all(
        &self,
        client: &mut Client,
        others: &mut [Client],
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let mut path = self.disturbance.path();
        let started = Instant::now();
        let (disturbed, end) = (started + self.length / 5, started + self.length);
        let mut due = started;
        while due < end || client.awaits() {
            let now = Instant::now();
            if due < end && now >= due {
                client.send("/plaintext", now)?;
                due += INTERVAL;
            }
            if let Some(path) = path.take_if(|_| now >= disturbed) {
                let send = |other: &mut Client| other.send(&path, now);
                others.iter_mut().try_for_each(send)?;
            }
            let wait = if due < end {
                due - now.min(due)
            } else {
                INTERVAL
            };
            client.receive(wait, |latency| tally.count(1, latency))?;
        }
        others.iter_mut().try_for_each(Client::receive_all)
    }
}

/// A connection that sends without waiting for answers.
struct Client {
    /// The socket, non-blocking.
    stream: TcpStream,
    /// The server, for the request head.
    server: SocketAddr,
    /// The answer to each request.
    exchange: Exchange,
    /// When the requests without an answer were sent.
    unanswered: VecDeque<Instant>,
    /// Bytes of the oldest one's answer that have come.
    received: usize,
    /// How long an answer may take.
    patience: Duration,
}

impl Client {
    /// Opens a connection and has one request answered on it.
    fn open(server: SocketAddr, patience: Duration) -> Result<Self, Failure> {
        let open = || {
            let stream = TcpStream::connect_timeout(&server, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        let mut client = Self {
            stream: open().map_err(|error| failure(&error))?,
            server,
            exchange: Exchange::http(server, 1),
            unanswered: VecDeque::new(),
            received: 0,
            patience,
        };
        client.send("/plaintext", Instant::now())?;
        client.receive_all()?;
        Ok(client)
    }

    /// Whether an answer is due.
    fn awaits(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Sends a request.
    fn send(&mut self, path: &str, now: Instant) -> Result<(), Failure> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.server);
        self.unanswered.push_back(now);
        let written = self.stream.write_all(request.as_bytes());
        written.map_err(|error| failure(&error))
    }

    /// Takes all answers that are due.
    fn receive_all(&mut self) -> Result<(), Failure> {
        while self.awaits() {
            self.receive(INTERVAL, |_| ())?;
        }
        Ok(())
    }

    /// Waits for answers no longer than `wait`, takes those that have come and
    /// hands each one's latency to `count`.
    fn receive(&mut self, wait: Duration, count: impl FnMut(Duration)) -> Result<(), Failure> {
        let wait = Timespec {
            tv_sec: 0, // an interval at most
            tv_nsec: wait.subsec_nanos().into(),
        };
        let mut events = [PollFd::new(&self.stream, PollFlags::IN)];
        match rustix::event::poll(&mut events, Some(&wait)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Failure::of(error)),
        }
        let mut buffer = [0; http::READ_BUFFER];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(Failure::Closed),
            Ok(length) => self.take(&buffer[..length], count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.check_patience(),
            Err(error) => Err(failure(&error)),
        }
    }

    /// Counts the answers in `bytes`.
    fn take(&mut self, mut bytes: &[u8], mut count: impl FnMut(Duration)) -> Result<(), Failure> {
        let now = Instant::now();
        while !bytes.is_empty() {
            let missing = self.exchange.expected - self.received;
            let (piece, rest) = bytes.split_at(missing.min(bytes.len()));
            if !self.exchange.agrees(self.received, piece) {
                return Err(Failure::Wrong);
            }
            self.received += piece.len();
            if self.received == self.exchange.expected {
                let sent = self.unanswered.pop_front().ok_or(Failure::Wrong)?;
                count(now - sent);
                self.received = 0;
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Fails if the oldest answer is overdue.
    fn check_patience(&self) -> Result<(), Failure> {
        match self.unanswered.front() {
            Some(sent) if sent.elapsed() > self.patience => Err(Failure::TimedOut),
            _ => Ok(()),
        }
    }
}

/// What an error of a socket means.
fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Failure::TimedOut,
        _ => Errno::from_io_error(error).map_or(Failure::Unopened, Failure::of),
    }
}
