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
//! | `pace`       | how fast a client must take an answer                         |
//!
//! SIGINT or SIGTERM stops the server: it closes the listening socket and the
//! idle connections, lets requests in flight finish within `--drain-timeout`, and
//! cuts off what has not finished by then. A second signal ends the process at once.
//! All of that is `Cluster::stop_within`, with `graceful` around what must finish.

mod accept;
mod body;
mod buffer;
mod clock;
mod connection;
mod files;
mod lines;
mod options;
mod pace;
mod request;
mod response;
mod server;

use std::convert::Infallible;
use std::io::{self, Write};
use std::process::{ExitCode, exit};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fibre::net::TcpListener;
use fibre::signal::{SIGINT, SIGTERM, Signals};
use fibre::{Builder, Cluster, Group};

use crate::options::Options;
use crate::server::Server;

/// The exit status for a command line that cannot be understood.
const MISUSED: u8 = 2;

/// The exit status of a process that a second SIGINT ended.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let options = match Options::read() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("webserver: {error}");
            return ExitCode::from(MISUSED);
        }
    };
    match run(&options) {
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
    let signals = Signals::new([SIGINT, SIGTERM])?;
    let server = Arc::new(Server::new(options)?);
    let cluster = Cluster::builder()
        .processors(options.processors())
        .name("web")
        .build()?;
    let listener = TcpListener::builder().nodelay(true).bind(options.addr)?;
    announce(&format!("listening on http://{}", listener.local_addr()?))?;

    start(&cluster, Arc::clone(&server), listener)?;
    signals.wait()?;
    exit_at_next(signals)?;

    // Cancels all fibres at once. Requests in flight are spared for half of the time; then their
    // calls fail as well, and waits that cannot fail are unwound.
    let ended = cluster.stop_within(Duration::ZERO, 2 * options.drain_timeout);
    let live = ended.err().map_or(0, |left| left.left.len() + left.unseen);
    announce(&format!("{}; live fibres {live}", server.tally()))?;
    Ok(live)
}

/// Starts the two fibres that every server has: one accepts, the other keeps the date.
fn start(cluster: &Cluster, server: Arc<Server>, listener: TcpListener) -> io::Result<()> {
    let serve = move || {
        // It ends by being cancelled, with the cluster, and in no other way.
        let _ = fibre::group(|group: &Group<'_, '_, (), Infallible>| {
            group.run(|| {
                server.clock.keep();
                Ok(())
            });
            accept::accept_all(&server, &listener);
            Ok(())
        });
    };
    Builder::new()
        .name("acceptor")
        .spawn_in(cluster, serve)
        .map(drop)
}

/// Makes the next signal end the process at once, in whatever state it is.
fn exit_at_next(signals: Signals) -> io::Result<()> {
    let wait = move || {
        if signals.wait().is_ok() {
            exit(INTERRUPTED);
        }
    };
    thread::Builder::new().spawn(wait).map(drop)
}

/// Prints a line that another program may be waiting for.
fn announce(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
