//! An echo server: every connection gets its own bytes back.
//!
//! ```sh
//! cargo run --release --example echo -- --addr 127.0.0.1:7000
//! ```
//!
//! Each connection is one fibre that reads and writes as if it had a thread to
//! itself. See `webserver` for what a server in the open needs beyond this.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use fibre::Cluster;
use fibre::net::{TcpListener, TcpStream};

/// Sends back what it receives.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Address to listen on; with port 0 the kernel chooses one
    #[arg(long, default_value = "127.0.0.1:7000")]
    addr: SocketAddr,
}

fn main() -> io::Result<()> {
    let options = Options::parse();
    let cluster = Cluster::builder().name("echo").build()?;
    let listener = TcpListener::bind(options.addr)?;
    println!("listening on {}", listener.local_addr()?);
    let acceptor = cluster.spawn(move || accept_all(&listener));
    acceptor
        .join()
        .map_err(|_| io::Error::other("the acceptor panicked"))
}

/// Gives every connection a fibre of its own.
fn accept_all(listener: &TcpListener) {
    for (stream, _) in listener.connections() {
        fibre::spawn(move || echo(stream));
    }
}

/// Sends back what arrives until the client has no more or rests for a minute.
fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count])?,
        }
    }
}
