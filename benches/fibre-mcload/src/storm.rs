//! Clients that misbehave, beside those that do not: the latter must be served all the same.
//!
//! A storm is a number of fibres that do one harmful thing again and again. They use keys of their
//! own, so what the well-behaved clients check stays as certain as ever.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use fibre::net::{Shutdown, TcpStream};

use crate::random::stream;

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It sends requests byte by byte.
    Trickle,
    /// It asks for much and reads hardly anything of it.
    SlowReader,
    /// It breaks its connection while it sends a value.
    Kill,
    /// It opens connections and keeps them, more than the server has descriptors for.
    Flood,
    /// It opens a connection, asks one thing, and closes it, again and again.
    Short,
}

/// Some clients that misbehave in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storm {
    /// How they misbehave.
    pub kind: Kind,
    /// The number of clients.
    pub clients: u32,
}

/// All ways.
const KINDS: [(Kind, &str); 5] = [
    (Kind::Trickle, "trickle"),
    (Kind::SlowReader, "slow-reader"),
    (Kind::Kill, "kill"),
    (Kind::Flood, "flood"),
    (Kind::Short, "short"),
];

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KINDS.iter().find(|(kind, _)| kind == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Storm {
    type Err = String;

    /// `KIND=CLIENTS`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, clients) = text.split_once('=').ok_or("KIND=CLIENTS")?;
        let kind = KINDS
            .iter()
            .find(|(_, name)| *name == kind)
            .map(|(kind, _)| *kind);
        let kind = kind.ok_or("trickle, slow-reader, kill, flood or short")?;
        let clients = clients
            .parse()
            .map_err(|error| format!("{clients:?}: {error}"))?;
        Ok(Self { kind, clients })
    }
}

/// Bytes of the values that slow readers ask for, and that others begin to send.
const LARGE: usize = 100_000;

/// How long a client rests that could not do harm.
const REST: Duration = Duration::from_millis(10);

/// How long a client that keeps its connection looks away.
const LOOK: Duration = Duration::from_millis(50);

/// The longest that a client waits for anything.
const PATIENCE: Duration = Duration::from_secs(2);

/// A client that misbehaves, until its time is over.
pub struct Rogue {
    /// How it misbehaves.
    pub kind: Kind,
    /// Which one it is.
    pub number: u32,
    /// The server.
    pub server: SocketAddr,
    /// How many harmful things have been done, by all.
    pub done: Arc<AtomicU64>,
    /// When its time is over.
    pub end: Instant,
}

impl Rogue {
    /// Misbehaves.
    pub fn live(self) {
        let mut random = stream(u64::from(self.number), 0xBAD);
        while Instant::now() < self.end {
            // That the server does not bear with it is no failure.
            match self.misbehave(&mut random) {
                Ok(()) => drop(self.done.fetch_add(1, Ordering::Relaxed)),
                Err(_) => fibre::sleep(REST),
            }
        }
    }

    /// Does one harmful thing.
    fn misbehave(&self, random: &mut Rng) -> io::Result<()> {
        let stream = TcpStream::connect_timeout(&self.server, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        match self.kind {
            Kind::Trickle => self.trickle(&stream),
            Kind::SlowReader => self.read_slowly(&stream),
            Kind::Kill => self.kill(&stream, random),
            Kind::Flood => self.keep(&stream),
            Kind::Short => self.ask(&stream),
        }
    }

    /// The name of a key that only this client uses.
    fn key(&self) -> String {
        format!("rogue-{}", self.number)
    }

    /// Stores and asks, each byte by itself.
    fn trickle(&self, mut stream: &TcpStream) -> io::Result<()> {
        let key = self.key();
        let request = format!("set {key} 0 0 5\r\nabcde\r\nget {key}\r\n");
        for byte in request.bytes() {
            stream.write_all(&[byte])?;
            if Instant::now() >= self.end {
                return Ok(());
            }
            fibre::sleep(Duration::from_millis(1));
        }
        read_until(stream, b"END\r\n")
    }

    /// Stores a large value, asks for it many times, and takes a few bytes now and then.
    fn read_slowly(&self, mut stream: &TcpStream) -> io::Result<()> {
        let key = self.key();
        let mut request = format!("set {key} 0 0 {LARGE}\r\n").into_bytes();
        request.resize(request.len() + LARGE, b'x');
        request.extend_from_slice(b"\r\n");
        stream.write_all(&request)?;
        read_until(stream, b"STORED\r\n")?;
        stream.write_all(format!("get {key}\r\n").repeat(100).as_bytes())?;
        for _ in 0..50 {
            if Instant::now() >= self.end || stream.read(&mut [0; 16])? == 0 {
                break;
            }
            fibre::sleep(LOOK);
        }
        Ok(())
    }

    /// Announces a value, sends some of it, and breaks the connection: by a reset, or half of it in
    /// peace.
    fn kill(&self, mut stream: &TcpStream, random: &mut Rng) -> io::Result<()> {
        let header = format!("set {} 0 0 {LARGE}\r\n", self.key());
        stream.write_all(header.as_bytes())?;
        let some = vec![b'y'; random.usize(..LARGE)];
        stream.write_all(&some)?;
        match random.u32(..3) {
            0 => stream.set_linger(Some(Duration::ZERO)),
            1 => stream.shutdown(Shutdown::Write),
            _ => Ok(()),
        }
    }

    /// Keeps the connection until its time is over, or the server ends it.
    fn keep(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(None)?;
        stream.set_read_deadline(Some(self.end));
        match (&*stream).read(&mut [0; 16]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Asks one thing.
    fn ask(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.write_all(format!("get {}\r\n", self.key()).as_bytes())?;
        read_until(stream, b"END\r\n")
    }
}

/// Reads up to these bytes.
fn read_until(mut stream: &TcpStream, end: &[u8]) -> io::Result<()> {
    let mut seen = Vec::new();
    let mut buffer = [0; 256];
    while !seen.ends_with(end) {
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => seen.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storms_have_a_kind_and_a_number() {
        for (kind, name) in KINDS {
            let storm = format!("{name}=7").parse();
            assert_eq!(storm, Ok(Storm { kind, clients: 7 }));
            assert_eq!(kind.to_string(), name);
        }
        for text in ["kill", "kill=", "kill=x", "rain=7"] {
            assert!(text.parse::<Storm>().is_err(), "{text}");
        }
    }
}
