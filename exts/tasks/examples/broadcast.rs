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

use fibre_tasks::socket::{Close, Connection, Data, Failure, Server, Socket};
use fibre_tasks::{Full, Shared, on, task};
use std::io::{self, Write as _};
use std::sync::Arc;

/// `set<socket@>@`
type Clients = Shared<Vec<Shared<Arc<Socket>>>>;

fn main() -> io::Result<()> {
    let (server, clients, stderr) = (Server::new(), Clients::default(), Shared::new(io::stderr()));
    on!(server, Connection, [+clients] |connection| {
        let socket = connection.socket();
        let client = Shared::new(Arc::clone(&socket));
        clients.push(client.clone());
        let clients = Full::shared(&clients);
        on!(socket, Data, [clients] |data| {
            let message = data.bytes();
            for client in clients.iter() {
                drop(task!([+client, =message] {
                    // A client that has gone says so itself.
                    let _gone = (&**client).write_all(&message);
                }));
            }
        });
        on!(socket, Close, [+clients, =client] |_| {
            clients.retain(|other| !other.is_same(&client));
        });
    });
    on!(server, Failure, [+stderr] |failure| {
        let _closed = writeln!(stderr, "Failed to start server: {}", failure.error());
    });
    let listener = server.bind(("127.0.0.1", port()))?;
    println!("listening on {}", listener.local_addr()?);
    server.serve(listener);
    Ok(())
}

/// The port that is asked for; 8080 if none is.
fn port() -> u16 {
    let mut words = std::env::args().skip_while(|word| word != "--port");
    words
        .nth(1)
        .and_then(|port| port.parse().ok())
        .unwrap_or(8080)
}
