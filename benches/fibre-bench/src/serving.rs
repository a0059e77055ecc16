//! How a server meets the harness: the options it takes, the replies it gives,
//! the line that says where it listens, and its end.
//!
//! The harness holds the writing end of a pipe to each server it starts. When
//! the harness ends, however it ends, the kernel closes that pipe and the
//! server goes too, so no server is left behind.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::{process, thread};

use clap::Parser;
use io_uring::IoUring;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::http::{self, Answers, RequestScanner, Work};

/// What the line that announces a server starts with.
pub const ANNOUNCEMENT: &str = "listening on ";

/// How many connections may wait to be accepted. The default of 128 drops
/// connection attempts when a load generator opens a thousand at once.
const BACKLOG: i32 = 4096;

/// What every server can be told.
#[derive(Debug, Clone, Parser)]
#[command(version, about = "A server to measure: 64 bytes for each HTTP request")]
pub struct Options {
    /// Where to listen; port 0 is any free one.
    #[arg(default_value = "127.0.0.1:0")]
    pub address: String,
    /// Kernel threads that may serve; a thread per connection has no such limit.
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    pub processors: usize,
    /// Send back what was read instead of answering requests.
    #[arg(long)]
    pub echo: bool,
    /// Offer 1 KiB to each read instead of 4 KiB.
    #[arg(long)]
    pub small_buffer: bool,
    /// Answer with a body of so many bytes instead of 13.
    #[arg(long)]
    pub body: Option<usize>,
}

impl Options {
    /// What the command line says; ends the process where it says nonsense.
    pub fn from_arguments() -> Self {
        Self::parse()
    }

    /// Bytes to offer to each read.
    pub fn read_buffer(&self) -> usize {
        if self.small_buffer {
            http::SMALL_BUFFER
        } else {
            http::READ_BUFFER
        }
    }

    /// What talks with the client of one new connection.
    pub fn responder(&self) -> Responder {
        Responder {
            echo: self.echo,
            answers: self.body.map_or(Answers::USUAL, Answers::with_body),
            scanner: RequestScanner::default(),
        }
    }
}

/// Parses a count that is not 0.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(error.to_string()),
    }
}

/// One end of a conversation: turns the bytes of a connection into replies.
#[derive(Debug)]
pub struct Responder {
    /// Whether the replies are the bytes themselves.
    echo: bool,
    /// The replies otherwise.
    answers: Answers,
    /// How far into a request the bytes have come.
    scanner: RequestScanner,
}

impl Responder {
    /// Takes the next bytes of the stream, does what requests in them ask for,
    /// and returns what is to be sent, write by write.
    #[inline]
    pub fn replies<'a>(&mut self, bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (echoed, requests) = if self.echo {
            (Some(bytes), 0)
        } else {
            (None, self.scanner.feed(bytes, Work::perform))
        };
        let answers = self
            .answers
            .to(requests)
            .map(|answers| -> &'a [u8] { answers });
        echoed.into_iter().chain(answers)
    }
}

/// A non-blocking listener that lets others listen on the same address; the kernel deals the
/// connections among them (`SO_REUSEPORT`).
///
/// # Errors
///
/// Those of the system calls.
pub fn listen_beside_others(address: SocketAddr) -> io::Result<TcpListener> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    deepen_backlog(&socket)?;
    Ok(socket.into())
}

/// Whether the kernel has io_uring, and lets this process use it.
pub fn is_uring_allowed() -> bool {
    IoUring::new(1).is_ok()
}

/// Lets more connections wait on a listener than its library asked for.
///
/// # Errors
///
/// Whatever `listen` returns.
pub fn deepen_backlog(listener: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::listen(listener, BACKLOG)?)
}

/// Tells the harness where the server listens, and from then on ends the
/// process when standard input is closed.
///
/// # Errors
///
/// When standard output cannot be written or the watching thread not started.
pub fn announce(address: SocketAddr) -> io::Result<()> {
    fibre_measure::raise_file_limit()?;
    let mut out = io::stdout().lock();
    writeln!(out, "{ANNOUNCEMENT}{address}")?;
    out.flush()?;
    thread::Builder::new()
        .name("stdin".into())
        .stack_size(64 << 10)
        .spawn(exit_when_stdin_closes)?;
    Ok(())
}

/// Blocks on standard input for the life of the server.
fn exit_when_stdin_closes() {
    let mut ignored = [0; 64];
    let mut input = io::stdin().lock();
    while matches!(input.read(&mut ignored), Ok(1..)) {}
    process::exit(0);
}
