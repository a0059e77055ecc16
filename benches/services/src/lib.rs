//! What both programs of each pair have in common: their command lines, and what is no business of
//! a runtime's.
//!
//! | service | what it does | what it has to get right |
//! |---|---|---|
//! | proxy | passes TCP connections on | bounds, silent peers, half-closed connections, a stop that cuts nobody off at once |
//! | crawler | fetches pages and follows their links | bounds, time limits, pages that fail |
//! | pipeline | computes for each line, in several stages | order, slow stages, the first error, work for the CPU |
//! | udp | answers datagrams by programs, as signals say | children, settings that change, a stop that loses no answer |
//! | orders | keeps orders in Redis, over HTTP | bounds, spans, metrics, clients and a Redis that hang, a stop that loses no answer |
//!
//! `src/NAME/fibre.rs` and `src/NAME/tokio.rs`, or `axum.rs`, do the same, with the same arguments;
//! `tests/services` runs both by the same tests.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use fibre_measure::duration;

/// How many kernel threads a service may use.
#[derive(Args, Debug, Clone, Copy)]
pub struct Threads {
    /// Kernel threads; by default as many as there are CPUs
    #[arg(long)]
    threads: Option<usize>,
}

impl Threads {
    /// The number that was asked for, or that of the CPUs.
    pub fn count(self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(all).max(1)
    }
}

/// Passes TCP connections on to another address, until SIGTERM or SIGINT.
#[derive(Parser, Debug, Clone)]
#[command(version)]
pub struct Proxy {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Where connections go
    #[arg(long)]
    pub backend: SocketAddr,
    /// Connections at a time; further ones wait to be accepted
    #[arg(long, default_value_t = 1000)]
    pub most: usize,
    /// How long a direction may be silent
    #[arg(long, default_value = "300", value_parser = duration)]
    pub idle: Duration,
    /// How long connections may go on after the signal
    #[arg(long, default_value = "10", value_parser = duration)]
    pub drain: Duration,
    /// Its kernel threads
    #[command(flatten)]
    pub threads: Threads,
}

/// Fetches all pages of a site that links lead to, and prints their paths and sizes.
#[derive(Parser, Debug, Clone)]
#[command(version)]
pub struct Crawler {
    /// The site
    pub site: SocketAddr,
    /// Fetches at a time
    #[arg(long, default_value_t = 8)]
    pub at_once: usize,
    /// How long a fetch may take
    #[arg(long, default_value = "10", value_parser = duration)]
    pub each: Duration,
    /// How long all of it may take
    #[arg(long, default_value = "60", value_parser = duration)]
    pub all: Duration,
    /// Its kernel threads
    #[command(flatten)]
    pub threads: Threads,
}

/// Prints how many divisors each number of its input has, in the order of the input.
#[derive(Parser, Debug, Clone)]
#[command(version)]
pub struct Pipeline {
    /// Workers
    #[arg(long, default_value_t = 4)]
    pub workers: usize,
    /// Its kernel threads
    #[command(flatten)]
    pub threads: Threads,
}

/// Answers datagrams by a program, until SIGTERM; SIGHUP has it read its greeting again.
#[derive(Parser, Debug, Clone)]
#[command(version)]
pub struct Udp {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// The file that has the greeting
    #[arg(long)]
    pub greeting: PathBuf,
    /// The program, which gets greeting and question as arguments
    #[arg(long, default_value = "echo")]
    pub program: PathBuf,
    /// Programs at a time
    #[arg(long, default_value_t = 4)]
    pub most: usize,
    /// How long one may take
    #[arg(long, default_value = "30", value_parser = duration)]
    pub each: Duration,
    /// Its kernel threads
    #[command(flatten)]
    pub threads: Threads,
}

/// Keeps orders in Redis: `POST /orders/NAME` adds one, `GET` lists them. SIGTERM or SIGINT ends
/// it.
#[derive(Parser, Debug, Clone)]
#[command(version)]
pub struct Orders {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Where Redis is
    #[arg(long, default_value = "redis://127.0.0.1/")]
    pub redis: String,
    /// Connections to Redis
    #[arg(long, default_value_t = 16)]
    pub pool: usize,
    /// How long a request may wait for one of these, for a new one, and for an answer
    #[arg(long, default_value = "2", value_parser = duration)]
    pub each: Duration,
    /// Connections at a time; further ones wait to be accepted
    #[arg(long, default_value_t = 10_000)]
    pub most: usize,
    /// Bytes of an order
    #[arg(long, default_value_t = 64 << 10)]
    pub max_body: usize,
    /// How long a client may take for a head, for a body, and for taking an answer
    #[arg(long, default_value = "10", value_parser = duration)]
    pub client: Duration,
    /// How long requests may go on after the signal
    #[arg(long, default_value = "10", value_parser = duration)]
    pub drain: Duration,
    /// Its kernel threads
    #[command(flatten)]
    pub threads: Threads,
}

/// How long what has been cancelled may take to end.
pub const GRACE: Duration = Duration::from_secs(5);

/// Prints a line that another program waits for.
///
/// # Errors
///
/// Those of standard output.
pub fn say(line: impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// The body of an answer of HTTP/1.0.
///
/// # Errors
///
/// The answer is no success, or no answer.
pub fn body(answer: &str) -> io::Result<String> {
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or(io::ErrorKind::InvalidData)?;
    if !head.starts_with("HTTP/1.0 200") {
        let status = head.lines().next().unwrap_or_default();
        return Err(io::Error::other(status.to_owned()));
    }
    Ok(body.to_owned())
}

/// The paths that a page links to.
pub fn links(page: &str) -> impl Iterator<Item = &str> {
    let rests = page.split("href=\"").skip(1);
    rests.filter_map(|rest| rest.split('"').next())
}

/// The number of divisors of the number in a line.
///
/// # Errors
///
/// It is no number.
pub fn divisors(line: &str) -> io::Result<u64> {
    let number: u64 = line
        .trim()
        .parse()
        .map_err(|error| io::Error::other(format!("{line:?}: {error}")))?;
    let divides = |by: &u64| number.is_multiple_of(*by);
    Ok((1..=number).filter(divides).count() as u64)
}
