//! The paper's echo server: what a client sends comes back. The clients share nothing, so there is
//! nothing to want.
//!
//! ```sh
//! cargo run --release -p fibre-tasks --example echo_server -- --port 8081
//! nc localhost 8081     # in another terminal
//! ```

use fibre::net::{TcpListener, TcpStream};
use fibre_tasks::task;
use std::io::{self, Read as _, Write as _};

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port()))?;
    println!("listening on {}", listener.local_addr()?);
    for (mut stream, _) in listener.connections() {
        drop(task!([] { serve(&mut stream) }));
    }
    Ok(())
}

/// One connection, from its beginning to its end.
fn serve(stream: &mut TcpStream) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..length])?;
    }
}

/// The port that is asked for; 8081 if none is.
fn port() -> u16 {
    let mut words = std::env::args().skip_while(|word| word != "--port");
    words
        .nth(1)
        .and_then(|port| port.parse().ok())
        .unwrap_or(8081)
}
