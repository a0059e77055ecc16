//! The limit: an event loop on bare epoll, one thread, no runtime.
//!
//! Edge-triggered, because then a request costs one `recv`, one `send` and its
//! share of one `epoll_wait`: a short read means that the socket is drained, so
//! no read has to fail before the loop moves on, and a ready socket is not put
//! back on the kernel's ready list to be looked at again. All connections read
//! into one buffer.
//!
//! `server-epoll ADDRESS level` runs the same loop level-triggered, to see
//! which of the two is the cheaper limit on a machine.

use std::io;
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use fibre_bench::http::{self, READ_BUFFER, RequestScanner};
use fibre_bench::serving;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags};

/// Events taken from the kernel by one wait.
const EVENTS: usize = 1024;

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(serving::address())?;
    listener.set_nonblocking(true)?;
    serving::deepen_backlog(&listener)?;
    serving::announce(listener.local_addr()?)?;
    let trigger = match std::env::args().nth(2).as_deref() {
        Some("level") => EventFlags::empty(),
        _ => EventFlags::ET,
    };
    Loop::new(listener, trigger)?.run()
}

/// One open connection.
struct Connection {
    /// The socket, non-blocking.
    socket: OwnedFd,
    /// How far into a request its bytes have come.
    scanner: RequestScanner,
    /// Answers the socket did not take; empty unless the client reads slowly.
    unsent: Vec<u8>,
}

/// What to do with a connection after an event.
#[derive(PartialEq)]
enum Next {
    /// Wait for more.
    Keep,
    /// The client went away.
    Close,
}

/// The event loop.
struct Loop {
    epoll: OwnedFd,
    listener: TcpListener,
    /// `EPOLLET`, or nothing for level-triggered.
    trigger: EventFlags,
    /// Connections, found by their file descriptor.
    connections: Vec<Option<Connection>>,
    /// What every connection reads into.
    buffer: [MaybeUninit<u8>; READ_BUFFER],
}

impl Loop {
    fn new(listener: TcpListener, trigger: EventFlags) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(
            &epoll,
            &listener,
            token(&listener),
            EventFlags::IN | trigger,
        )?;
        Ok(Self {
            epoll,
            listener,
            trigger,
            connections: Vec::new(),
            buffer: [MaybeUninit::uninit(); READ_BUFFER],
        })
    }

    fn run(mut self) -> io::Result<()> {
        let listener = token(&self.listener).u64();
        let mut space = [MaybeUninit::<Event>::uninit(); EVENTS];
        loop {
            let events = match epoll::wait(&self.epoll, &mut space, None) {
                Err(Errno::INTR) => continue,
                waited => waited?.0,
            };
            for event in events {
                let data = event.data;
                if data.u64() == listener {
                    self.accept()?;
                } else {
                    self.serve(data.u64() as usize, event.flags)?;
                }
            }
        }
    }

    /// Takes every connection that waits.
    fn accept(&mut self) -> io::Result<()> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        loop {
            match rustix::net::accept_with(&self.listener, flags) {
                Ok(socket) => self.add(socket)?,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Registers a new connection.
    fn add(&mut self, socket: OwnedFd) -> io::Result<()> {
        rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
        let interest = EventFlags::IN | EventFlags::RDHUP | self.trigger;
        epoll::add(&self.epoll, &socket, token(&socket), interest)?;
        let index = socket.as_raw_fd() as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.connections[index] = Some(Connection {
            socket,
            scanner: RequestScanner::default(),
            unsent: Vec::new(),
        });
        Ok(())
    }

    /// Answers what one connection has sent.
    fn serve(&mut self, index: usize, flags: EventFlags) -> io::Result<()> {
        let Some(Some(connection)) = self.connections.get_mut(index) else {
            return Ok(());
        };
        let had_unsent = !connection.unsent.is_empty();
        let hung_up = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        let mut next = connection.flush();
        if next == Next::Keep && connection.unsent.is_empty() {
            next = connection.answer_all(&mut self.buffer, hung_up);
        }
        if next == Next::Close {
            self.connections[index] = None; // closing the last descriptor unregisters it
        } else if had_unsent == connection.unsent.is_empty() {
            let mut interest = EventFlags::IN | EventFlags::RDHUP | self.trigger;
            interest.set(EventFlags::OUT, !had_unsent);
            epoll::modify(
                &self.epoll,
                &connection.socket,
                token(&connection.socket),
                interest,
            )?;
        }
        Ok(())
    }
}

impl Connection {
    /// Reads and answers until the socket is drained, or takes no more answers:
    /// then the event that it does brings the loop back here. `hung_up` tells
    /// that the end of the stream may hide behind a short read.
    fn answer_all(&mut self, buffer: &mut [MaybeUninit<u8>], hung_up: bool) -> Next {
        loop {
            let received = rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty());
            let (requests, drained) = match received {
                Ok((([], _), _)) => return Next::Close,
                Ok(((bytes, rest), _)) => (self.scanner.feed(bytes), !rest.is_empty()),
                Err(Errno::AGAIN) => return Next::Keep,
                Err(Errno::INTR) => continue,
                Err(_) => return Next::Close,
            };
            if http::answers(requests).any(|bytes| self.send(bytes) == Next::Close) {
                return Next::Close;
            }
            if (drained && !hung_up) || !self.unsent.is_empty() {
                return Next::Keep;
            }
        }
    }

    /// Sends `bytes`, keeping what the socket does not take.
    fn send(&mut self, bytes: &[u8]) -> Next {
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(bytes);
            return Next::Keep;
        }
        match send_some(&self.socket, bytes) {
            Ok(sent) if sent == bytes.len() => Next::Keep,
            Ok(sent) => {
                self.unsent.extend_from_slice(&bytes[sent..]);
                Next::Keep
            }
            Err(_) => Next::Close,
        }
    }

    /// Sends what an earlier write left over.
    fn flush(&mut self) -> Next {
        if self.unsent.is_empty() {
            return Next::Keep;
        }
        match send_some(&self.socket, &self.unsent) {
            Ok(sent) => {
                self.unsent.drain(..sent);
                Next::Keep
            }
            Err(_) => Next::Close,
        }
    }
}

/// One `send`; a full socket takes 0 bytes.
fn send_some(socket: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        match rustix::net::send(&socket, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::AGAIN) => return Ok(0),
            Err(Errno::INTR) => {}
            sent => return sent,
        }
    }
}

/// The event data of a file descriptor: its number.
fn token(fd: &impl AsRawFd) -> EventData {
    EventData::new_u64(fd.as_raw_fd() as u64)
}
