//! tokio without an HTTP library: a task per connection on the single-threaded
//! runtime, plain reads and writes.

use std::io;

use fibre_bench::http::{self, READ_BUFFER, RequestScanner};
use fibre_bench::serving;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn main() -> io::Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?
        .block_on(accept())
}

/// Takes connections for ever.
async fn accept() -> io::Result<()> {
    let listener = TcpListener::bind(serving::address()).await?;
    serving::deepen_backlog(&listener)?;
    serving::announce(listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream));
    }
}

/// Answers requests until the client goes away; an error ends the connection
/// like a close.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut scanner = RequestScanner::default();
    let mut buffer = vec![0; READ_BUFFER];
    loop {
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        for bytes in http::answers(scanner.feed(&buffer[..length])) {
            stream.write_all(bytes).await?;
        }
    }
}
