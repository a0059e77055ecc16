//! How long a client may take for an answer.
//!
//! A write that fits the socket's buffers costs nothing here. From the first one that does not, the
//! client has the time that a connection may rest, and more for each byte, by a rate that it must
//! keep; so a client that takes a few bytes now and then cannot hold its fibre, its permit and an
//! open file, though each of its writes makes progress.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use fibre::net::TcpStream;

/// The time that one answer has left.
#[derive(Default)]
pub(crate) struct Pace {
    /// When the answer must have been taken; `None` while the client keeps up.
    end: Option<Instant>,
}

/// What a client must keep to.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// How long it may stop.
    pub(crate) grace: Duration,
    /// Bytes a second.
    pub(crate) rate: u64,
}

impl Pace {
    /// Writes all bytes; fails with `TimedOut` if the client has been too slow.
    pub(crate) fn write(
        &mut self,
        mut stream: &TcpStream,
        bytes: &[u8],
        terms: Terms,
    ) -> io::Result<()> {
        if self.end.is_none() {
            let count = stream.write(bytes)?;
            if count == bytes.len() {
                return Ok(());
            }
            self.end = Some(Instant::now() + terms.grace);
            return self.write_late(stream, &bytes[count..], terms);
        }
        self.write_late(stream, bytes, terms)
    }

    /// Writes bytes to a client that has not kept up.
    #[cold]
    fn write_late(&mut self, mut stream: &TcpStream, bytes: &[u8], terms: Terms) -> io::Result<()> {
        let more = Duration::from_secs_f64(bytes.len() as f64 / terms.rate as f64);
        self.end = self.end.map(|end| end + more);
        stream.set_write_deadline(self.end);
        stream.write_all(bytes)
    }

    /// Ends the answer: the next one has time of its own.
    pub(crate) fn finish(self, stream: &TcpStream) {
        if self.end.is_some() {
            stream.set_write_deadline(None);
        }
    }
}
