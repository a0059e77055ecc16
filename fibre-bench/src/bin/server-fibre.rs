//! Ours: a fibre per connection, in plain blocking style.

use std::io::{self, Read, Write};

use fibre::Cluster;
use fibre::net::{TcpListener, TcpStream};
use fibre_bench::http::{READ_BUFFER, SMALL_BUFFER};
use fibre_bench::serving::{self, Options, Responder};

fn main() -> io::Result<()> {
    let options = Options::from_arguments();
    let cluster = Cluster::builder().processors(options.processors).build()?;
    cluster
        .spawn(move || accept(&options))
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the accepting fibre panicked")))
}

/// Takes connections for ever.
fn accept(options: &Options) -> io::Result<()> {
    let listener = TcpListener::bind(&options.address)?;
    serving::deepen_backlog(&listener)?;
    serving::announce(listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept()?;
        let responder = options.responder();
        if options.small_buffer {
            fibre::spawn(move || serve::<SMALL_BUFFER>(&stream, responder));
        } else {
            fibre::spawn(move || serve::<READ_BUFFER>(&stream, responder));
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
