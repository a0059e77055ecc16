//! One client: what has arrived, what is to be sent, and until when.
//!
//! A connection is a value that events hand on. While it waits for its socket it lies in its place
//! of the [table](super::table), so it needs no lock, and nobody can see it half done.

use super::bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pieces of answers that wait for one write, about.
const PIECES: usize = 64;

/// Bytes of answers that wait for one write, about.
const UNSENT: usize = 256 * 1024;

/// The room for one read after the last answer.
const LINGER_ROOM: usize = 4 * 1024;

/// How many bytes are read after the last answer, so that no reset takes it away.
const LINGER: usize = 256 * 1024;

/// Told the place of a client that has gone.
pub(crate) type Gone = Arc<dyn Fn(usize) + Send + Sync>;

/// A client's right to its place. Its drop tells that the client has gone.
pub(crate) struct Admission {
    place: usize,
    gone: Gone,
}

impl Admission {
    /// The right to a place.
    pub(crate) fn new(place: usize, gone: &Gone) -> Self {
        let gone = Arc::clone(gone);
        Self { place, gone }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        (self.gone)(self.place);
    }
}

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It reads a request.
    Reads,
    /// It writes answers.
    Writes,
    /// It has said its last, and reads what still comes.
    Lingers,
}

/// One client, and what its service knows of it.
pub(crate) struct Connection<T> {
    pub(crate) stream: TcpStream,
    pub(crate) phase: Phase,
    /// When it must have come on; what that means is the phase's.
    pub(crate) deadline: Instant,
    /// Whether the socket has not taken all of an answer at once, so that the deadline is set.
    pub(crate) is_late: bool,
    /// Whether there may be more to be read without another edge: the last read took all it could,
    /// or the client has sent its last.
    pub(crate) has_more: bool,
    /// Whether no request follows.
    pub(crate) closes: bool,
    /// What the service knows of it.
    pub(crate) talk: T,
    input: Vec<u8>,
    /// Pieces of answers, and how many bytes of each count.
    output: VecDeque<(Bytes, usize)>,
    /// How many bytes of the first one have been sent.
    sent: usize,
    /// How many bytes wait to be sent.
    unsent: usize,
    lingered: usize,
    /// Given back after the descriptor is closed.
    admission: Admission,
}

/// What came of an attempt to read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is something, or all has gone.
    Done,
    /// The socket has to become ready first.
    Waits,
    /// The client has left, or its connection is broken.
    Ended,
}

impl<T: Default> Connection<T> {
    /// A client that has a place, and until then to say something.
    pub(crate) fn new(stream: TcpStream, admission: Admission, deadline: Instant) -> Self {
        Self {
            stream,
            phase: Phase::Reads,
            deadline,
            is_late: false,
            has_more: false,
            closes: false,
            talk: T::default(),
            input: Vec::new(),
            output: VecDeque::new(),
            sent: 0,
            unsent: 0,
            lingered: 0,
            admission,
        }
    }

    /// The colour of its events: its descriptor, as no two live clients share one.
    pub(crate) fn colour(&self) -> u64 {
        self.stream.as_raw_fd().unsigned_abs().into()
    }

    /// The bytes that have arrived and are not used up.
    pub(crate) fn input(&self) -> &[u8] {
        &self.input
    }

    /// What the service knows of it, and the bytes that have arrived, for both to be changed.
    pub(crate) fn talk_and_input(&mut self) -> (&mut T, &mut [u8]) {
        (&mut self.talk, &mut self.input)
    }

    /// Its place in the table.
    pub(crate) fn place(&self) -> usize {
        self.admission.place
    }

    /// Whether neither a request nor an answer is on its way.
    pub(crate) fn is_between_requests(&self) -> bool {
        self.phase == Phase::Reads && self.input.is_empty()
    }

    /// Whether a part of a request has arrived.
    pub(crate) fn is_midway(&self) -> bool {
        self.phase == Phase::Reads && !self.input.is_empty()
    }

    /// Whether answers should leave before more requests are read.
    pub(crate) fn has_much_to_say(&self) -> bool {
        self.output.len() >= PIECES || self.unsent >= UNSENT
    }

    /// Whether there is an answer to be sent.
    pub(crate) fn has_something_to_say(&self) -> bool {
        !self.output.is_empty()
    }

    /// Uses so many bytes up.
    pub(crate) fn use_up(&mut self, count: usize) {
        self.input.drain(..count);
    }

    /// Sends the first `count` of these bytes with the next write.
    pub(crate) fn say(&mut self, bytes: impl Into<Bytes>, count: usize) {
        self.unsent += count;
        self.output.push_back((bytes.into(), count));
    }

    /// Reads `room` bytes, or somewhat more, if so many have come; once.
    pub(crate) fn read(&mut self, room: usize) -> Progress {
        self.input.reserve(room);
        let room = self.input.capacity() - self.input.len();
        let spare = spare_capacity(&mut self.input);
        match recv(&self.stream, spare, RecvFlags::empty()) {
            Ok((0, _)) => Progress::Ended,
            Ok((count, _)) => {
                // Once set by a client that has sent its last, it stays until the end is read.
                self.has_more |= count == room;
                Progress::Done
            }
            Err(error) => {
                self.has_more = false;
                Progress::of(error)
            }
        }
    }

    /// Writes as much as the socket takes.
    pub(crate) fn write(&mut self) -> Progress {
        while let Some((first, length)) = self.output.front() {
            let written = match self.output.len() {
                1 => send(
                    &self.stream,
                    &first[self.sent..*length],
                    SendFlags::NOSIGNAL,
                ),
                _ => self.write_pieces(),
            };
            match written {
                Ok(0) => return Progress::Ended,
                Ok(count) => self.has_sent(count),
                Err(error) => match Progress::of(error) {
                    Progress::Done => {}
                    other => return other,
                },
            }
        }
        Progress::Done
    }

    /// Writes several pieces by one call.
    fn write_pieces(&self) -> rustix::io::Result<usize> {
        let mut skip = self.sent;
        let pieces = self.output.iter().map(|(bytes, length)| {
            let piece = &bytes[std::mem::take(&mut skip)..*length];
            IoSlice::new(piece)
        });
        let pieces: Vec<IoSlice<'_>> = pieces.collect();
        rustix::io::writev(&self.stream, &pieces)
    }

    /// Forgets so many bytes that have gone.
    fn has_sent(&mut self, mut count: usize) {
        self.unsent -= count;
        while let Some((_, length)) = self.output.front() {
            let left = length - self.sent;
            if count < left {
                self.sent += count;
                return;
            }
            count -= left;
            self.sent = 0;
            self.output.pop_front();
        }
    }

    /// How many bytes wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.unsent
    }

    /// Says that nothing follows, and waits until then for the client to say so, too.
    pub(crate) fn begin_to_linger(&mut self, patience: Duration) -> io::Result<()> {
        self.phase = Phase::Lingers;
        self.deadline = Instant::now() + patience;
        self.input.clear();
        self.stream.shutdown(Shutdown::Write)
    }

    /// Reads what still comes, and forgets it.
    pub(crate) fn linger(&mut self) -> Progress {
        loop {
            self.input.clear();
            match self.read(LINGER_ROOM) {
                Progress::Done => self.lingered += self.input.len(),
                other => return other,
            }
            if self.lingered >= LINGER {
                return Progress::Ended;
            }
        }
    }
}

impl Progress {
    /// What an error means.
    fn of(error: Errno) -> Self {
        match error {
            Errno::AGAIN => Self::Waits,
            Errno::INTR => Self::Done,
            _ => Self::Ended,
        }
    }
}
