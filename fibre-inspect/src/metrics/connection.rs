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
use crate::metrics::request::{Asked, LONGEST, Page, asked};
use rustix::event::PollFlags;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
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
    /// Whether the client wants the head of the answer only.
    is_head: bool,
    /// The answer.
    answer: Vec<u8>,
    /// How much of it has gone out, or how much has been thrown away since.
    moved: usize,
    /// When the client's time is over.
    pub deadline: Instant,
}

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays.
    Stays,
    /// It is over.
    Over,
    /// Its client wants a page, which another thread makes and [answers](Connection::answer) with.
    Wants(Page),
}

impl Fate {
    /// Whether it stays.
    fn stays(stays: bool) -> Self {
        match stays {
            true => Self::Stays,
            false => Self::Over,
        }
    }
}

/// The status line's end, the type and the body of an answer.
pub(crate) type Answer = (&'static str, &'static str, Vec<u8>);

impl Connection {
    /// A connection that has just come; `None`: it is broken already.
    pub(crate) fn new(stream: TcpStream, now: Instant) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self {
            _closed_in_child: ClosedInChild::new(&stream),
            stream,
            step: Step::Receiving,
            received: Vec::new(),
            is_head: false,
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

    /// Goes on as far as it can without waiting; `metrics` makes the text.
    pub(crate) fn go_on(&mut self, metrics: impl FnOnce() -> String) -> Fate {
        match self.step {
            Step::Receiving => self.receive(metrics),
            Step::Sending => Fate::stays(self.send()),
            Step::Closing => Fate::stays(self.ignore()),
        }
    }

    /// Whether its client is on this machine.
    fn is_from_here(&self) -> bool {
        self.stream.peer_addr().is_ok_and(is_here)
    }

    /// Takes what has come of the request, and begins the answer if that is all.
    fn receive(&mut self, metrics: impl FnOnce() -> String) -> Fate {
        let mut buffer = [0; LONGEST];
        let room = LONGEST - self.received.len().min(LONGEST);
        match self.stream.read(&mut buffer[..room]) {
            Ok(0) => return Fate::Over,
            Ok(count) => self.received.extend_from_slice(&buffer[..count]),
            Err(error) => return Fate::stays(is_harmless(error.kind())),
        }
        let asked = asked(&self.received);
        // A reader of the head only is told the length that the body would have.
        self.is_head = self.received.starts_with(b"HEAD ");
        let answer = match asked {
            Asked::Unfinished => return Fate::Stays,
            Asked::Metrics => ("200 OK", CONTENT_TYPE, metrics().into()),
            Asked::PlainMetrics => {
                let text = plain_text::from(&metrics());
                ("200 OK", plain_text::CONTENT_TYPE, text.into())
            }
            Asked::Page(_) if !self.is_from_here() => plain(
                "403 Forbidden",
                "Pages are for clients on this machine; others have /metrics.\n",
            ),
            Asked::Page(page) => return Fate::Wants(page),
            refused => refusal(refused),
        };
        self.begin(answer);
        Fate::stays(self.send())
    }

    /// Begins to tell the client that too many others want pages.
    pub(crate) fn refuse(&mut self) {
        let words = "Too many clients want pages; try again.\n";
        self.begin(plain("503 Service Unavailable", words));
    }

    /// Begins an answer.
    fn begin(&mut self, (status, kind, body): Answer) {
        let allow = match status {
            METHOD => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        self.answer = format!(
            "HTTP/1.1 {status}\r\n{allow}Content-Type: {kind}\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Content-Security-Policy: default-src 'none'; connect-src 'self'; \
             img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'\r\n\
             Connection: close\r\n\r\n",
            body.len(),
        )
        .into_bytes();
        if !self.is_head {
            self.answer.extend_from_slice(&body);
        }
        self.received = Vec::new();
        self.step = Step::Sending;
    }

    /// Sends this answer, and waits until the client has closed, for so long as a client may take.
    /// Blocks the thread.
    pub(crate) fn answer(mut self, answer: Answer) {
        self.begin(answer);
        self.deadline = Instant::now() + TIMEOUT;
        let blocks = self.stream.set_nonblocking(false);
        while blocks.is_ok() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            // No time at all is an error of these, too.
            let is_set = self.stream.set_write_timeout(Some(left)).is_ok()
                && self.stream.set_read_timeout(Some(left)).is_ok();
            let stays = is_set
                && match self.step {
                    Step::Sending => self.send(),
                    Step::Closing | Step::Receiving => self.ignore(),
                };
            if !stays {
                return;
            }
        }
    }

    /// Sends what the client takes. `false`: the connection is over.
    fn send(&mut self) -> bool {
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

    /// Throws away what comes after the request. `false`: the connection is over.
    fn ignore(&mut self) -> bool {
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

/// An answer of a line.
pub(crate) fn plain(status: &'static str, body: &str) -> Answer {
    (status, "text/plain; charset=utf-8", body.into())
}

/// The status of a request to do something else than to read.
const METHOD: &str = "405 Method Not Allowed";

/// The answer to what cannot be served.
fn refusal(asked: Asked) -> Answer {
    match asked {
        Asked::Method => plain(METHOD, "All that is here is to be read.\n"),
        Asked::NoForm => plain(
            "406 Not Acceptable",
            "The metrics are application/openmetrics-text, or text/plain.\n",
        ),
        Asked::ForeignHost => plain(
            "403 Forbidden",
            "Pages are for who names this machine by its address, or localhost.\n",
        ),
        Asked::Garbage => plain("400 Bad Request", "This is no request.\n"),
        Asked::TooLong => plain(
            "431 Request Header Fields Too Large",
            "The request is too long.\n",
        ),
        _ => plain(
            "404 Not Found",
            "The metrics are at /metrics, and a page for people at /.\n",
        ),
    }
}

/// Whether only this machine has a peer of this address.
fn is_here(peer: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback()
}

/// Whether a failed call may be tried again later.
fn is_harmless(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::is_here;

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        let all = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| is_here(text.parse().unwrap()))
                .collect()
        };
        let here: Vec<bool> = all(&[
            "127.0.0.1:80",
            "127.9.9.9:80",
            "[::1]:80",
            "[::ffff:127.0.0.1]:80",
        ]);
        assert_eq!(here, [true; 4]);
        let others: Vec<bool> = all(&[
            "10.0.0.1:80",
            "[::ffff:10.0.0.1]:80",
            "[fe80::1]:80",
            "0.0.0.0:80",
        ]);
        assert_eq!(others, [false; 4]);
    }
}
