//! As much of a Redis server as the orders need, with faults by the names of lists.
//!
//! A question about `held` is answered once the test lets it go, one about `cut` by half an answer
//! and the end of the connection, one about `never` not at all.

use crate::redis_commands::read_command;
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// The server. Its threads end with the process.
#[derive(Clone, Default)]
pub(crate) struct Redis {
    lists: Arc<Mutex<HashMap<String, Vec<String>>>>,
    /// How many questions are held, and whether they may go on.
    held: Arc<(Mutex<(usize, bool)>, Condvar)>,
}

impl Redis {
    /// Starts one, and returns it with its address.
    pub(crate) fn start() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("redis://{}/", listener.local_addr().unwrap());
        let all = Self::default();
        let server = all.clone();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, server) = (connection.unwrap(), server.clone());
                // Clients go away as they like.
                thread::spawn(move || server.answer_all(&connection));
            }
        });
        (all, place)
    }

    /// The strings of a list.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        self.lists
            .lock()
            .unwrap()
            .get(name)
            .cloned()
            .unwrap_or_default()
    }

    /// Waits until so many questions are held.
    pub(crate) fn until_held(&self, count: usize) {
        let (state, changed) = &*self.held;
        let held = state.lock().unwrap();
        drop(changed.wait_while(held, |held| held.0 < count).unwrap());
    }

    /// Lets held questions go, these and later ones.
    pub(crate) fn let_go(&self) {
        self.held.0.lock().unwrap().1 = true;
        self.held.1.notify_all();
    }

    /// Answers the questions of a connection until its end.
    fn answer_all(&self, connection: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(connection);
        let mut writer = connection;
        while let Some(question) = read_command(&mut reader)? {
            let words: Vec<&str> = question.iter().map(String::as_str).collect();
            match words[..] {
                [_, "cut", ..] => return writer.write_all(b"$100\r\nonly thi"),
                [_, "never", ..] => return reader.read_to_end(&mut Vec::new()).map(drop),
                [_, "held", ..] => self.hold(),
                _ => {}
            }
            writer.write_all(self.answer(&words).as_bytes())?;
        }
        Ok(())
    }

    /// Waits until held questions may go.
    fn hold(&self) {
        let (state, changed) = &*self.held;
        let mut held = state.lock().unwrap();
        held.0 += 1;
        changed.notify_all();
        drop(changed.wait_while(held, |held| !held.1).unwrap());
    }

    /// The answer to a question.
    fn answer(&self, question: &[&str]) -> String {
        let mut lists = self.lists.lock().unwrap();
        match *question {
            ["CLIENT", ..] => "+OK\r\n".to_owned(),
            ["PING"] => "+PONG\r\n".to_owned(),
            ["RPUSH", name, value] => {
                let list = lists.entry(name.to_owned()).or_default();
                list.push(value.to_owned());
                format!(":{}\r\n", list.len())
            }
            ["LRANGE", name, "0", "-1"] => {
                let list = lists.get(name).map(Vec::as_slice).unwrap_or_default();
                let values = list
                    .iter()
                    .map(|value| format!("${}\r\n{value}\r\n", value.len()));
                format!("*{}\r\n{}", list.len(), values.collect::<String>())
            }
            _ => format!("-ERR unknown command {question:?}\r\n"),
        }
    }
}
