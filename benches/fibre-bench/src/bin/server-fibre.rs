//! Ours: a fibre per connection, in plain blocking style. A connection has a buffer while it
//! has a request, not while it waits for one.

use std::io::{self, Write};

use fibre::net::{TcpListener, TcpStream};
use fibre::{BufferPool, Cluster};
use fibre_bench::serving::{self, Options, Responder};

/// Buffers that are kept while nobody needs them, at most.
const SPARE: usize = 64;

fn main() -> io::Result<()> {
    let options = Options::from_arguments();
    let cluster = Cluster::builder().processors(options.processors).build()?;
    cluster
        .spawn(move || accept(&options))
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the accepting fibre panicked")))
}

/// Takes connections for ever, also when there is no descriptor left for some time.
fn accept(options: &Options) -> io::Result<()> {
    // Connections inherit `TCP_NODELAY`, which the others set for each.
    let listener = TcpListener::builder()
        .nodelay(true)
        .bind(&options.address)?;
    serving::deepen_backlog(&listener)?;
    serving::announce(listener.local_addr()?)?;
    // For the life of the process.
    let pool: &BufferPool = Box::leak(Box::new(BufferPool::new(options.read_buffer(), SPARE)));
    for (stream, _) in listener.connections() {
        let responder = options.responder();
        fibre::spawn(move || serve(&stream, responder, pool));
    }
    Ok(())
}

/// Replies until the client goes away; an error ends the connection like a
/// close.
fn serve(mut stream: &TcpStream, mut responder: Responder, pool: &BufferPool) -> io::Result<()> {
    loop {
        let (buffer, length) = stream.read_with(|| pool.take())?;
        if length == 0 {
            return Ok(());
        }
        for bytes in responder.replies(&buffer[..length]) {
            stream.write_all(bytes)?;
        }
    }
}
