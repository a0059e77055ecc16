//! An echo server: every connection gets its own bytes back.
//!
//! ```sh
//! cargo run --release --example echo -- --addr 127.0.0.1:7000
//! ```
//!
//! Each connection is one fibre that reads and writes as if it had a thread to
//! itself. See `webserver` for what a server in the open needs beyond this.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use fibre::Cluster;
use fibre::net::{TcpListener, TcpStream};
use lexopt::prelude::*;

const HELP: &str = "\
Sends back what it receives.

  --addr ADDRESS  to listen on; with port 0 the kernel chooses one [127.0.0.1:7000]
";

/// The address that the command line names.
fn address() -> Result<SocketAddr, lexopt::Error> {
    let mut address = SocketAddr::from(([127, 0, 0, 1], 7000));
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("addr") => address = arguments.value()?.parse()?,
            Short('h') | Long("help") => {
                print!("{HELP}");
                std::process::exit(0);
            }
            other => return Err(other.unexpected()),
        }
    }
    Ok(address)
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = address()?;
    let cluster = Cluster::builder().name("echo").build()?;
    let listener = TcpListener::bind(address)?;
    println!("listening on {}", listener.local_addr()?);
    let acceptor = cluster.spawn(move || accept_all(&listener));
    acceptor.join().map_err(|_| "the acceptor panicked".into())
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
