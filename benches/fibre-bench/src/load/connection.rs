//! One client connection: where it is within an exchange.
//!
//! A connection is *waiting* from the moment it begins an exchange until the
//! last byte of the answers, and else *at rest*. Its socket is registered
//! edge-triggered and once; room to send is asked for only by a connection
//! that has met a full socket, and then for good, since an edge-triggered
//! socket that nobody fills tells nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, sockopt};

use super::exchange::Exchange;
use super::failure::Failure;
use fibre_measure::Turns;

/// Flags that come with the end of a stream.
const HANG_UP: EventFlags = EventFlags::RDHUP
    .union(EventFlags::HUP)
    .union(EventFlags::ERR);

/// What came of an event.
#[must_use]
pub(super) enum Progress {
    /// More has to come.
    Waiting,
    /// All answers are there; the connection is at rest.
    Answered,
    /// The connection is of no more use.
    Failed(Failure),
}

/// An open connection, or one that is being opened.
pub(super) struct Connection {
    /// The socket, non-blocking.
    socket: OwnedFd,
    /// When the exchange began: with a new connection, before it was opened.
    pub(super) began: Instant,
    /// Bytes of the request that the socket took.
    sent: usize,
    /// Bytes of the answers that came.
    received: usize,
    /// Exchanges that were begun after the first one.
    pub(super) begun: u64,
    /// Whether an answer is due.
    pub(super) waiting: bool,
    /// When it asks for its next stall.
    pub(super) stall_due: Instant,
    /// Whether it waits for the answer to one.
    pub(super) stalls: bool,
    /// Whether the registration asks for room to send, too.
    asks_for_room: bool,
}

impl Connection {
    /// Opens a connection, begins the first exchange on it and registers it as
    /// number `index`. The outer error is the generator's own.
    pub(super) fn open(
        turns: &mut Turns,
        exchange: &Exchange,
        epoll: &OwnedFd,
        index: usize,
    ) -> io::Result<Result<Self, Failure>> {
        let began = Instant::now();
        let socket = match turns.connect() {
            Ok(socket) => socket,
            Err(error) => return Ok(Err(Failure::of(error))),
        };
        let mut connection = Self {
            socket,
            began,
            sent: 0,
            received: 0,
            begun: 0,
            waiting: true,
            stall_due: began,
            stalls: false,
            asks_for_room: false,
        };
        if let Err(failure) = connection.send(exchange) {
            return Ok(Err(failure));
        }
        connection.asks_for_room = !connection.has_sent(exchange);
        let interest = connection.interest();
        epoll::add(epoll, &connection.socket, token(index), interest)?;
        Ok(Ok(connection))
    }

    /// Lets small segments go at once.
    pub(super) fn set_nodelay(&self) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(&self.socket, true)?)
    }

    /// Begins the next exchange.
    #[inline]
    pub(super) fn begin(&mut self, exchange: &Exchange, now: Instant) -> Result<(), Failure> {
        self.began = now;
        self.sent = 0;
        self.received = 0;
        self.begun += 1;
        self.waiting = true;
        self.send(exchange)
    }

    /// Asks for room to send if there is more to send and it has not asked yet.
    #[inline]
    pub(super) fn ask_for_room(
        &mut self,
        exchange: &Exchange,
        epoll: &OwnedFd,
        index: usize,
    ) -> io::Result<()> {
        if self.has_sent(exchange) || self.asks_for_room {
            return Ok(());
        }
        self.asks_for_room = true;
        Ok(epoll::modify(
            epoll,
            &self.socket,
            token(index),
            self.interest(),
        )?)
    }

    /// Does what an event allows.
    #[inline]
    pub(super) fn proceed(
        &mut self,
        exchange: &Exchange,
        flags: EventFlags,
        buffer: &mut [u8],
    ) -> Progress {
        let hung_up = flags.intersects(HANG_UP);
        let readable = hung_up || flags.contains(EventFlags::IN);
        if !self.waiting {
            return match (hung_up, readable) {
                (true, _) => Progress::Failed(Failure::Closed),
                (false, true) => Progress::Failed(Failure::Wrong),
                (false, false) => Progress::Waiting,
            };
        }
        let mut outcome = Ok(());
        if !self.has_sent(exchange) {
            outcome = self.send(exchange);
        }
        if readable && outcome.is_ok() {
            outcome = self.receive(exchange, hung_up, buffer);
        }
        match outcome {
            Err(failure) => Progress::Failed(failure),
            Ok(()) if self.received < exchange.expected => Progress::Waiting,
            Ok(()) => {
                self.waiting = false;
                Progress::Answered
            }
        }
    }

    /// Takes what has come. A read that is not filled has drained the socket,
    /// except that the end of the stream may hide behind it.
    fn receive(
        &mut self,
        exchange: &Exchange,
        hung_up: bool,
        buffer: &mut [u8],
    ) -> Result<(), Failure> {
        loop {
            let length = match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) if self.received == exchange.expected => return Ok(()),
                Ok((0, _)) => return Err(Failure::Closed),
                Ok((length, _)) => length,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(Failure::of(error)),
            };
            if !exchange.agrees(self.received, &buffer[..length]) {
                return Err(Failure::Wrong);
            }
            self.received += length;
            if length < buffer.len() && !hung_up {
                return Ok(());
            }
        }
    }

    /// Sends what the socket takes.
    fn send(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        while let Some(unsent @ [_, ..]) = exchange.request.get(self.sent..) {
            match rustix::net::send(&self.socket, unsent, SendFlags::NOSIGNAL) {
                Ok(sent) => self.sent += sent,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::of(error)),
            }
        }
        Ok(())
    }

    /// Whether the socket took the whole request.
    fn has_sent(&self, exchange: &Exchange) -> bool {
        self.sent == exchange.request.len()
    }

    /// The events it asks for.
    fn interest(&self) -> EventFlags {
        let mut interest = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        interest.set(EventFlags::OUT, self.asks_for_room);
        interest
    }
}

/// The event data of connection number `index`.
fn token(index: usize) -> EventData {
    EventData::new_u64(index as u64)
}
