//! `may`, the stackful coroutine runtime nearest to ours: a coroutine per
//! connection.

use std::io::{self, Read, Write};

use fibre_bench::http::{READ_BUFFER, SMALL_BUFFER};
use fibre_bench::serving::{self, Options, Responder};
use may::net::{TcpListener, TcpStream};

/// The stack of a coroutine, in words: `may` has no guard-driven growth, and
/// its default of 4 KiB words is kept.
const STACK_WORDS: usize = 0x1000;

fn main() -> io::Result<()> {
    let options = Options::from_arguments();
    may::config()
        .set_workers(options.processors)
        .set_stack_size(STACK_WORDS);
    let listener = TcpListener::bind(&options.address)?;
    serving::deepen_backlog(listener.inner())?;
    serving::announce(listener.local_addr()?)?;
    may::go!(move || accept(&listener, &options))
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the accepting coroutine panicked")))
}

/// Takes connections for ever.
fn accept(listener: &TcpListener, options: &Options) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept()?;
        let responder = options.responder();
        if options.small_buffer {
            may::go!(move || serve::<SMALL_BUFFER>(stream, responder));
        } else {
            may::go!(move || serve::<READ_BUFFER>(stream, responder));
        }
    }
}

/// Replies until the client goes away; an error ends the connection like a
/// close.
fn serve<const ROOM: usize>(mut stream: TcpStream, mut responder: Responder) -> io::Result<()> {
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
