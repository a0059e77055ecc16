//! The smallest web server, by the names of libasync: a callback for each client, which answers
//! what it reads.
//!
//! ```text
//! cargo run --release -p fibre-events --example hello_events
//! curl -i http://127.0.0.1:8080/
//! ```

use fibre_events::libasync::{Selop, amain, cwrap, delaycb, fdcb, inetsocket};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!";

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "8080".to_owned());
    let listener = Arc::new(inetsocket(format!("127.0.0.1:{port}"))?);
    println!("listening on {}", listener.local_addr()?);
    listen(&listener)?;
    amain();
    Ok(())
}

/// Has clients accepted whenever some wait.
fn listen(listener: &Arc<TcpListener>) -> io::Result<()> {
    let source = Arc::clone(listener);
    let callback = cwrap(move |()| accept(&source), 0);
    fdcb(Arc::clone(listener), Selop::Read, Some(&callback))
}

/// Answers all clients that wait.
fn accept(listener: &Arc<TcpListener>) {
    loop {
        match listener.accept() {
            Ok((client, _)) => serve(client),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return,
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => return rest(listener),
            },
        }
    }
}

/// Accepts no clients for a while: no descriptor is free, and those that wait would be reported
/// again and again.
fn rest(listener: &Arc<TcpListener>) {
    let _ = fdcb(Arc::clone(listener), Selop::Read, None);
    let source = Arc::clone(listener);
    let goes_on = cwrap(
        move |()| {
            if listen(&source).is_err() {
                rest(&source);
            }
        },
        0,
    );
    if let Err(error) = delaycb(0, 100_000_000, &goes_on) {
        eprintln!("no more clients are accepted: {error}");
    }
}

/// Answers a client under a colour of its own.
fn serve(client: TcpStream) {
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
