//! One open connection.

use std::mem;
use std::os::fd::OwnedFd;

use fibre_bench::serving::Responder;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

/// Replies that may wait before nothing more is received.
const MOST_WAITING: usize = 64 << 10;

/// A client, and what the kernel does for it.
pub(crate) struct Connection {
    /// The socket, non-blocking.
    socket: OwnedFd,
    /// What turns its bytes into replies.
    responder: Responder,
    /// Replies that nobody sends yet.
    waiting: Vec<u8>,
    /// Replies that the kernel sends; untouched meanwhile.
    leaving: Vec<u8>,
    /// How many of them have gone.
    gone: usize,
    /// Where the next message goes; the kernel's while it receives.
    pub buffer: Box<[u8]>,
    /// Orders the kernel has.
    pub in_flight: u8,
    /// How far the one to receive is.
    pub receiving: Receiving,
    /// Whether one of them is to send.
    pub sending: bool,
    /// Whether more may have come than `recv` was called for.
    unread: bool,
    /// Whether the end of the stream may hide behind a short read.
    hung_up: bool,
    /// Whether the client went away.
    pub closing: bool,
}

/// An order to receive, or to be told of readiness.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Receiving {
    /// There is none.
    No,
    /// The kernel has it.
    Ordered,
    /// The kernel has it, and has been asked to give it up.
    Stopping,
}

impl Connection {
    /// A new one, that receives so many bytes at once.
    pub(crate) fn new(socket: OwnedFd, responder: Responder, room: usize) -> Self {
        Self {
            socket,
            responder,
            waiting: Vec::new(),
            leaving: Vec::new(),
            gone: 0,
            buffer: vec![0; room].into(),
            in_flight: 0,
            receiving: Receiving::No,
            unread: false,
            hung_up: false,
            sending: false,
            closing: false,
        }
    }

    /// Whether too many replies wait to receive more.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= MOST_WAITING
    }

    /// Lets the replies to `bytes` wait.
    pub(crate) fn reply(&mut self, bytes: &[u8]) {
        for reply in self.responder.replies(bytes) {
            self.waiting.extend_from_slice(reply);
        }
    }

    /// What to order the kernel to send now, if anything.
    pub(crate) fn next_to_send(&mut self) -> Option<&[u8]> {
        if self.sending {
            return None;
        }
        if self.gone == self.leaving.len() {
            self.leaving.clear();
            self.gone = 0;
            mem::swap(&mut self.leaving, &mut self.waiting);
        }
        let bytes = &self.leaving[self.gone..];
        self.sending = !bytes.is_empty();
        self.sending.then_some(bytes)
    }

    /// Takes the result of an order to send.
    pub(crate) fn sent(&mut self, result: i32) {
        self.sending = false;
        match usize::try_from(result) {
            Ok(sent) => self.gone += sent,
            Err(_) => self.give_up(),
        }
    }

    /// Calls `send` for what waits; what the socket does not take is left waiting.
    pub(crate) fn send_now(&mut self) {
        if self.gone < self.leaving.len() || self.waiting.is_empty() {
            return;
        }
        match rustix::net::send(&self.socket, &self.waiting, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == self.waiting.len() => self.waiting.clear(),
            Ok(sent) => drop(self.waiting.drain(..sent)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.give_up(),
        }
    }

    /// Notes an event of readiness.
    pub(crate) fn became_readable(&mut self, events: i16) {
        self.unread = true;
        self.hung_up |= events & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR) != 0;
    }

    /// Whether such an event has been followed up only in part, and replies may wait.
    pub(crate) fn can_receive_now(&self) -> bool {
        self.unread && !self.closing && !self.is_full()
    }

    /// After such an event calls `recv` until it finds nothing, and has the replies wait; stops
    /// when too many of them do.
    pub(crate) fn receive_now(&mut self) {
        let mut buffer = mem::take(&mut self.buffer);
        while self.can_receive_now() {
            match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => self.closing = true,
                Ok((length, _)) => {
                    self.reply(&buffer[..length]);
                    self.unread = length == buffer.len() || self.hung_up;
                }
                Err(Errno::AGAIN) => self.unread = false,
                Err(Errno::INTR) => {}
                Err(_) => self.closing = true,
            }
        }
        self.buffer = buffer;
    }

    /// The client is gone: nothing that waits will be sent.
    fn give_up(&mut self) {
        self.waiting.clear();
        self.leaving.clear();
        self.gone = 0;
        self.closing = true;
    }
}
