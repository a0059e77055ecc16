//! `FIBRE_METRICS`: the metrics over HTTP.
//!
//! A kernel thread of its own serves all connections, so the answer comes also when every processor
//! hangs. It waits in `poll` for all of them, and for none alone. There are [`MOST`] connections at
//! once; when one more comes, the one that has been there for longest without a whole request makes
//! place. Clients that come in quick succession get the same text.
//!
//! The address is the one that the variable says, and nothing else is listened on. Whoever may
//! connect may read: neither password nor encryption protects the metrics, which say nothing of
//! what the program's data are.
//!
//! A forked child has neither the thread nor its sockets.

use crate::connection::Connection;
use crate::exposition::exposition;
use crate::fork::{ClosedInChild, SLOTS};
use fibre_core::internal::{has_addresses, start_helper, warn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The most connections at once.
const MOST: usize = 32;

/// How long a text serves.
const FRESH: Duration = Duration::from_millis(20);

/// How long no connection is accepted after an error: the process may be out of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

// The connections and the listening socket.
const _: () = assert!(MOST < SLOTS, "a forked child closes all");

/// Serves the metrics at an address from now on. If that cannot be, this is said, and the program
/// goes on without.
pub(crate) fn serve(address: SocketAddr) {
    if let Err(error) = start(address) {
        warn(format_args!(
            "no metrics are served at {address}, as FIBRE_METRICS asks: {error}"
        ));
    }
}

/// Starts the thread.
fn start(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let chosen = listener.local_addr()?;
    if !has_addresses() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // What a thread takes it takes now, as the program may use up its memory from here on.
    let (begins, begun) = mpsc::channel();
    start_helper("fibre-metrics".to_owned(), move || {
        let server = Server::new(listener);
        let _ = begins.send(());
        drop(begins);
        server.run();
    })?;
    let _ = begun.recv();
    if address.port() == 0 {
        warn(format_args!(
            "metrics are served at http://{chosen}/metrics"
        ));
    }
    Ok(())
}

/// The state of the thread.
#[derive(Debug)]
struct Server {
    /// Goes before the listener does.
    _closed_in_child: ClosedInChild,
    listener: TcpListener,
    /// The connections that there are, the oldest first.
    connections: Vec<Connection>,
    /// When connections are accepted again, after an error.
    pauses_until: Option<Instant>,
    /// The last text, and when it was made.
    text: Option<(Instant, String)>,
}

impl Server {
    /// A server without connections.
    fn new(listener: TcpListener) -> Self {
        Self {
            _closed_in_child: ClosedInChild::new(&listener),
            listener,
            connections: Vec::new(),
            pauses_until: None,
            text: None,
        }
    }

    /// Serves for ever.
    fn run(mut self) -> ! {
        loop {
            let ready = self.wait();
            let now = Instant::now();
            let mut kept = Vec::with_capacity(self.connections.len());
            let all = std::mem::take(&mut self.connections);
            for (place, mut connection) in all.into_iter().enumerate() {
                let is_ready = ready.connections.get(place).copied().unwrap_or(false);
                let text = &mut self.text;
                let stays = !is_ready || connection.go_on(|| current(text));
                if stays && now < connection.deadline {
                    kept.push(connection);
                }
            }
            self.connections = kept;
            if ready.listener {
                self.accept(now);
            }
        }
    }

    /// Waits until something can be done, or a client's time is over. Blocks the thread.
    fn wait(&mut self) -> Ready {
        let now = Instant::now();
        self.pauses_until = self.pauses_until.filter(|until| *until > now);
        let ends = self
            .connections
            .iter()
            .map(|connection| connection.deadline);
        let next = ends.chain(self.pauses_until).min();
        let timeout = next.map(|next| {
            let left = next.saturating_duration_since(now) + Duration::from_millis(1);
            Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: i64::from(left.subsec_nanos()),
            }
        });
        let listens = if self.pauses_until.is_some() {
            PollFlags::empty()
        } else {
            PollFlags::IN
        };
        let listener = self.listener.as_fd();
        let mut wanted = vec![PollFd::from_borrowed_fd(listener, listens)];
        let each = self.connections.iter();
        wanted.extend(each.map(|one| PollFd::from_borrowed_fd(one.as_fd(), one.wants())));
        if poll(&mut wanted, timeout.as_ref()).is_err() {
            // A signal, or no memory in the kernel for a moment.
            std::thread::park_timeout(Duration::from_millis(1));
            return Ready::default();
        }
        let mut ready = wanted.iter().map(|one| !one.revents().is_empty());
        Ready {
            listener: ready.next().unwrap_or(false) && self.pauses_until.is_none(),
            connections: ready.collect(),
        }
    }

    /// Accepts all connections that have come.
    fn accept(&mut self, now: Instant) {
        for _ in 0..MOST {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if self.connections.len() == MOST {
                        self.make_place();
                    }
                    self.connections.extend(Connection::new(stream, now));
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    _ => {
                        self.pauses_until = Some(now + PAUSE);
                        return;
                    }
                },
            }
        }
    }

    /// Drops the connection that has been there for longest without a whole request, or else the
    /// oldest.
    fn make_place(&mut self) {
        let lazy = self.connections.iter().position(Connection::is_receiving);
        self.connections.remove(lazy.unwrap_or(0));
    }
}

/// What can be done.
#[derive(Debug, Default)]
struct Ready {
    /// A connection may be accepted.
    listener: bool,
    /// Whether each of the connections can go on.
    connections: Vec<bool>,
}

/// The text for a client: the last one, if that is fresh.
fn current(text: &mut Option<(Instant, String)>) -> String {
    if let Some((_, fresh)) = text.as_ref().filter(|(made, _)| made.elapsed() < FRESH) {
        return fresh.clone();
    }
    let new = exposition().unwrap_or_default();
    *text = Some((Instant::now(), new.clone()));
    new
}
