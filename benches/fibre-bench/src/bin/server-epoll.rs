//! The limit: an event loop on bare epoll, no runtime.
//!
//! Edge-triggered, because then a request costs one `recv`, one `send` and its
//! share of one `epoll_wait`: a short read means that the socket is drained, so
//! no read has to fail before the loop moves on, and a ready socket is not put
//! back on the kernel's ready list to be looked at again. All connections read
//! into one buffer.
//!
//! `server-epoll ADDRESS level` runs the same loop level-triggered, to see which of the two is the
//! cheaper limit on a machine. Several processors are several loops that share nothing: each has a
//! listener of its own on the same address (`SO_REUSEPORT`), and the kernel deals the connections
//! among them.

use std::mem::MaybeUninit;
use std::net::{TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::{io, thread};

use clap::{Parser, ValueEnum};
use fibre_bench::http::READ_BUFFER;
use fibre_bench::serving::{self, Options, Responder};
use libc::epoll_event;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, sockopt};

/// Events taken from the kernel by one wait.
const EVENTS: usize = 1024;

/// What this server can be told.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// What every server can be told.
    #[command(flatten)]
    options: Options,
    /// When the kernel tells of a ready socket.
    #[arg(value_enum, default_value_t = Trigger::Edge)]
    trigger: Trigger,
}

/// When the kernel tells of a ready socket.
#[derive(Clone, Copy, ValueEnum)]
enum Trigger {
    /// Once each time it becomes ready.
    Edge,
    /// As long as it is ready.
    Level,
}

fn main() -> io::Result<()> {
    let Arguments { options, trigger } = Arguments::parse();
    let addresses = options.address.to_socket_addrs();
    let address = addresses?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let first = serving::listen_beside_others(address)?;
    let address = first.local_addr()?;
    for _ in 1..options.processors {
        let another = Loop::new(
            serving::listen_beside_others(address)?,
            trigger,
            options.clone(),
        )?;
        thread::Builder::new().spawn(|| another.run())?;
    }
    serving::announce(address)?;
    Loop::new(first, trigger, options)?.run()
}

/// Waits for events, and returns those that there are: none if a signal came. By `epoll_wait`, as
/// valgrind does not know the newer call that rustix makes.
fn wait<'a>(
    epoll: &OwnedFd,
    space: &'a mut [MaybeUninit<epoll_event>],
) -> io::Result<&'a [epoll_event]> {
    let (events, room) = (space.as_mut_ptr().cast(), space.len() as i32);
    // SAFETY: there is room for as many events as are asked for.
    let count = unsafe { libc::epoll_wait(epoll.as_raw_fd(), events, room, -1) };
    match usize::try_from(count) {
        // SAFETY: the kernel has written the first `count` events.
        Ok(count) => Ok(unsafe { space[..count].assume_init_ref() }),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(&[]),
            error => Err(error),
        },
    }
}

/// One open connection.
struct Connection {
    /// The socket, non-blocking.
    socket: OwnedFd,
    /// What turns its bytes into replies.
    responder: Responder,
    /// Replies the socket did not take; empty unless the client reads slowly.
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
    /// Where its descriptors are registered.
    epoll: OwnedFd,
    /// Where its connections come from.
    listener: TcpListener,
    /// `EPOLLET`, or nothing for level-triggered.
    trigger: EventFlags,
    /// How to reply.
    options: Options,
    /// Connections, found by their file descriptor.
    connections: Vec<Option<Connection>>,
    /// What every connection reads into.
    buffer: [MaybeUninit<u8>; READ_BUFFER],
}

impl Loop {
    /// A loop for the connections of one listener.
    fn new(listener: TcpListener, trigger: Trigger, options: Options) -> io::Result<Self> {
        let trigger = match trigger {
            Trigger::Edge => EventFlags::ET,
            Trigger::Level => EventFlags::empty(),
        };
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
            options,
            connections: Vec::new(),
            buffer: [MaybeUninit::uninit(); READ_BUFFER],
        })
    }

    /// Turns for ever.
    fn run(mut self) -> io::Result<()> {
        let listener = token(&self.listener).u64();
        let mut space = [MaybeUninit::<epoll_event>::uninit(); EVENTS];
        loop {
            for &epoll_event { events, u64: token } in wait(&self.epoll, &mut space)? {
                if token == listener {
                    self.accept()?;
                } else {
                    self.serve(token as usize, EventFlags::from_bits_retain(events))?;
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
        sockopt::set_tcp_nodelay(&socket, true)?;
        let interest = EventFlags::IN | EventFlags::RDHUP | self.trigger;
        epoll::add(&self.epoll, &socket, token(&socket), interest)?;
        let index = socket.as_raw_fd() as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        self.connections[index] = Some(Connection {
            socket,
            responder: self.options.responder(),
            unsent: Vec::new(),
        });
        Ok(())
    }

    /// Replies to what one connection has sent.
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
    /// Reads and answers until the socket is drained, or takes no more replies:
    /// then the event that it does brings the loop back here. `hung_up` tells
    /// that the end of the stream may hide behind a short read.
    fn answer_all(&mut self, buffer: &mut [MaybeUninit<u8>], hung_up: bool) -> Next {
        loop {
            let received = rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty());
            let (replies, drained) = match received {
                Ok((([], _), _)) => return Next::Close,
                Ok(((bytes, rest), _)) => (self.responder.replies(bytes), !rest.is_empty()),
                Err(Errno::AGAIN) => return Next::Keep,
                Err(Errno::INTR) => continue,
                Err(_) => return Next::Close,
            };
            for bytes in replies {
                if self.send(bytes) == Next::Close {
                    return Next::Close;
                }
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
