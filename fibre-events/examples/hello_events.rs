//! The smallest web server, by the names of libasync: a callback for each client, which answers
//! what it reads.
//!
//! ```text
//! cargo run --release -p fibre-events --example hello_events
//! curl -i http://127.0.0.1:8080/
//! ```

use fibre_events::libasync::{Selop, amain, cwrap, fdcb, inetsocket};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!";

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "8080".to_owned());
    let listener = Arc::new(inetsocket(format!("127.0.0.1:{port}"))?);
    println!("listening on {}", listener.local_addr()?);
    let source = Arc::clone(&listener);
    fdcb(
        listener,
        Selop::Read,
        Some(&cwrap(move |()| accept(&source), 0)),
    )?;
    amain();
    Ok(())
}

/// Has all clients that wait answered, each under a colour of its own.
fn accept(listener: &TcpListener) {
    while let Ok((client, _)) = listener.accept() {
        let client = Arc::new(client);
        let colour = u64::from(client.as_raw_fd().unsigned_abs());
        let source = Arc::clone(&client);
        let callback = cwrap(move |()| answer(&source), colour);
        // One that does not take its answers is not waited for.
        let is_taken = client.set_nonblocking(true);
        if let Err(error) = is_taken.and_then(|()| fdcb(client, Selop::Read, Some(&callback))) {
            eprintln!("a client is turned away: {error}");
        }
    }
}

/// Answers each request that has arrived; a client that has left is forgotten.
fn answer(client: &Arc<TcpStream>) {
    let mut requests = [0; 4096];
    let count = (&**client).read(&mut requests).unwrap_or(0);
    let ends = requests[..count]
        .windows(4)
        .filter(|end| end == b"\r\n\r\n");
    let answers = ANSWER.repeat(ends.count());
    if count == 0 || (&**client).write_all(&answers).is_err() {
        let _ = fdcb(Arc::clone(client), Selop::Read, None);
    }
}
