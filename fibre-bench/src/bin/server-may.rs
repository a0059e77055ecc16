//! `may`, the stackful coroutine runtime nearest to ours: a coroutine per
//! connection, one worker.

use std::io::{self, Read, Write};

use fibre_bench::http::{self, READ_BUFFER, RequestScanner};
use fibre_bench::serving;
use may::net::{TcpListener, TcpStream};

/// The stack of a coroutine, in words: `may` has no guard-driven growth, and
/// its default of 4 KiB words is kept.
const STACK_WORDS: usize = 0x1000;

fn main() -> io::Result<()> {
    may::config().set_workers(1).set_stack_size(STACK_WORDS);
    let listener = TcpListener::bind(serving::address())?;
    serving::deepen_backlog(listener.inner())?;
    serving::announce(listener.local_addr()?)?;
    may::go!(move || accept(&listener))
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the accepting coroutine panicked")))
}

/// Takes connections for ever.
fn accept(listener: &TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        may::go!(move || serve(stream));
    }
}

/// Answers requests until the client goes away; an error ends the connection
/// like a close.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut scanner = RequestScanner::default();
    let mut buffer = [0; READ_BUFFER];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        for bytes in http::answers(scanner.feed(&buffer[..length])) {
            stream.write_all(bytes)?;
        }
    }
}
