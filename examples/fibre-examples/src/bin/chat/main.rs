//! A WebSocket server in plain blocking style, over tungstenite: an echo under `/echo`, and under
//! any other path a room, where everybody hears what anybody says.
//!
//! ```sh
//! cargo run --release -p fibre-examples --bin chat
//! websocat ws://127.0.0.1:8081/kitchen     # or any other WebSocket client, twice
//! ```
//!
//! A connection has two fibres. One reads: it owns tungstenite's `WebSocket`. The other writes: it
//! owns the sending direction of the socket, and gets whole frames through a bounded channel, the
//! connection's *outbox*, from its reader, and from the readers of all others in the room. So
//! frames never mix, nobody waits for a lock in order to speak, and a connection that waits for its
//! client to read holds up nobody: who is so slow that its outbox is full is put out.
//!
//! Handshakes, messages, outboxes, and the time that a client has to take what is written to it are
//! bounded. Whoever says nothing for `--idle-timeout` is pinged, and put out if that brings no
//! answer. When the server is stopped, all clients are told so by a close frame.
//!
//! With `--broker redis://…` several servers have their rooms in common, behind a `balancer` for
//! one. What a client says then goes to Redis, and comes from there to all servers, and to the
//! client itself: that tells it that the message is safe. Each message begins with its position;
//! whoever comes back, to whichever server, gets what it has missed under `/ROOM?after=POSITION`.
//!
//! | file | its one idea |
//! |---|---|
//! | `session` | one client: the fibre that reads |
//! | `outbox` | one client: the fibre that writes, and how frames get to it |
//! | `rooms` | who hears whom |

mod outbox;
mod rooms;
mod session;

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use fibre::net::TcpStream;
use fibre_examples::broker::{Broker, BrokerOptions};
use fibre_examples::exit_code;
use fibre_examples::server::{Limits, Server, announce};

use crate::rooms::Rooms;
use crate::session::Service;

/// A WebSocket server with two fibres per connection: /echo echoes, other paths are rooms.
#[derive(Parser)]
#[command(version, name = "chat")]
struct Options {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:8081")]
    addr: SocketAddr,

    /// The longest message taken, in bytes
    #[arg(long, default_value_t = 64 * 1024)]
    max_message: usize,

    /// Frames that may wait for one client to read, each no longer than a message; a power of two
    #[arg(long, default_value_t = 256)]
    outbox: usize,

    #[command(flatten)]
    limits: Limits,

    /// What the servers of one chat have in common, if it has several
    #[command(flatten)]
    broker: BrokerOptions,
}

fn main() -> ExitCode {
    // SAFETY: no code of this program keeps what belongs to a kernel thread while it waits. Only
    // the broker's client calls what it replaces.
    unsafe { fibre_libc::install() };
    exit_code("chat", run(&Options::parse()))
}

/// Serves until a signal comes and returns how many fibres outlived it.
fn run(options: &Options) -> io::Result<usize> {
    let server = Server::<TcpStream>::listen("ws", options.addr, &options.limits)?;
    let rooms = Arc::new(Rooms::default());
    let heard = Arc::clone(&rooms);
    let deliver = move |message| heard.deliver(message);
    let broker = Broker::follow(server.cluster(), &options.broker, None, deliver)?;
    let service = Arc::new(Service::new(
        &options.limits,
        options.max_message,
        options.outbox.max(1),
        rooms,
        broker.clone(),
    ));
    server.announce()?;
    let connections = Arc::clone(&server.connections);
    let shared = Arc::clone(&service);
    server.accept_each(move |stream| {
        let Some(link) = connections.admit(stream) else {
            return Ok(());
        };
        let service = Arc::clone(&shared);
        let fibre = fibre::Builder::new().name("session");
        fibre.spawn(move || service.serve(&link)).map(drop)
    });
    let connections = Arc::clone(&server.connections);
    let live = server.run(|| broker.iter().for_each(|broker| broker.close()))?;
    announce(&format!(
        "served {} on {} connections; live fibres {live}",
        service.tally(),
        connections.count()
    ))?;
    Ok(live)
}
