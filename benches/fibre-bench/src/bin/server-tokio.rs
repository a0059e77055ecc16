//! tokio without an HTTP library: a task per connection, plain reads and
//! writes. One processor is the current-thread runtime, more are the
//! work-stealing one.

use std::io;

use fibre_bench::serving::{self, Options, Responder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

fn main() -> io::Result<()> {
    let options = Options::from_arguments();
    let runtime = runtime(options.processors)?;
    if options.processors == 1 {
        return runtime.block_on(accept(options));
    }
    // The thread that blocks is no worker, so the listener belongs elsewhere.
    runtime.block_on(async { tokio::spawn(accept(options)).await? })
}

/// The runtime for so many kernel threads.
fn runtime(processors: usize) -> io::Result<Runtime> {
    let mut builder = match processors {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(processors).enable_io().build()
}

/// Takes connections for ever.
async fn accept(options: Options) -> io::Result<()> {
    let listener = TcpListener::bind(&options.address).await?;
    serving::deepen_backlog(&listener)?;
    serving::announce(listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let room = options.read_buffer();
        tokio::spawn(serve(stream, options.responder(), room));
    }
}

/// Replies until the client goes away; an error ends the connection like a
/// close.
async fn serve(mut stream: TcpStream, mut responder: Responder, room: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; room];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        for bytes in responder.replies(&buffer[..length]) {
            stream.write_all(bytes).await?;
        }
    }
}
