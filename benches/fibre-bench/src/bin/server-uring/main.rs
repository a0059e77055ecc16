//! Another limit: an event loop on bare io_uring, no runtime.
//!
//! All that a turn of the loop wants from the kernel is handed over in one system call, which
//! also waits for what is done. `--receive` and `--send` choose what is handed over, to see what
//! each is worth:
//!
//! * `--receive multishot`: one order per connection, for all that it will ever receive, into
//!   buffers that the kernel takes from a ring;
//! * `--receive single`: an order for each message, into a buffer of the connection's own, as
//!   blocking reads on a stack need it;
//! * `--receive poll`: one order per connection, to be told when it is ready; `recv` is called;
//! * `--send ring`: an order for each reply; `--send call`: `send` is called.
//!
//! At most one order to send is with the kernel for each connection; what is to be sent meanwhile
//! waits. A connection, and so its number and its memory, stays until all its orders are
//! done. Several processors are several loops that share nothing, each with a listener of its own
//! on the same address (`SO_REUSEPORT`).

mod buffers;
mod connection;

use std::net::{TcpListener, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd, RawFd};
use std::{io, mem, thread};

use buffers::Buffers;
use clap::{Parser, ValueEnum};
use connection::{Connection, Receiving};
use fibre_bench::serving::{self, Options};
use io_uring::squeue::Entry;
use io_uring::{IoUring, SubmissionQueue, Submitter, cqueue, opcode, types};
use rustix::net::sockopt;

/// Orders that fit into the ring; more are handed over before the turn is complete.
const ORDERS: u32 = 1024;

/// Makes the kernel wait before it tries to receive: nothing has come yet.
const POLL_FIRST: u16 = 1; // IORING_RECVSEND_POLL_FIRST

/// Results that fit into the ring.
const RESULTS: u32 = 4096;

/// What this server can be told.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// What every server can be told.
    #[command(flatten)]
    options: Options,
    /// How the loop comes by what clients send.
    #[arg(long, value_enum, default_value_t = Receive::Multishot)]
    receive: Receive,
    /// How replies go out.
    #[arg(long, value_enum, default_value_t = Send::Ring)]
    send: Send,
}

/// How the loop comes by what clients send.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Receive {
    /// One order for ever, into buffers from a ring.
    Multishot,
    /// An order each time, into the connection's buffer.
    Single,
    /// One order for ever to be told of readiness.
    Poll,
}

/// How replies go out.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Send {
    /// By an order.
    Ring,
    /// By a system call.
    Call,
}

/// What an order was for; the low byte of what comes back with its result.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(u8)]
enum Order {
    /// A connection.
    Accept,
    /// What a client sends, or readiness.
    Receive,
    /// A reply.
    Send,
    /// Anything with a result that does not matter.
    Forget,
}

impl Order {
    /// What the kernel is to give back: the order and its descriptor.
    fn tag(self, fd: RawFd) -> u64 {
        (fd as u64) << 8 | self as u64
    }

    /// The reverse.
    fn of_tag(tag: u64) -> (Self, usize) {
        let order = match tag as u8 {
            0 => Self::Accept,
            1 => Self::Receive,
            2 => Self::Send,
            _ => Self::Forget,
        };
        (order, (tag >> 8) as usize)
    }
}

fn main() -> io::Result<()> {
    let Arguments {
        options,
        receive,
        send,
    } = Arguments::parse();
    let addresses = options.address.to_socket_addrs();
    let address = addresses?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let first = serving::listen_beside_others(address)?;
    let address = first.local_addr()?;
    for _ in 1..options.processors {
        let (another, options) = (serving::listen_beside_others(address)?, options.clone());
        thread::Builder::new().spawn(move || run(&another, receive, send, &options))?;
    }
    serving::announce(address)?;
    run(&first, receive, send, &options)
}

/// Turns for ever. The ring is made on the thread that uses it, which the kernel insists on.
fn run(listener: &TcpListener, receive: Receive, send: Send, options: &Options) -> io::Result<()> {
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .setup_submit_all()
        .setup_cqsize(RESULTS)
        .build(ORDERS)?;
    ring.submitter().register_ring_fd()?;
    let buffers = Buffers::register(&ring.submitter(), options.read_buffer())?;
    let (submitter, orders, mut results) = ring.split();
    let mut server = Loop {
        submitter,
        orders,
        listener: listener.as_raw_fd(),
        receive,
        send,
        options,
        connections: Vec::new(),
        buffers,
    };
    server.accept()?;
    loop {
        server.orders.sync();
        match server.submitter.submit_and_wait(1) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // More results than fit: take some first.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            done => _ = done?,
        }
        results.sync();
        for result in &mut results {
            server.take(&result)?;
        }
    }
}

/// The event loop.
struct Loop<'a> {
    /// Hands the orders over.
    submitter: Submitter<'a>,
    /// Orders of this turn.
    orders: SubmissionQueue<'a>,
    /// Where connections come from.
    listener: RawFd,
    /// How to receive.
    receive: Receive,
    /// How to send.
    send: Send,
    /// How to reply.
    options: &'a Options,
    /// Connections, found by their file descriptor.
    connections: Vec<Option<Box<Connection>>>,
    /// What multishot orders receive into.
    buffers: Buffers,
}

impl Loop<'_> {
    /// Puts an order among those of this turn.
    ///
    /// # Safety
    ///
    /// What the order points to stays where it is until its result has come.
    unsafe fn order(&mut self, entry: &Entry) -> io::Result<()> {
        // SAFETY: as above.
        while unsafe { self.orders.push(entry) }.is_err() {
            self.orders.sync();
            self.submitter.submit()?;
            self.orders.sync();
        }
        Ok(())
    }

    /// Orders connections.
    fn accept(&mut self) -> io::Result<()> {
        let accept = opcode::AcceptMulti::new(types::Fd(self.listener))
            .flags(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK)
            .build()
            .user_data(Order::Accept.tag(self.listener));
        // SAFETY: it points to nothing.
        unsafe { self.order(&accept) }
    }

    /// Does what a result calls for.
    fn take(&mut self, result: &cqueue::Entry) -> io::Result<()> {
        let (order, index) = Order::of_tag(result.user_data());
        let value = result.result();
        let more = cqueue::more(result.flags());
        match order {
            Order::Forget => Ok(()),
            Order::Accept => {
                match value {
                    // SAFETY: the kernel has just given it to us.
                    0.. => self.add(unsafe { OwnedFd::from_raw_fd(value) })?,
                    _ if value == -libc::ECONNABORTED => {}
                    _ => return Err(io::Error::from_raw_os_error(-value)),
                }
                if more { Ok(()) } else { self.accept() }
            }
            Order::Receive => {
                let id = cqueue::buffer_select(result.flags());
                self.received(index, value, more, id)
            }
            Order::Send => {
                let connection = self.connection(index);
                connection.in_flight -= 1;
                connection.sent(value);
                self.go_on(index)
            }
        }
    }

    /// A connection that has orders with the kernel.
    fn connection(&mut self, index: usize) -> &mut Connection {
        match &mut self.connections[index] {
            Some(connection) => connection,
            None => unreachable!("a connection stays until its orders are done"),
        }
    }

    /// Starts to serve a new connection.
    fn add(&mut self, socket: OwnedFd) -> io::Result<()> {
        sockopt::set_tcp_nodelay(&socket, true)?;
        let index = socket.as_raw_fd() as usize;
        if self.connections.len() <= index {
            self.connections.resize_with(index + 1, || None);
        }
        let room = match self.receive {
            Receive::Multishot => 0,
            Receive::Single | Receive::Poll => self.options.read_buffer(),
        };
        let connection = Connection::new(socket, self.options.responder(), room);
        self.connections[index] = Some(Box::new(connection));
        self.receive(index)
    }

    /// Orders what a connection will receive.
    fn receive(&mut self, index: usize) -> io::Result<()> {
        let receive = self.receive;
        let connection = self.connection(index);
        connection.in_flight += 1;
        connection.receiving = Receiving::Ordered;
        let fd = types::Fd(index as RawFd);
        let entry = match receive {
            Receive::Multishot => opcode::RecvMulti::new(fd, Buffers::GROUP).build(),
            Receive::Single => {
                let (start, room) = (connection.buffer.as_mut_ptr(), connection.buffer.len());
                opcode::Recv::new(fd, start, room as u32)
                    .ioprio(POLL_FIRST)
                    .build()
            }
            Receive::Poll => opcode::PollAdd::new(fd, (libc::POLLIN | libc::POLLRDHUP) as u32)
                .multi(true)
                .build(),
        };
        let entry = entry.user_data(Order::Receive.tag(index as RawFd));
        // SAFETY: the connection's buffer stays until all its orders are done.
        unsafe { self.order(&entry) }
    }

    /// Replies to what was received.
    fn received(
        &mut self,
        index: usize,
        value: i32,
        more: bool,
        id: Option<u16>,
    ) -> io::Result<()> {
        let receive = self.receive;
        let Some(connection) = &mut self.connections[index] else {
            unreachable!("a connection stays until its orders are done");
        };
        if !more {
            connection.in_flight -= 1;
            connection.receiving = Receiving::No;
        }
        match receive {
            Receive::Multishot => {
                if let (Some(id), Ok(length)) = (id, usize::try_from(value)) {
                    // SAFETY: the kernel has just said so.
                    connection.reply(unsafe { self.buffers.get(id, length) });
                    self.buffers.give_back(id);
                }
                let goes_on = value > 0 || [-libc::ENOBUFS, -libc::ECANCELED].contains(&value);
                connection.closing |= !goes_on;
            }
            Receive::Single => {
                let buffer = mem::take(&mut connection.buffer);
                match usize::try_from(value) {
                    Ok(1..) => connection.reply(&buffer[..value as usize]),
                    _ => connection.closing = true,
                }
                connection.buffer = buffer;
            }
            Receive::Poll if value > 0 => connection.became_readable(value as i16),
            Receive::Poll => connection.closing |= value != -libc::ECANCELED,
        }
        self.go_on(index)
    }

    /// Orders what a connection needs next, or ends it.
    fn go_on(&mut self, index: usize) -> io::Result<()> {
        let send = self.send;
        let connection = self.connection(index);
        loop {
            connection.receive_now();
            if send == Send::Call && !connection.sending {
                connection.send_now();
            }
            if !connection.can_receive_now() {
                break;
            }
        }
        if let Some(bytes) = connection.next_to_send() {
            let (start, length) = (bytes.as_ptr(), bytes.len() as u32);
            let entry = opcode::Send::new(types::Fd(index as RawFd), start, length)
                .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
                .build()
                .user_data(Order::Send.tag(index as RawFd));
            connection.in_flight += 1;
            // SAFETY: the bytes stay until `sent`, and the connection until all is done.
            unsafe { self.order(&entry)? };
        }
        let receive = self.receive;
        let connection = self.connection(index);
        let is_full = connection.is_full();
        if connection.closing && connection.in_flight == 0 {
            self.connections[index] = None;
            return Ok(());
        }
        match connection.receiving {
            Receiving::No if !connection.closing && !is_full => self.receive(index),
            // A connection that is told of readiness reads when there is room.
            Receiving::Ordered
                if connection.closing || (is_full && receive == Receive::Multishot) =>
            {
                self.stop_receiving(index)
            }
            _ => Ok(()),
        }
    }

    /// Takes the order to receive back.
    fn stop_receiving(&mut self, index: usize) -> io::Result<()> {
        self.connection(index).receiving = Receiving::Stopping;
        let entry = opcode::AsyncCancel::new(Order::Receive.tag(index as RawFd))
            .build()
            .user_data(Order::Forget.tag(0));
        // SAFETY: it points to nothing.
        unsafe { self.order(&entry) }
    }
}
