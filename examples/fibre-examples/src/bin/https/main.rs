//! A web server over TLS in plain blocking style: one fibre per connection, with rustls' blocking
//! `StreamOwned` around it as around a thread's.
//!
//! ```sh
//! cargo run --release -p fibre-examples --bin https -- --write-cert cert.pem
//! curl --cacert cert.pem https://localhost:8443/
//! ```
//!
//! Without `--cert` and `--key` it makes a certificate up. It speaks TLS 1.2 and 1.3, and
//! HTTP/1.1 with keep-alive; `GET /` greets, `GET /bytes/N` answers with so many bytes.
//!
//! It is meant to stand in the open. A handshake has a deadline for all of it, and so has a
//! request's head; a connection that rests, or has a client that does not read, has a time-out; and
//! there are bounds for a head's size and for the number of connections. Every connection that ends
//! well ends with TLS' close_notify, also when the server is stopped.
//!
//! `--threads` runs the same code, by the type of the socket, with a thread per connection and
//! std's blocking sockets, which are given the same deadlines. `tls-cost` compares the two.
//!
//! | file | its one idea |
//! |---|---|
//! | `conversation` | what is said with one client |
//! | `request` | from bytes to a request |

mod conversation;
mod request;

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::Parser;
use fibre_examples::connections::Socket;
use fibre_examples::exit_code;
use fibre_examples::identity::Identity;
use fibre_examples::server::{Limits, Server, announce};
use fibre_examples::thread_socket::ThreadSocket;

use crate::conversation::Service;

/// A web server over TLS with one fibre per connection.
#[derive(Parser)]
#[command(version, name = "https")]
struct Options {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:8443")]
    addr: SocketAddr,

    /// The same code with a thread per connection
    #[arg(long)]
    threads: bool,

    /// Bytes that each connection's stack may grow to
    #[arg(long)]
    stack_size: Option<usize>,

    #[command(flatten)]
    limits: Limits,

    #[command(flatten)]
    identity: Identity,
}

fn main() -> ExitCode {
    exit_code("https", run(&Options::parse()))
}

/// Serves until a signal comes and returns how many fibres outlived it.
fn run(options: &Options) -> io::Result<usize> {
    let service = Arc::new(Service::new(
        options.identity.server_config()?,
        options.limits.idle_timeout,
        options.limits.handshake_timeout,
    ));
    if options.threads {
        let server = Server::listen("https", options.addr, &options.limits)?;
        server.announce()?;
        on_threads(&server, &service, options.stack_size);
        finish(server, &service)
    } else {
        let server = Server::listen("https", options.addr, &options.limits)?;
        server.announce()?;
        on_fibres(&server, &service, options.stack_size);
        finish(server, &service)
    }
}

/// Serves each connection in a fibre.
fn on_fibres(
    server: &Server<fibre::net::TcpStream>,
    service: &Arc<Service>,
    stack_size: Option<usize>,
) {
    let connections = Arc::clone(&server.connections);
    let service = Arc::clone(service);
    server.accept_each(move |stream| {
        let Some(link) = connections.admit(stream) else {
            return Ok(());
        };
        let service = Arc::clone(&service);
        let mut fibre = fibre::Builder::new().name("connection");
        if let Some(bytes) = stack_size {
            fibre = fibre.stack_size(bytes);
        }
        fibre
            .spawn(move || service.serve::<fibre::net::TcpStream>(&link))
            .map(drop)
    });
}

/// Serves each connection in a thread. The accepting is the same.
fn on_threads(server: &Server<ThreadSocket>, service: &Arc<Service>, stack_size: Option<usize>) {
    let connections = Arc::clone(&server.connections);
    let service = Arc::clone(service);
    server.accept_each(move |stream| {
        let Some(link) = connections.admit(ThreadSocket::new(stream.into_std()?)) else {
            return Ok(());
        };
        let service = Arc::clone(&service);
        let mut thread = thread::Builder::new();
        if let Some(bytes) = stack_size {
            thread = thread.stack_size(bytes);
        }
        thread
            .spawn(move || service.serve::<ThreadSocket>(&link))
            .map(drop)
    });
}

/// Serves until a signal comes, and says what has been done.
fn finish<S: Socket>(server: Server<S>, service: &Service) -> io::Result<usize> {
    let connections = Arc::clone(&server.connections);
    let live = server.run(|| ())?;
    announce(&format!(
        "served {} on {} connections; live fibres {live}",
        service.tally(),
        connections.count()
    ))?;
    Ok(live)
}
