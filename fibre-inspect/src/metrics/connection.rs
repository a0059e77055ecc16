//! One client, which may be slow or hostile.
//!
//! ```text
//!   Receiving ──► Sending ──► Closing ──► dropped
//! ```
//!
//! No step blocks the thread. A client has [`TIMEOUT`] in total, so a client that sends a byte now
//! and then, or does not read, is dropped like one that does nothing. After the answer the
//! connection is shut down in one direction, and remaining input is read and discarded: a close
//! with unread bytes would be a reset, which may destroy the answer on its way.

use crate::metrics::exposition::CONTENT_TYPE;
use crate::metrics::fork::ClosedInChild;
use crate::metrics::plain_text;
use crate::metrics::request::{Asked, LONGEST, asked};
use rustix::event::PollFlags;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How long a client may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// The most bytes that are thrown away after the answer.
const MOST_IGNORED: usize = 1 << 20;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The request is coming.
    Receiving,
    /// The answer goes out.
    Sending,
    /// The client has its answer, and is to close.
    Closing,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Goes before the stream does.
    _closed_in_child: ClosedInChild,
    stream: TcpStream,
    step: Step,
    /// What has come of the request.
    received: Vec<u8>,
    /// The answer.
    answer: Vec<u8>,
    /// How much of it has gone out, or how much has been thrown away since.
    moved: usize,
    /// When the client's time is over.
    pub deadline: Instant,
}

/// Whether a connection stays.
type Stays = bool;

impl Connection {
    /// A connection that has just come; `None`: it is broken already.
    pub(crate) fn new(stream: TcpStream, now: Instant) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self {
            _closed_in_child: ClosedInChild::new(&stream),
            stream,
            step: Step::Receiving,
            received: Vec::new(),
            answer: Vec::new(),
            moved: 0,
            deadline: now + TIMEOUT,
        })
    }

    /// What it waits for.
    pub(crate) fn wants(&self) -> PollFlags {
        match self.step {
            Step::Sending => PollFlags::OUT,
            Step::Receiving | Step::Closing => PollFlags::IN,
        }
    }

    /// Its descriptor.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Whether the client has not finished its request.
    pub(crate) fn is_receiving(&self) -> bool {
        self.step == Step::Receiving
    }

    /// Whether it may be closed for another: it is not being answered, and nothing that its client
    /// has sent is unread. So its client loses no answer, neither to come nor on its way.
    pub(crate) fn is_idle(&self) -> bool {
        let has_sent = || self.stream.peek(&mut [0]).is_ok_and(|count| count > 0);
        self.step != Step::Sending && !has_sent()
    }

    /// Goes on as far as it can without waiting; `metrics` makes the text. `false`: it is over.
    pub(crate) fn go_on(&mut self, metrics: impl FnOnce() -> String) -> Stays {
        match self.step {
            Step::Receiving => self.receive(metrics),
            Step::Sending => self.send(),
            Step::Closing => self.ignore(),
        }
    }

    /// Takes what has come of the request, and begins the answer if that is all.
    fn receive(&mut self, metrics: impl FnOnce() -> String) -> Stays {
        let mut buffer = [0; LONGEST];
        let room = LONGEST - self.received.len().min(LONGEST);
        match self.stream.read(&mut buffer[..room]) {
            Ok(0) => return false,
            Ok(count) => self.received.extend_from_slice(&buffer[..count]),
            Err(error) => return is_harmless(error.kind()),
        }
        // A reader of the head only is told the length that the body would have.
        let is_head = self.received.starts_with(b"HEAD ");
        let mut allow = "";
        let (status, kind, body) = match asked(&self.received) {
            Asked::Unfinished => return true,
            Asked::Metrics => ("200 OK", CONTENT_TYPE, metrics()),
            Asked::PlainMetrics => {
                let text = plain_text::from(&metrics());
                ("200 OK", plain_text::CONTENT_TYPE, text)
            }
            Asked::Nothing => plain("404 Not Found", "The metrics are at /metrics.\n"),
            Asked::Method => {
                allow = "Allow: GET, HEAD\r\n";
                plain("405 Method Not Allowed", "The metrics are to be read.\n")
            }
            Asked::NoForm => plain(
                "406 Not Acceptable",
                "The metrics are application/openmetrics-text, or text/plain.\n",
            ),
            Asked::Garbage => plain("400 Bad Request", "This is no request.\n"),
            Asked::TooLong => plain(
                "431 Request Header Fields Too Large",
                "The request is too long.\n",
            ),
        };
        self.answer = format!(
            "HTTP/1.1 {status}\r\n{allow}Content-Type: {kind}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{}",
            body.len(),
            if is_head { "" } else { &body }
        )
        .into_bytes();
        self.received = Vec::new();
        self.step = Step::Sending;
        self.send()
    }

    /// Sends what the client takes.
    fn send(&mut self) -> Stays {
        while self.moved < self.answer.len() {
            match self.stream.write(&self.answer[self.moved..]) {
                Ok(0) => return false,
                Ok(count) => self.moved += count,
                Err(error) => return is_harmless(error.kind()),
            }
        }
        self.answer = Vec::new();
        self.moved = 0;
        self.step = Step::Closing;
        self.stream.shutdown(Shutdown::Write).is_ok()
    }

    /// Throws away what comes after the request.
    fn ignore(&mut self) -> Stays {
        let mut buffer = [0; LONGEST];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.moved += count;
                self.moved < MOST_IGNORED
            }
            Err(error) => is_harmless(error.kind()),
        }
    }
}

/// An answer that is not the metrics.
fn plain(status: &'static str, body: &str) -> (&'static str, &'static str, String) {
    (status, "text/plain; charset=utf-8", body.to_owned())
}

/// Whether a failed call may be tried again later.
fn is_harmless(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
