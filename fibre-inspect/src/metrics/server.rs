//! `FIBRE_METRICS`: the metrics over HTTP.
//!
//! A kernel thread of its own serves all connections, so it answers even when every processor
//! hangs. It waits in `poll` for all of them, and for none alone. It has up to [`MOST`]
//! connections; for one more, it closes an idle one: the oldest without a whole request, or else
//! the oldest that has its answer. It never closes a connection that it is answering. If there are
//! no others, the new one waits in the kernel until one has ended, which takes no longer than a
//! client's time. Clients that come in quick succession get the same text.
//!
//! The server listens only on the address in the variable. Whoever may connect may read: neither a
//! password nor encryption protects the metrics, which reveal none of the program's data.
//!
//! Pages for people take longer: another thread makes them ([`pages`](crate::metrics::pages)).
//!
//! A forked child has neither the threads nor their sockets.

use crate::metrics::connection::{Connection, Fate};
use crate::metrics::exposition::exposition;
use crate::metrics::fork::{ClosedInChild, SLOTS};
use crate::metrics::pages::{MOST_WAITING, Pages};
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

// The connections, those that wait for a page and the one that has it, and the listening socket.
const _: () = assert!(MOST + MOST_WAITING + 2 < SLOTS, "a forked child closes all");

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
    /// What makes pages for people.
    pages: Pages,
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
            pages: Pages::default(),
        }
    }

    /// Serves for ever.
    fn run(mut self) -> ! {
        loop {
            self.turn();
        }
    }

    /// Waits until something can be done, and does it. Blocks the thread.
    fn turn(&mut self) {
        let ready = self.wait();
        let now = Instant::now();
        let mut kept = Vec::with_capacity(self.connections.len());
        let all = std::mem::take(&mut self.connections);
        for (place, mut connection) in all.into_iter().enumerate() {
            let is_ready = ready.connections.get(place).copied().unwrap_or(false);
            let text = &mut self.text;
            let fate = match is_ready {
                true => connection.go_on(|| current(text)),
                false => Fate::Stays,
            };
            match fate {
                Fate::Stays if now < connection.deadline => kept.push(connection),
                Fate::Stays | Fate::Over => {}
                Fate::Wants(page) => {
                    let mut refused = self.pages.hand_over(connection, page);
                    refused.iter_mut().for_each(Connection::refuse);
                    kept.extend(refused);
                }
            }
        }
        self.connections = kept;
        if ready.listener {
            self.accept(now);
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
        let listens = if self.pauses_until.is_some() || !self.has_place() {
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
            if !self.has_place() {
                return;
            }
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

    /// Whether one more connection can be had.
    fn has_place(&self) -> bool {
        self.connections.len() < MOST || self.idle().is_some()
    }

    /// The place of the connection that is closed for another one: see the module text.
    fn idle(&self) -> Option<usize> {
        let oldest = |is_wanted: fn(&Connection) -> bool| {
            let fits = |one: &Connection| is_wanted(one) && one.is_idle();
            self.connections.iter().position(fits)
        };
        oldest(Connection::is_receiving).or_else(|| oldest(|one| !one.is_receiving()))
    }

    /// Closes an idle connection, if there is one.
    fn make_place(&mut self) {
        if let Some(idle) = self.idle() {
            self.connections.remove(idle);
        }
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
    let new = exposition();
    *text = Some((Instant::now(), new.clone()));
    new
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
mod tests {
    use super::*;
    use rustix::net::sockopt;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\n\r\n";

    /// How long the text is: longer than what the kernel takes for a client that does not read.
    const LENGTH: usize = 1 << 20;

    /// A server with a text that long, and its address.
    fn server() -> (Server, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        // Its connections inherit that.
        sockopt::set_socket_send_buffer_size(&listener, 64 << 10).unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = Server::new(listener);
        let made = Instant::now() + Duration::from_secs(3600);
        server.text = Some((made, "x".repeat(LENGTH)));
        (server, address)
    }

    /// A client with calls that end some time.
    fn client(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        stream
    }

    /// Gives each connection all the time of the test.
    fn be_patient(server: &mut Server) {
        let end = Instant::now() + Duration::from_secs(300);
        server
            .connections
            .iter_mut()
            .for_each(|one| one.deadline = end);
    }

    /// How many bytes this client is answered with.
    fn answer(mut client: &TcpStream) -> usize {
        let mut text = Vec::new();
        client.read_to_end(&mut text).expect("it is cut off");
        text.len()
    }

    /// With all places taken by clients that are being answered, and slow to read, one more client
    /// waits, and all get whole answers.
    #[test]
    fn those_who_are_being_answered_stay() {
        let (mut server, address) = server();
        let clients: Vec<_> = (0..MOST).map(|_| client(address)).collect();
        clients
            .iter()
            .for_each(|mut one| one.write_all(REQUEST).unwrap());
        let is_busy = |one: &Connection| !one.is_receiving() && !one.is_idle();
        while server.connections.iter().filter(|one| is_busy(one)).count() < MOST {
            server.turn();
            be_patient(&mut server);
        }
        let late = client(address);
        (&late).write_all(REQUEST).unwrap();
        let read = |client| std::thread::spawn(move || answer(&client));
        let readers: Vec<_> = clients.into_iter().chain([late]).map(read).collect();
        while !server.connections.is_empty() {
            server.turn();
            be_patient(&mut server);
        }
        for reader in readers {
            let length = reader.join().unwrap();
            assert!(length > LENGTH, "{length}");
        }
    }

    /// An idle client makes place, and no client that has sent its request does, although nobody
    /// has read that yet.
    #[test]
    fn an_idle_client_makes_place() {
        let (mut server, address) = server();
        server.text = Some((server.text.unwrap().0, "x".to_owned()));
        let clients: Vec<_> = (0..MOST).map(|_| client(address)).collect();
        while server.connections.len() < MOST {
            server.turn();
        }
        let idle = 7;
        for (place, mut one) in clients.iter().enumerate() {
            if place != idle {
                one.write_all(REQUEST).unwrap();
            }
        }
        let late = client(address);
        (&late).write_all(REQUEST).unwrap();
        // Nothing of these requests has been read when it comes.
        server.accept(Instant::now());
        assert_eq!(server.connections.len(), MOST);
        assert_eq!((&clients[idle]).read(&mut [0]).unwrap(), 0, "it is closed");
        let answered: Vec<_> = clients.into_iter().chain([late]).collect();
        let reader = std::thread::spawn(move || {
            let others = answered
                .iter()
                .enumerate()
                .filter(|(place, _)| *place != idle);
            others.map(|(_, one)| answer(one)).collect::<Vec<_>>()
        });
        while !server.connections.is_empty() {
            server.turn();
        }
        assert!(reader.join().unwrap().iter().all(|length| *length > 0));
    }
}
