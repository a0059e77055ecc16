//! Passes TCP connections on to several servers, in turn.
//!
//! ```sh
//! cargo run --release -p fibre-examples --bin balancer -- \
//!     --backend 127.0.0.1:8082 --backend 127.0.0.1:8083
//! ```
//!
//! A connection has one fibre. It connects to the backend that comes next, or to the one after that
//! if nothing listens there, and has the kernel move the bytes. A backend that dies ends its
//! connections; clients that come back get another one.

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Parser;
use fibre::net::TcpStream;
use fibre_examples::exit_code;
use fibre_examples::options::seconds;
use fibre_examples::server::{Limits, Server, announce};

/// Passes TCP connections on to several servers, in turn.
#[derive(Parser)]
#[command(version, name = "balancer")]
struct Options {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:8081")]
    addr: SocketAddr,

    /// A server; may be given several times
    #[arg(long, required = true)]
    backend: Vec<SocketAddr>,

    /// Seconds that a server may take to accept
    #[arg(long, default_value = "2", value_parser = seconds)]
    connect_timeout: Duration,

    #[command(flatten)]
    limits: Limits,
}

/// The servers, and which one is next.
struct Backends {
    /// Where they are.
    all: Vec<SocketAddr>,
    /// How many connections have been passed on, or tried.
    turn: AtomicUsize,
    /// How long each may take to accept.
    timeout: Duration,
}

impl Backends {
    /// Connects to the first one in turn that accepts. Blocks the fibre.
    fn connect(&self) -> io::Result<TcpStream> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut refused = None;
        for number in 0..self.all.len() {
            let backend = self.all[(turn + number) % self.all.len()];
            match TcpStream::connect_timeout(&backend, self.timeout) {
                Ok(server) => return Ok(server),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }
}

/// Passes bytes on, both ways, until both ends have ended or one direction has been silent. Blocks
/// the fibre.
fn pass(client: &TcpStream, server: &TcpStream, idle: Duration) -> io::Result<()> {
    for stream in [client, server] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(idle))?;
        stream.set_write_timeout(Some(idle))?;
    }
    fibre::io::copy_bidirectional(client, server).map(drop)
}

fn main() -> ExitCode {
    exit_code("balancer", run(&Options::parse()))
}

/// Passes connections on until a signal comes and returns how many fibres outlived it.
fn run(options: &Options) -> io::Result<usize> {
    let server = Server::<TcpStream>::listen("tcp", options.addr, &options.limits)?;
    server.announce()?;
    let backends = Arc::new(Backends {
        all: options.backend.clone(),
        turn: AtomicUsize::new(0),
        timeout: options.connect_timeout,
    });
    let idle = options.limits.idle_timeout;
    let connections = Arc::clone(&server.connections);
    server.accept_each(move |stream| {
        let Some(link) = connections.admit(stream) else {
            return Ok(());
        };
        let backends = Arc::clone(&backends);
        let fibre = fibre::Builder::new().name("connection");
        let forward = move || {
            match backends.connect() {
                // What befalls one connection is its own affair.
                Ok(server) => drop(pass(link.socket(), &server, idle)),
                Err(error) => eprintln!("balancer: no server: {error}"),
            }
        };
        fibre.spawn(forward).map(drop)
    });
    let connections = Arc::clone(&server.connections);
    let live = server.run(|| ())?;
    let count = connections.count();
    announce(&format!(
        "passed {count} connections on; live fibres {live}"
    ))?;
    Ok(live)
}
