//! What every server here does around its connections: it listens, accepts, and stops.
//!
//! SIGINT or SIGTERM stops it: no more connections are accepted, those at rest end, those at work
//! have `--drain-timeout` to finish, and are cut after that. A second signal ends the process.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use fibre::Cluster;
use fibre::net::{TcpListener, TcpStream};
use fibre::signal::{SIGINT, SIGTERM, Signals};

use crate::connections::{Connections, Socket};
use crate::options::{at_least_one, seconds};

/// How long connections that have been cut may take to notice it.
const CUT_GRACE: Duration = Duration::from_secs(2);

/// Complaints are printed at most this often.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// How a server listens and stops.
#[derive(Args, Debug)]
pub struct Limits {
    /// Kernel threads that run fibres [default: what affinity and quota allow]
    #[arg(long)]
    processors: Option<usize>,

    /// Connections served at a time; further ones wait
    #[arg(long, default_value_t = 10_000, value_parser = at_least_one)]
    max_connections: usize,

    /// Seconds that a connection may rest, or a read or write make no progress
    #[arg(long, default_value = "60", value_parser = seconds)]
    pub idle_timeout: Duration,

    /// Seconds that a handshake or a request's head may take in all
    #[arg(long, default_value = "10", value_parser = seconds)]
    pub handshake_timeout: Duration,

    /// Seconds that requests in flight get to finish after SIGINT
    #[arg(long, default_value = "10", value_parser = seconds)]
    drain_timeout: Duration,
}

/// A server that listens.
pub struct Server<S: Socket> {
    /// Runs its fibres.
    cluster: Cluster,
    /// What it listens on.
    listener: Arc<TcpListener>,
    /// The scheme of its addresses.
    scheme: &'static str,
    /// The connections that it serves.
    pub connections: Arc<Connections<S>>,
    /// How long connections at work may take when it stops.
    drain_timeout: Duration,
    /// What stops it; watched since before it said that it listens.
    signals: Signals,
}

impl<S: Socket> Server<S> {
    /// Listens.
    ///
    /// # Errors
    ///
    /// If the address is taken, or threads or descriptors run out.
    pub fn listen(scheme: &'static str, address: SocketAddr, limits: &Limits) -> io::Result<Self> {
        let mut cluster = Cluster::builder().name(scheme);
        if let Some(processors) = limits.processors {
            cluster = cluster.processors(processors);
        }
        let listener = TcpListener::bind(address)?;
        Ok(Self {
            cluster: cluster.build()?,
            connections: Arc::new(Connections::new(limits.max_connections)),
            drain_timeout: limits.drain_timeout,
            signals: Signals::new([SIGINT, SIGTERM])?,
            listener: Arc::new(listener),
            scheme,
        })
    }

    /// Says that it listens: `listening on SCHEME://ADDRESS`.
    ///
    /// # Errors
    ///
    /// If standard output is gone.
    pub fn announce(&self) -> io::Result<()> {
        let address = self.listener.local_addr()?;
        announce(&format!("listening on {}://{address}", self.scheme))
    }

    /// Runs its fibres.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Makes a fibre accept connections and call `start` for each. It may wait for room among the
    /// connections.
    pub fn accept_each(&self, mut start: impl FnMut(TcpStream) -> io::Result<()> + Send + 'static) {
        let listener = Arc::clone(&self.listener);
        let connections = Arc::clone(&self.connections);
        let accept = move || {
            let mut complained = None::<Instant>;
            while !connections.is_stopping() {
                // Most errors concern one connection that is gone already, and when descriptors
                // run out, `accept` paces itself.
                let started = listener.accept().and_then(|(stream, _)| start(stream));
                if let Err(error) = started
                    && complained.is_none_or(|last| last.elapsed() > COMPLAINT_INTERVAL)
                    && !connections.is_stopping()
                {
                    complained = Some(Instant::now());
                    eprintln!("cannot accept connections: {error}");
                }
            }
        };
        drop(self.cluster.spawn(accept));
    }

    /// Serves until a signal comes, then stops; returns how many fibres are left. Calls `last` once
    /// all connections have ended. Blocks the thread.
    ///
    /// # Errors
    ///
    /// If signals cannot be waited for.
    pub fn run(self, last: impl FnOnce()) -> io::Result<usize> {
        self.signals.wait()?;
        // The next one ends the process.
        drop(self.signals);
        self.connections.stop();
        self.listener.close();
        if !self.connections.ended_within(self.drain_timeout) {
            self.connections.cut();
        }
        last();
        let stopped = self.cluster.stop_within(CUT_GRACE, CUT_GRACE);
        Ok(stopped.map_or_else(|error| error.left.len() + error.unseen, |()| 0))
    }
}

/// Prints a line that another program may be waiting for.
///
/// # Errors
///
/// If standard output is gone.
pub fn announce(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}
