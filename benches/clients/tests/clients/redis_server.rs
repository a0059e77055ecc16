//! As much of a Redis server as these tests need, on fibres.
//!
//! `ECHO cut` is answered by half an answer and the end of the connection, `ECHO never` not at all.
//! The counter `/meet/20` goes on once twenty wait for it.

use std::collections::HashMap;
use std::io::{self, BufReader, Write};
use std::sync::Arc;

use fibre::net::{TcpListener, TcpStream};
use fibre::sync::{Event, Mutex};

use crate::meeting::Meetings;
use crate::redis_commands::read_command;

/// What all connections share.
#[derive(Clone, Default)]
struct Shared {
    counters: Arc<Mutex<HashMap<String, u64>>>,
    meetings: Meetings,
}

/// Starts a server that runs as long as the process, and returns its address.
pub(crate) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("redis://{}/", listener.local_addr().unwrap());
    fibre::spawn(move || {
        let shared = Shared::default();
        loop {
            let (connection, _) = listener.accept().unwrap();
            let shared = shared.clone();
            // Clients go away as they like.
            fibre::spawn(move || answer_all(&connection, &shared));
        }
    });
    place
}

/// Answers the commands of a connection.
fn answer_all(connection: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    while let Some(command) = read_command(&mut reader)? {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let answer = match words[..] {
            ["CLIENT", ..] => "+OK\r\n".to_owned(),
            ["ECHO", "cut"] => {
                (&*connection).write_all(b"$100\r\nonly thi")?;
                return Ok(());
            }
            ["ECHO", "never"] => {
                Event::new().wait();
                return Ok(());
            }
            ["ECHO", word] => bulk(word),
            ["INCR", name] | ["INCRBY", name, "1"] => {
                if let Some(count) = name.strip_prefix("/meet/") {
                    shared.meetings.attend(name, count.parse().unwrap());
                }
                let mut counters = shared.counters.lock();
                let counter = counters.entry(name.to_owned()).or_default();
                *counter += 1;
                format!(":{counter}\r\n")
            }
            ["MEET", name, count] => {
                shared.meetings.attend(name, count.parse().unwrap());
                bulk(name)
            }
            _ => format!("-ERR unknown command {words:?}\r\n"),
        };
        (&*connection).write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// A string as an answer.
fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}
