//! A kernel thread per connection, with small stacks: blocking style without a
//! runtime.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use fibre_bench::http::{self, READ_BUFFER, RequestScanner};
use fibre_bench::serving;

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(serving::address())?;
    serving::deepen_backlog(&listener)?;
    serving::announce(listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept()?;
        thread::Builder::new()
            .stack_size(64 << 10)
            .spawn(move || serve(&stream))?;
    }
}

/// Answers requests until the client goes away; an error ends the connection
/// like a close.
fn serve(mut stream: &TcpStream) -> io::Result<()> {
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
