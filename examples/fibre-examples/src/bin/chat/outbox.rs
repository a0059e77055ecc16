//! How frames get to one client: a bounded channel, and the fibre at its end that writes.
//!
//! Frames of a server are not masked, so one is the same bytes for all who get it: it is
//! encoded once, and what the channels carry are counted references. The writer takes what is there
//! and writes it in one piece.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use fibre::channel::{Receiver, Sender};
use fibre::net::TcpStream;
use tungstenite::Bytes;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};

/// How long a client may take to close once it has been written to for the last time.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

/// A piece is written when it has grown to this size.
const LARGE_PIECE: usize = 16 * 1024;

/// The bytes of a frame.
pub(crate) fn encode(frame: Frame) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(frame.len());
    frame.format(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.into())
}

/// The bytes of a frame with a text.
pub(crate) fn encode_text(text: String) -> io::Result<Bytes> {
    encode(Frame::message(text, OpCode::Data(Data::Text), true))
}

/// Writes what comes until nobody can send any more, and ends the direction: the writer's life. If
/// the client does not take a piece within `timeout`, or is gone, that ends the connection at once,
/// for the reader, too.
pub(crate) fn write_all(mut stream: &TcpStream, outbox: Receiver<Bytes>, timeout: Duration) {
    while let Ok(frame) = outbox.recv() {
        // All of it, in however many small parts the client takes it.
        stream.set_write_deadline(Instant::now().checked_add(timeout));
        let written = match outbox.try_recv() {
            Err(_) => stream.write_all(&frame),
            Ok(next) => stream.write_all(&gather(&frame, &next, &outbox)),
        };
        if written.is_err() {
            stream.close();
            return;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    // The reader may be waiting for more still.
    stream.set_read_deadline(Instant::now().checked_add(FAREWELL));
}

/// One piece of these frames and others that wait already.
fn gather(first: &[u8], second: &[u8], outbox: &Receiver<Bytes>) -> Vec<u8> {
    let mut piece = [first, second].concat();
    while piece.len() < LARGE_PIECE
        && let Ok(frame) = outbox.try_recv()
    {
        piece.extend_from_slice(&frame);
    }
    piece
}

/// What tungstenite takes for the socket: it reads from the socket, and what it writes of its own
/// accord, like the answer to a ping, goes through the outbox.
pub(crate) struct Desk<'c> {
    /// The socket.
    stream: &'c TcpStream,
    /// The client's outbox.
    outbox: Sender<Bytes>,
    /// How long a frame may wait for room in the outbox.
    timeout: Duration,
}

impl<'c> Desk<'c> {
    /// A desk that writes to this client.
    pub(crate) fn new(stream: &'c TcpStream, outbox: Sender<Bytes>, timeout: Duration) -> Self {
        Self {
            stream,
            outbox,
            timeout,
        }
    }
}

impl Read for Desk<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Desk<'_> {
    /// Takes all: whole frames, as tungstenite writes its buffer. Blocks the fibre while the outbox
    /// is full: who fills its own one is read from more slowly.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outbox
            .send_timeout(Bytes::copy_from_slice(bytes), self.timeout)
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
