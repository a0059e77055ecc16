//! The crate `postgres`, which has tokio inside, and so waits in `epoll_wait`: its calls block the
//! processor as they did, one after the other. Within `fibre::blocking` they wait at once.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fibres::install;
use anyhow::{Result, ensure};
use fibre::net::{TcpListener, TcpStream};
use fibre::sync::Barrier;
use fibre_clients::way::Way;
use postgres::{Client, NoTls, SimpleQueryMessage};

/// Clients at once.
const CLIENTS: usize = 8;

/// A server that answers each query by its text.
struct Server {
    address: SocketAddr,
    /// The most queries that were there at the same time.
    most: Arc<AtomicUsize>,
}

/// What a server does before it answers.
#[derive(Clone)]
enum Before {
    /// Lets others come, if they do.
    Linger,
    /// Waits until all have come.
    Meet(Arc<Barrier>),
}

impl Server {
    /// Starts one that runs as long as the process.
    fn start(before: Before) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let most = Arc::new(AtomicUsize::new(0));
        let (seen, here) = (Arc::clone(&most), Arc::new(AtomicUsize::new(0)));
        fibre::spawn(move || {
            loop {
                let (connection, _) = listener.accept().unwrap();
                let (before, seen, here) = (before.clone(), Arc::clone(&seen), Arc::clone(&here));
                fibre::spawn(move || serve(connection, &before, &here, &seen));
            }
        });
        Self { address, most }
    }

    /// Makes all clients ask once, each on a fibre of one processor.
    fn visit(&self, way: Way) -> Result<()> {
        install();
        let place = format!(
            "hostaddr={} port={} user=a",
            self.address.ip(),
            self.address.port()
        );
        way.run_all(1, CLIENTS, move |number| {
            let query = format!("query {number}");
            let answered = way.run(|| -> Result<String> {
                let mut client = Client::connect(&place, NoTls)?;
                let messages = client.simple_query(&query)?;
                let rows = messages.iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => row.get(0),
                    _ => None,
                });
                Ok(rows.collect())
            })?;
            ensure!(answered == query, "{answered} for {query}");
            Ok(())
        })
    }
}

/// Serves a connection.
fn serve(
    mut connection: TcpStream,
    before: &Before,
    here: &AtomicUsize,
    most: &AtomicUsize,
) -> io::Result<()> {
    let mut startup = vec![0; length(&mut connection)?];
    connection.read_exact(&mut startup)?;
    let mut ready = message(b'R', &0_u32.to_be_bytes());
    ready.extend(message(b'Z', b"I"));
    connection.write_all(&ready)?;
    loop {
        let mut kind = [0];
        connection.read_exact(&mut kind)?;
        let mut body = vec![0; length(&mut connection)?];
        connection.read_exact(&mut body)?;
        if kind != *b"Q" {
            return Ok(());
        }
        let now = here.fetch_add(1, Ordering::SeqCst) + 1;
        most.fetch_max(now, Ordering::SeqCst);
        match before {
            Before::Linger => fibre::sleep(std::time::Duration::from_millis(5)),
            Before::Meet(barrier) => drop(barrier.wait()),
        }
        here.fetch_sub(1, Ordering::SeqCst);
        connection.write_all(&answer(&body[..body.len() - 1]))?;
    }
}

/// The length of what follows.
fn length(connection: &mut TcpStream) -> io::Result<usize> {
    let mut length = [0; 4];
    connection.read_exact(&mut length)?;
    Ok(u32::from_be_bytes(length) as usize - length.len())
}

/// A message: its type, its length with that, its body.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

/// One row with one column of text.
fn answer(text: &[u8]) -> Vec<u8> {
    // A name; table and column; type, its size and modifier; the form of text.
    let column = b"\0\x01text\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    let row = [b"\0\x01", &length[..], text].concat();
    let mut answer = message(b'T', column);
    answer.extend(message(b'D', &row));
    answer.extend(message(b'C', b"SELECT 1\0"));
    answer.extend(message(b'Z', b"I"));
    answer
}

#[test]
fn on_fibres_queries_run_one_after_the_other() {
    let server = Server::start(Before::Linger);
    server.visit(Way::Names).unwrap();
    assert_eq!(server.most.load(Ordering::SeqCst), 1);
}

#[test]
fn within_blocking_they_wait_at_once() {
    let all = Arc::new(Barrier::new(CLIENTS));
    let server = Server::start(Before::Meet(all));
    server.visit(Way::Blocking).unwrap();
    assert_eq!(server.most.load(Ordering::SeqCst), CLIENTS);
}
