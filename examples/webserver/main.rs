//! A web server in plain blocking style: one fibre per connection.
//!
//! ```sh
//! cargo run --release --example webserver -- --dir public
//! curl http://127.0.0.1:8080/plaintext
//! ```
//!
//! It speaks HTTP/1.0 and HTTP/1.1 with keep-alive and pipelining, answers
//! `/plaintext`, serves the files of one directory (or one built-in page), and
//! is meant to stand in the open: clients that are slow, silent, greedy or
//! malicious cost one fibre and a bounded buffer each.
//!
//! | file         | its one idea                                                  |
//! |--------------|---------------------------------------------------------------|
//! | `options`    | the command line                                              |
//! | `server`     | what all connections share                                    |
//! | `accept`     | from the listening socket to a fibre for each connection      |
//! | `connection` | the conversation with one client                              |
//! | `buffer`     | bytes that have arrived but are not used up                   |
//! | `request`    | from bytes to a request, or to the status that refuses it     |
//! | `body`       | skipping a request's body in step with its framing            |
//! | `response`   | from a status to bytes                                        |
//! | `files`      | from a path to the bytes of a file under the root             |
//! | `clock`      | the `Date` field without reading the clock for each request   |
//! | `drain`      | stopping: which connections may be cut, and which must finish |
//!
//! SIGINT or SIGTERM stops the server: it closes the listening socket and the
//! idle connections, lets requests in flight finish, and leaves within
//! `--drain-timeout`. A second signal ends the process at once.

mod accept;
mod body;
mod buffer;
mod clock;
mod connection;
mod drain;
mod files;
mod lines;
mod options;
mod pace;
mod request;
mod response;
mod server;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::Parser;
use fibre::Cluster;
use fibre::net::TcpListener;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::options::Options;
use crate::server::Server;

/// The exit status of a process that a second SIGINT ended.
const INTERRUPTED: i32 = 130;

/// How long cut connections may take to notice it.
const CUT_GRACE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("webserver: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until a signal comes and tells how many fibres outlived the drain.
fn run(options: &Options) -> io::Result<usize> {
    let mut signals = stop_signals()?;
    let server = Arc::new(Server::new(options)?);
    let cluster = Cluster::builder()
        .processors(options.processors())
        .name("web")
        .build()?;
    let listener = Arc::new(TcpListener::bind(options.addr)?);
    announce(&format!("listening on http://{}", listener.local_addr()?))?;

    start(&cluster, &server, &listener);
    signals.forever().next();

    server.stop();
    listener.close();
    // The acceptor has the other handle and drops it when it ends.
    drop(listener);
    let live = drain(&cluster, &server, options.drain_timeout);
    announce(&format!("{}; live fibres {live}", server.tally()))?;
    if live == 0 {
        cluster.stop();
    }
    Ok(live)
}

/// Takes SIGINT and SIGTERM over: the first is delivered to the returned
/// iterator, the second ends the process from within its handler.
fn stop_signals() -> io::Result<Signals> {
    let armed = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Handlers run in the order of their registration.
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&armed))?;
        flag::register(signal, Arc::clone(&armed))?;
    }
    Signals::new([SIGINT, SIGTERM])
}

/// Starts the two fibres every server has: one accepts, one keeps the date.
fn start(cluster: &Cluster, server: &Arc<Server>, listener: &Arc<TcpListener>) {
    let (acceptor, listener) = (Arc::clone(server), Arc::clone(listener));
    drop(cluster.spawn(move || accept::accept_all(&acceptor, &listener)));
    let server = Arc::clone(server);
    drop(cluster.spawn(move || server.clock.keep(&server.connections)));
}

/// Waits for the connections to finish, cuts those that have not within the
/// time, and returns the number of fibres that are left.
fn drain(cluster: &Cluster, server: &Server, within: Duration) -> usize {
    if !all_ended(cluster, within) {
        server.connections.cut();
        all_ended(cluster, CUT_GRACE);
    }
    cluster.live()
}

/// Waits until no fibre lives; false if some still do after `within`.
fn all_ended(cluster: &Cluster, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    while cluster.live() > 0 {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Prints a line that another program may be waiting for.
fn announce(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
