//! The paper's atomic counter: a request is one byte, 0 to read the counter, 1 to add one to it and
//! read the new value. The answer is the value in eight bytes, the least significant first. Those
//! who read do so side by side.
//!
//! ```sh
//! cargo run --release -p fibre-tasks --example counter_server -- --port 8082
//! printf '\1\1\0' | nc -q1 localhost 8082 | xxd     # in another terminal
//! ```

use fibre::net::{TcpListener, TcpStream};
use fibre_tasks::{Emits, Emitter, Shared, on};
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

/// A client asks for the value.
struct Read;
/// A client adds one.
struct Increment;

/// A connection, which emits its client's requests.
struct Client {
    read: Emitter<Read>,
    increment: Emitter<Increment>,
}

impl Emits<Read> for Client {
    fn emitter(&self) -> &Emitter<Read> {
        &self.read
    }
}

impl Emits<Increment> for Client {
    fn emitter(&self) -> &Emitter<Increment> {
        &self.increment
    }
}

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port()))?;
    println!("listening on {}", listener.local_addr()?);
    let counter = Shared::new(0_u64);
    for (stream, _) in listener.connections() {
        let counter = counter.clone();
        fibre::spawn(move || serve(stream, &counter));
    }
    Ok(())
}

/// One connection, from its beginning to its end.
fn serve(stream: TcpStream, counter: &Shared<u64>) -> io::Result<()> {
    let stream = Arc::new(stream);
    let client = Client {
        read: Emitter::new(),
        increment: Emitter::new(),
    };
    on!(client, Read, [counter, =stream] |_| {
        let value = *counter;
        drop(counter); // nobody waits for the counter while this client is written to
        answer(&stream, value);
    });
    on!(client, Increment, [+counter, =stream] |_| {
        *counter += 1;
        let value = *counter;
        drop(counter);
        answer(&stream, value);
    });
    let mut request = [0];
    while (&*stream).read(&mut request)? == 1 {
        match request[0] {
            0 => client.read.deliver(Read),
            1 => client.increment.deliver(Increment),
            other => return Err(io::Error::other(format!("{other} is no request"))),
        }
    }
    Ok(())
}

/// Answers, if the client is still there.
fn answer(mut stream: &TcpStream, value: u64) {
    let _gone = stream.write_all(&value.to_le_bytes());
}

/// The port that is asked for; 8082 if none is.
fn port() -> u16 {
    let mut words = std::env::args().skip_while(|word| word != "--port");
    words
        .nth(1)
        .and_then(|port| port.parse().ok())
        .unwrap_or(8082)
}
