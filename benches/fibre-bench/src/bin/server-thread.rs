//! A kernel thread per connection, with small stacks: blocking style without a
//! runtime.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use fibre_bench::http::{READ_BUFFER, SMALL_BUFFER};
use fibre_bench::serving::{self, Options, Responder};

fn main() -> io::Result<()> {
    let options = Options::from_arguments();
    let listener = TcpListener::bind(&options.address)?;
    serving::deepen_backlog(&listener)?;
    serving::announce(listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept()?;
        let responder = options.responder();
        let thread = thread::Builder::new().stack_size(64 << 10);
        if options.small_buffer {
            thread.spawn(move || serve::<SMALL_BUFFER>(&stream, responder))?;
        } else {
            thread.spawn(move || serve::<READ_BUFFER>(&stream, responder))?;
        }
    }
}

/// Replies until the client goes away; an error ends the connection like a
/// close.
fn serve<const ROOM: usize>(mut stream: &TcpStream, mut responder: Responder) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; ROOM];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        for bytes in responder.replies(&buffer[..length]) {
            stream.write_all(bytes)?;
        }
    }
}
