//! Eve's Program 2: a chat server that sends what one client writes to all.
//!
//! A client that writes needs the list of clients to read, one that comes or goes needs it in full.
//! Each client is written to by a task of its own, so one that does not read holds up nobody else.
//! What it is to be sent waits in line, without a bound: a server for strangers would drop it.
//!
//! ```sh
//! cargo run --release -p fibre-tasks --example broadcast -- --port 8080
//! nc localhost 8080     # in two other terminals
//! ```

use fibre::net::{TcpListener, TcpStream};
use fibre_tasks::{Emits, Emitter, Shared, acquire, on, task};
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

/// A client has written this.
struct Data(Arc<[u8]>);
/// A client has gone.
struct Close;

/// A connection: what emits events.
struct Client {
    data: Emitter<Data>,
    close: Emitter<Close>,
}

impl Emits<Data> for Client {
    fn emitter(&self) -> &Emitter<Data> {
        &self.data
    }
}

impl Emits<Close> for Client {
    fn emitter(&self) -> &Emitter<Close> {
        &self.close
    }
}

/// `set<socket@>@`
type Clients = Shared<Vec<Shared<Arc<TcpStream>>>>;

fn main() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port()))?;
    println!("listening on {}", listener.local_addr()?);
    let clients = Clients::default();
    for (stream, _) in listener.connections() {
        let clients = clients.clone();
        fibre::spawn(move || serve(stream, &clients));
    }
    Ok(())
}

/// One connection, from its beginning to its end.
fn serve(stream: TcpStream, clients: &Clients) {
    let stream = Arc::new(stream);
    let socket = Shared::new(Arc::clone(&stream));
    let client = Client {
        data: Emitter::new(),
        close: Emitter::new(),
    };
    acquire(clients.full()).push(socket.clone());
    on!(
        client,
        Data,
        [clients] | data | {
            let message = Arc::clone(&data.0);
            for socket in clients.iter() {
                drop(task!([+socket, =message] {
                    // A client that has gone says so itself.
                    let _gone = (&**socket).write_all(&message);
                }));
            }
        }
    );
    on!(client, Close, [+clients, =socket] |_| {
        clients.retain(|other| !other.is_same(&socket));
    });
    let mut buffer = [0; 1024];
    while let Ok(length @ 1..) = (&*stream).read(&mut buffer) {
        client.data.deliver(Data(buffer[..length].into()));
    }
    client.close.deliver(Close);
}

/// The port that is asked for; 8080 if none is.
fn port() -> u16 {
    let mut words = std::env::args().skip_while(|word| word != "--port");
    words
        .nth(1)
        .and_then(|port| port.parse().ok())
        .unwrap_or(8080)
}
