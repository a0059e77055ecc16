//! What is said with one client: a handshake, requests and answers, and a farewell.
//!
//! Nothing here knows whether a fibre or a thread runs it: the socket is whatever reads, writes,
//! and has time-outs. Reading from the TLS stream reads from the socket, and may also write there
//! (alerts, answers to a change of keys), all of it blocking.

use std::io::ErrorKind::UnexpectedEof;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fibre_examples::connections::{Link, Socket};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::request::{LONGEST_HEAD, Refusal, Request, Wish, parse};

/// What `GET /` answers.
const GREETING: &[u8] = b"Hello over TLS.\n";

/// What `GET /bytes/N` repeats.
static FILLER: [u8; 16 * 1024] = [b'.'; 16 * 1024];

/// How long a client that was refused may go on sending, and how much.
const LINGER: (Duration, usize) = (Duration::from_secs(1), 64 * 1024);

/// What all connections share.
pub(crate) struct Service {
    /// The certificate and what else TLS needs.
    config: Arc<ServerConfig>,
    /// How long a connection may rest.
    idle_timeout: Duration,
    /// How long a handshake, or a request's head, may take.
    handshake_timeout: Duration,
    /// Handshakes that came to their end.
    handshakes: AtomicU64,
    /// Requests that were answered.
    requests: AtomicU64,
    /// The deepest stack that a connection had.
    stack: AtomicUsize,
}

impl Service {
    /// A service for connections that use this identity and these limits.
    pub(crate) fn new(
        config: Arc<ServerConfig>,
        idle_timeout: Duration,
        handshake_timeout: Duration,
    ) -> Self {
        Self {
            config,
            idle_timeout,
            handshake_timeout,
            handshakes: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            stack: AtomicUsize::new(0),
        }
    }

    /// What has been done, for people to read.
    pub(crate) fn tally(&self) -> String {
        let [handshakes, requests] =
            [&self.handshakes, &self.requests].map(|count| count.load(Ordering::Relaxed));
        let stack = self.stack.load(Ordering::Relaxed) / 1024;
        format!("{requests} requests after {handshakes} handshakes in {stack} KiB of stack")
    }

    /// Serves one client until either side ends it.
    pub(crate) fn serve<S>(&self, link: &Link<S>)
    where
        S: Socket,
        for<'s> &'s S: Read + Write,
    {
        // A client that is gone or broken needs no answer and no report.
        let _ = self.converse::<S>(link);
        if let Some(used) = fibre::stack_used() {
            self.stack.fetch_max(used, Ordering::Relaxed);
        }
    }

    /// The conversation from its first byte to its last.
    fn converse<S>(&self, link: &Link<S>) -> io::Result<()>
    where
        S: Socket,
        for<'s> &'s S: Read + Write,
    {
        let socket = link.socket();
        socket.set_timeout(self.idle_timeout)?;
        let tls = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(tls, socket);
        socket.set_deadline(Instant::now().checked_add(self.handshake_timeout));
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        socket.set_deadline(None);
        self.handshakes.fetch_add(1, Ordering::Relaxed);
        match self.answer_all::<S>(link, &mut stream)? {
            None => say_farewell::<S>(&mut stream),
            Some(Refusal(status)) => {
                stream.write_all(head(status, 0, false).as_bytes())?;
                say_farewell::<S>(&mut stream)?;
                linger::<S>(socket)
            }
        }
    }

    /// Answers requests until one is the last, or is refused.
    fn answer_all<S>(&self, link: &Link<S>, stream: &mut Tls<&S>) -> io::Result<Option<Refusal>>
    where
        S: Socket,
        for<'s> &'s S: Read + Write,
    {
        let mut input = Vec::with_capacity(1024);
        loop {
            let request = match self.next_request::<S>(link, stream, &mut input)? {
                Ok(Some(request)) => request,
                Ok(None) => return Ok(None),
                Err(refusal) => return Ok(Some(refusal)),
            };
            input.drain(..request.length);
            let keep_alive = request.keep_alive && !link.is_stopping();
            answer(stream, &request.wish, keep_alive)?;
            self.requests.fetch_add(1, Ordering::Relaxed);
            if !keep_alive {
                return Ok(None);
            }
        }
    }

    /// Reads until a request has arrived whole; `None` if there is none. The part of it that has
    /// arrived earlier is in `input`.
    fn next_request<S>(
        &self,
        link: &Link<S>,
        stream: &mut Tls<&S>,
        input: &mut Vec<u8>,
    ) -> io::Result<Result<Option<Request>, Refusal>>
    where
        S: Socket,
        for<'s> &'s S: Read + Write,
    {
        let mut late = false;
        loop {
            match parse(input) {
                Ok(None) => {}
                parsed => {
                    link.socket().set_deadline(None);
                    return Ok(parsed);
                }
            }
            if input.is_empty() {
                if !link.rest() {
                    return Ok(Ok(None));
                }
                // A deadline, as bytes of a record that is never whole begin no request.
                link.socket()
                    .set_deadline(Instant::now().checked_add(self.idle_timeout));
            } else if !late {
                // One deadline for the rest of the head, however many bytes come at a time.
                late = true;
                let deadline = Instant::now().checked_add(self.handshake_timeout);
                link.socket().set_deadline(deadline);
            }
            let mut buffer = [0; 2048];
            let room = (LONGEST_HEAD - input.len()).min(buffer.len());
            let count = match stream.read(&mut buffer[..room]) {
                // Without close_notify; nothing was cut off by that. So it is when the server
                // stops.
                Err(error) if error.kind() == UnexpectedEof && input.is_empty() => 0,
                count => count?,
            };
            link.work();
            if count == 0 {
                return Ok(Ok(None));
            }
            input.extend_from_slice(&buffer[..count]);
        }
    }
}

/// A TLS stream over a socket.
type Tls<S> = StreamOwned<ServerConnection, S>;

/// Writes an answer.
fn answer(stream: &mut impl Write, wish: &Wish, keep_alive: bool) -> io::Result<()> {
    match *wish {
        Wish::Greeting => {
            let mut whole = head("200 OK", GREETING.len(), keep_alive).into_bytes();
            whole.extend_from_slice(GREETING);
            stream.write_all(&whole)?;
        }
        Wish::Nothing => stream.write_all(head("404 Not Found", 0, keep_alive).as_bytes())?,
        Wish::Bytes(count) => {
            stream.write_all(head("200 OK", count, keep_alive).as_bytes())?;
            let mut left = count;
            while left > 0 {
                let piece = left.min(FILLER.len());
                stream.write_all(&FILLER[..piece])?;
                left -= piece;
            }
        }
    }
    // TLS' writer notes an error of the socket, and tells it here.
    stream.flush()
}

/// The head of an answer.
fn head(status: &str, length: usize, keep_alive: bool) -> String {
    let connection = if keep_alive {
        ""
    } else {
        "Connection: close\r\n"
    };
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{connection}\r\n")
}

/// Says that nothing more will come, so that the client can tell the end from a cut.
fn say_farewell<S>(stream: &mut Tls<&S>) -> io::Result<()>
where
    S: Socket,
    for<'s> &'s S: Read + Write,
{
    stream.conn.send_close_notify();
    stream.flush()?;
    stream.sock.shutdown(Shutdown::Write)
}

/// Reads what a client still sends, for a while: a socket closed with unread bytes would reset the
/// connection, and could take the last answer with it.
fn linger<S>(mut socket: &S) -> io::Result<()>
where
    S: Socket,
    for<'s> &'s S: Read,
{
    let (time, mut bytes) = LINGER;
    socket.set_timeout(time)?;
    socket.set_deadline(Instant::now().checked_add(time));
    let mut buffer = [0; 2048];
    while bytes > 0 {
        match socket.read(&mut buffer)? {
            0 => break,
            count => bytes = bytes.saturating_sub(count),
        }
    }
    Ok(())
}
