//! As much of a Redis server as the broker's programs need, with faults. Its threads end with the
//! process.

use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use super::redis_commands::read_command;

/// What the server knows, and whom it tells.
#[derive(Default)]
struct State {
    /// The stream: topics and texts. The first one has the position 1-0.
    stream: Vec<(String, String)>,
    /// The connections that have subscribed.
    subscribers: Vec<TcpStream>,
    /// All connections, to cut them.
    connections: Vec<TcpStream>,
    /// What it does to those who speak to it.
    fault: Fault,
}

/// What the server does wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It ends each connection.
    Away,
    /// It takes the next message, and ends the connection instead of saying so.
    Takes,
    /// It says nothing any more.
    Silent,
}

/// The server.
#[derive(Clone, Default)]
pub(crate) struct Redis {
    /// What it knows.
    state: Arc<(Mutex<State>, Condvar)>,
    /// Where it is.
    pub(crate) url: String,
}

impl Redis {
    /// Starts one.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let redis = Self {
            url: format!("redis://{}/", listener.local_addr().unwrap()),
            ..Self::default()
        };
        let server = redis.clone();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, server) = (connection.unwrap(), server.clone());
                let copy = connection.try_clone().unwrap();
                let mut state = server.state.0.lock().unwrap();
                if state.fault == Fault::Away {
                    continue;
                }
                state.connections.push(copy);
                drop(state);
                // Clients go away as they like.
                thread::spawn(move || server.answer_all(connection));
            }
        });
        redis
    }

    /// Sets what the server does wrong from now on; if it is away, its connections end.
    pub(crate) fn set(&self, fault: Fault) {
        let mut state = self.state.0.lock().unwrap();
        state.fault = fault;
        if fault == Fault::Away {
            state.cut();
        }
    }

    /// What it does wrong.
    pub(crate) fn fault(&self) -> Fault {
        self.state.0.lock().unwrap().fault
    }

    /// How many messages it has taken into the stream.
    pub(crate) fn taken(&self) -> usize {
        self.state.0.lock().unwrap().stream.len()
    }

    /// Answers the questions of a connection until its end.
    fn answer_all(&self, connection: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(connection.try_clone()?);
        let mut writer = connection;
        while let Some(question) = read_command(&mut reader)? {
            let words: Vec<&str> = question.iter().map(String::as_str).collect();
            let Some(answer) = self.answer(&words, &writer)? else {
                return Ok(());
            };
            writer.write_all(answer.as_bytes())?;
        }
        Ok(())
    }

    /// The answer to a question; `None`: the connection ends.
    fn answer(&self, question: &[&str], connection: &TcpStream) -> io::Result<Option<String>> {
        let (state, changed) = &*self.state;
        let mut state = state.lock().unwrap();
        while state.fault == Fault::Silent {
            state = changed.wait(state).unwrap();
        }
        if let ["XREAD", .., "BLOCK", time, "STREAMS", _, after] = *question {
            let (after, time) = (position(after), Duration::from_millis(number(time) as u64));
            let is_quiet =
                |state: &mut State| state.stream.len() <= after && state.fault == Fault::None;
            state = changed.wait_timeout_while(state, time, is_quiet).unwrap().0;
        }
        let answer = match *question {
            ["CLIENT", ..] => "+OK\r\n".to_owned(),
            ["PING", ..] => array(&[bulk("pong"), bulk("")]),
            ["UNSUBSCRIBE" | "PUNSUBSCRIBE", ..] => return Ok(None),
            ["SUBSCRIBE", channel] => {
                state.subscribers.push(connection.try_clone()?);
                array(&[bulk("subscribe"), bulk(channel), ":1\r\n".to_owned()])
            }
            ["PUBLISH", channel, text] => state.publish(channel, text),
            _ => {
                let answer = state.answer(question);
                changed.notify_all();
                answer
            }
        };
        if state.fault == Fault::Takes && ["XADD", "PUBLISH"].contains(&question[0]) {
            state.fault = Fault::None;
            state.cut();
            return Ok(None);
        }
        Ok(Some(answer))
    }
}

impl State {
    /// The answer to a question about the stream.
    fn answer(&mut self, question: &[&str]) -> String {
        match *question {
            [
                "XADD",
                _,
                "MAXLEN",
                "~",
                _,
                "*",
                "topic",
                topic,
                "text",
                text,
            ] => {
                self.stream.push((topic.to_owned(), text.to_owned()));
                bulk(&format!("{}-0", self.stream.len()))
            }
            ["XREVRANGE", _, "+", "-", "COUNT", "1"] => {
                entries(&self.stream, self.stream.len().saturating_sub(1), 1)
            }
            ["XRANGE", _, after, "+", "COUNT", count] => {
                let after = position(after.trim_start_matches('('));
                entries(&self.stream, after, number(count))
            }
            ["XREAD", "COUNT", count, "BLOCK", _, "STREAMS", key, after] => {
                let after = position(after);
                if self.stream.len() <= after {
                    return "*-1\r\n".to_owned();
                }
                let news = entries(&self.stream, after, number(count));
                array(&[array(&[bulk(key), news])])
            }
            _ => format!("-ERR unknown command {question:?}\r\n"),
        }
    }

    /// Sends a message to all who have subscribed, and answers how many.
    fn publish(&mut self, channel: &str, text: &str) -> String {
        let message = array(&[bulk("message"), bulk(channel), bulk(text)]);
        let told = |mut to: &TcpStream| to.write_all(message.as_bytes()).is_ok();
        self.subscribers.retain(|subscriber| told(subscriber));
        format!(":{}\r\n", self.subscribers.len())
    }

    /// Ends all connections.
    fn cut(&mut self) {
        self.subscribers.clear();
        for connection in self.connections.drain(..) {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// A number in a question.
fn number(text: &str) -> usize {
    text.parse().unwrap()
}

/// How many messages a position has up to it.
fn position(text: &str) -> usize {
    number(text.split('-').next().unwrap())
}

/// A string, as it is sent.
fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// A list of what is sent already so.
fn array(parts: &[String]) -> String {
    format!("*{}\r\n{}", parts.len(), parts.concat())
}

/// Entries of the stream, as they are sent.
fn entries(stream: &[(String, String)], after: usize, count: usize) -> String {
    let entries = stream.iter().enumerate().skip(after).take(count);
    let entry = |(index, (topic, text)): (usize, &(String, String))| {
        let fields = ["topic", topic, "text", text].map(bulk);
        array(&[bulk(&format!("{}-0", index + 1)), array(&fields)])
    };
    array(&entries.map(entry).collect::<Vec<_>>())
}
