//! rustls' state machine between two directions that go on at the same time.
//!
//! rustls turns bytes of the peer into text and back, and does no I/O. Three locks guard it:
//!
//! * `input`, held by a reader until its call ends, with what has been received and not been
//!   looked at;
//! * `output`, held by a writer until its call ends, with records that have not been sent;
//! * `connection`, held for as long as rustls computes, and never while a call waits.
//!
//! **Order.** Records go to the peer in the order rustls has made them. So who takes records out of
//! `connection` holds `output` from then on until they are sent, or have been left there: `output`
//! is locked before `connection`.
//!
//! **Answers.** What is read may have to be answered: with an alert, a key.
//! The reader sends that if no writer holds `output`. It does not wait for one, which may wait for
//! the peer to read, while the peer waits for this side to read. A writer looks for such answers
//! after it has let go of `output`, so either of them sends it.
//!
//! **Errors.** A call that fails for lack of time leaves the rest of its records in `output`, and
//! the next one begins with them. A writer says when its text has been taken, whether that could be
//! sent or not: that it could not, the next call finds.

use crate::transport::Transport;
use fibre_sync::{Mutex, MutexGuard};
use rustls::Connection;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
use std::ops::Range;

/// How many bytes are received at once: a record and its head.
const INPUT: usize = 17 * 1024;

/// The capacity that records which have been sent leave behind.
const OUTPUT: usize = 17 * 1024;

/// What has been received and not been looked at.
#[derive(Debug, Default)]
struct Input {
    /// Where it is received; empty before the first time.
    buffer: Vec<u8>,
    /// Its place there.
    rest: Range<usize>,
    /// The peer's mistake, if it has made one; nothing more is looked at then.
    mistake: Option<rustls::Error>,
}

/// Records that have not been sent.
#[derive(Debug, Default)]
struct Output {
    records: Vec<u8>,
    /// How many bytes of them have been sent.
    sent: usize,
    /// Whether the peer has been told that nothing more comes.
    is_ended: bool,
}

/// A stream's state.
pub(crate) struct Engine<S> {
    connection: Mutex<Connection>,
    input: Mutex<Input>,
    output: Mutex<Output>,
    transport: S,
}

impl<S: Transport> Engine<S> {
    /// A connection that has not begun.
    pub(crate) fn new(connection: Connection, transport: S) -> Self {
        Self {
            connection: Mutex::new(connection),
            input: Mutex::default(),
            output: Mutex::default(),
            transport,
        }
    }

    /// What TLS lies over.
    pub(crate) fn transport(&self) -> &S {
        &self.transport
    }

    /// The same, without TLS.
    pub(crate) fn into_transport(self) -> S {
        self.transport
    }

    /// rustls' connection.
    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock()
    }

    /// Comes to terms with the peer. Blocks the fibre (or thread).
    pub(crate) fn handshake(&self) -> io::Result<()> {
        let mut input = self.input.lock();
        loop {
            self.flush()?;
            if !self.connection.lock().is_handshaking() {
                return Ok(());
            }
            if !self.advance(&mut input)? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads text. Blocks the fibre (or thread) until there is some.
    pub(crate) fn read(&self, text: &mut [u8]) -> io::Result<usize> {
        let mut input = self.input.lock();
        loop {
            let read = self.connection.lock().reader().read(text);
            match read {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                done => return done,
            }
            self.advance(&mut input)?;
        }
    }

    /// Brings to rustls what has been received, or else comes next; `false`: the peer has ended
    /// its direction. rustls has no text that nobody has read.
    fn advance(&self, input: &mut Input) -> io::Result<bool> {
        if let Some(mistake) = &input.mistake {
            return Err(invalid(mistake.clone()));
        }
        if input.rest.is_empty() {
            input.buffer.resize(INPUT, 0);
            let count = self.transport.receive(&mut input.buffer)?;
            input.rest = 0..count;
        }
        let mut connection = self.connection.lock();
        let mut bytes = &input.buffer[input.rest.clone()];
        let taken = connection.read_tls(&mut bytes)?;
        input.rest.start += taken;
        let processed = connection.process_new_packets();
        drop(connection);
        // An alert for the peer, if it has made a mistake.
        self.answer();
        if let Err(mistake) = processed {
            input.mistake = Some(mistake.clone());
            return Err(invalid(mistake));
        }
        Ok(taken > 0)
    }

    /// Writes some of these texts, and says how much. Blocks the fibre (or thread) until all that
    /// was written before has been sent.
    pub(crate) fn write(&self, texts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut output = self.output.lock();
        self.send(&mut output)?;
        if output.is_ended {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let taken = self.connection.lock().writer().write_vectored(texts)?;
        // The text has been taken. Whether it cannot be sent, the next call finds.
        let _ = self.send(&mut output);
        drop(output);
        self.answer();
        Ok(taken)
    }

    /// Sends all that has been written. Blocks the fibre (or thread).
    pub(crate) fn flush(&self) -> io::Result<()> {
        let mut output = self.output.lock();
        self.send(&mut output)?;
        drop(output);
        self.answer();
        Ok(())
    }

    /// Ends one direction, or both: see [`TlsStream::shutdown`](crate::TlsStream::shutdown).
    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let output = match how {
            Shutdown::Read => None,
            Shutdown::Write => Some(self.output.lock()),
            Shutdown::Both => self.output.try_lock(),
        };
        let mut told = Ok(());
        if let Some(mut output) = output {
            if !output.is_ended {
                output.is_ended = true;
                self.connection.lock().send_close_notify();
            }
            told = self.send(&mut output);
        }
        let ended = self.transport.shutdown(how);
        told.and(ended)
    }

    /// Sends what reading has caused, unless a writer is about to. If it cannot be sent, the next
    /// writer finds that.
    fn answer(&self) {
        while self.connection.lock().wants_write() {
            let Some(mut output) = self.output.try_lock() else {
                return;
            };
            if self.send(&mut output).is_err() {
                return;
            }
        }
    }

    /// Sends all records that rustls has made.
    fn send(&self, output: &mut Output) -> io::Result<()> {
        loop {
            while output.sent < output.records.len() {
                match self.transport.send(&output.records[output.sent..])? {
                    0 => return Err(ErrorKind::WriteZero.into()),
                    count => output.sent += count,
                }
            }
            output.records.clear();
            output.records.shrink_to(OUTPUT);
            output.sent = 0;
            let mut connection = self.connection.lock();
            if !connection.wants_write() {
                return Ok(());
            }
            while connection.wants_write() {
                connection.write_tls(&mut output.records)?;
            }
        }
    }
}

/// The error of a read after a mistake of the peer's.
fn invalid(mistake: rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, mistake)
}
