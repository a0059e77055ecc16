//! A small server that speaks both dialects, and can be told to do what no server may.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fibre::net::{TcpListener, TcpStream};
use fibre_mcload::values::Values;

/// What the server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// It answers with another key's value.
    Foreign,
    /// It answers with the beginning of a value and the end of the one before.
    Torn,
    /// It answers with the first value that a key had.
    Stale,
    /// It answers with a value of a version far ahead.
    Unwritten,
    /// It says another key's name, or another token.
    Disordered,
    /// It answers with something that is no answer.
    Nonsense,
    /// It answers to the n-th request, and all that come meanwhile, only after this time.
    Stall(u64, Duration),
    /// It does not answer to the n-th request.
    Silent(u64),
    /// It closes the connection at every n-th request.
    Hangup(u64),
    /// It sends answers in pieces of so many bytes.
    Pieces(usize),
    /// It forgets every n-th value that is stored.
    Forget(u64),
    /// It says that there is no room for the n-th value that is stored, and has none for it.
    Refuse(u64),
}

/// What the server has, by key: all values in the order they were stored.
type Store = HashMap<Vec<u8>, Vec<Vec<u8>>>;

/// A running server.
pub(crate) struct Server {
    /// Where it listens.
    pub address: SocketAddr,
}

/// What all its connections share.
struct Shared {
    /// What it does wrong.
    fault: Fault,
    /// What was stored.
    store: Mutex<Store>,
    /// How many requests have come.
    requests: AtomicU64,
    /// How many values have been stored.
    stored: AtomicU64,
    /// Until when it stalls.
    stalled: Mutex<Option<Instant>>,
    /// What the values of a run with the seed 1 and 100 bytes are.
    values: Values,
}

impl Server {
    /// Starts it on a port of its own.
    pub(crate) fn start(fault: Fault) -> io::Result<Self> {
        Self::start_on(0, fault)
    }

    /// Starts it on this port.
    pub(crate) fn start_on(port: u16, fault: Fault) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            fault,
            store: Mutex::default(),
            requests: AtomicU64::new(0),
            stored: AtomicU64::new(0),
            stalled: Mutex::default(),
            values: Values::new("100".parse().map_err(io::Error::other)?, 1000, 1),
        });
        fibre::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let shared = Arc::clone(&shared);
                fibre::spawn(move || shared.serve(&stream));
            }
        });
        Ok(Self { address })
    }
}

/// The number in the name of a key, `k` and digits.
fn number(key: &[u8]) -> u32 {
    let text = std::str::from_utf8(key).unwrap_or_default();
    text.trim_start_matches('k').parse().unwrap_or_default()
}

impl Shared {
    /// Answers until the client goes.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut input = BufReader::new(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let words: Vec<&[u8]> = line.trim_ascii().split(|&byte| byte == b' ').collect();
            let answer = match words[..] {
                [b"version"] => b"VERSION 0\r\n".to_vec(),
                [b"get", key] => self.value(key, None),
                [b"mg", key, b"v", token] => self.value(key, Some(token)),
                [b"set", key, _, _, length] => self.set(key, length, None, &mut input)?,
                [b"ms", key, length, token] => self.set(key, length, Some(token), &mut input)?,
                _ => b"ERROR\r\n".to_vec(),
            };
            if !self.misbehave(words[0])? {
                continue;
            }
            self.send(stream, &answer)?;
        }
    }

    /// Does what is wrong about the time of an answer, and says whether it is to be sent.
    fn misbehave(&self, word: &[u8]) -> io::Result<bool> {
        if word == b"version" {
            return Ok(true);
        }
        let request = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fault {
            Fault::Stall(n, time) if request == n => {
                *lock(&self.stalled) = Some(Instant::now() + time);
            }
            Fault::Silent(n) if request == n => return Ok(false),
            Fault::Hangup(n) if request.is_multiple_of(n) => {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            _ => {}
        }
        let until = *lock(&self.stalled);
        if let Some(until) = until {
            fibre::sleep(until.saturating_duration_since(Instant::now()));
        }
        Ok(true)
    }

    /// Sends an answer.
    fn send(&self, mut stream: &TcpStream, answer: &[u8]) -> io::Result<()> {
        let Fault::Pieces(size) = self.fault else {
            return stream.write_all(answer);
        };
        for piece in answer.chunks(size) {
            stream.write_all(piece)?;
            fibre::yield_now();
        }
        Ok(())
    }

    /// Stores what follows.
    fn set(
        &self,
        key: &[u8],
        length: &[u8],
        token: Option<&[u8]>,
        input: &mut BufReader<&TcpStream>,
    ) -> io::Result<Vec<u8>> {
        let length: usize = String::from_utf8_lossy(length)
            .parse()
            .map_err(io::Error::other)?;
        let mut value = vec![0; length + 2];
        input.read_exact(&mut value)?;
        value.truncate(length);
        let stored = self.stored.fetch_add(1, Ordering::Relaxed) + 1;
        let mut store = lock(&self.store);
        match self.fault {
            Fault::Forget(n) if stored.is_multiple_of(n) => drop(store.remove(key)),
            Fault::Refuse(n) if stored.is_multiple_of(n) => {
                store.remove(key);
                return Ok(b"SERVER_ERROR out of memory storing object\r\n".to_vec());
            }
            _ => store.entry(key.to_vec()).or_default().push(value),
        }
        Ok(match token {
            None => b"STORED\r\n".to_vec(),
            Some(token) => [b"HD ", token, b"\r\n"].concat(),
        })
    }

    /// The answer to a question.
    fn value(&self, key: &[u8], token: Option<&[u8]>) -> Vec<u8> {
        let store = lock(&self.store);
        let Some(values) = store.get(key) else {
            return token.map_or(b"END\r\n".to_vec(), |token| {
                [b"EN ", token, b"\r\n"].concat()
            });
        };
        let value = self.chosen(key, values, &store);
        let (mut name, mut token) = (key.to_vec(), token.map(<[u8]>::to_vec));
        match self.fault {
            Fault::Disordered => {
                name[1] ^= 1;
                token = token.map(|_| b"O7".to_vec());
            }
            Fault::Nonsense => return b"WHAT\r\n".to_vec(),
            _ => {}
        }
        let length = value.len().to_string().into_bytes();
        match token {
            None => [
                b"VALUE ",
                &name[..],
                b" 0 ",
                &length,
                b"\r\n",
                &value,
                b"\r\nEND\r\n",
            ]
            .concat(),
            Some(token) => [b"VA ", &length[..], b" ", &token, b"\r\n", &value, b"\r\n"].concat(),
        }
    }

    /// The value of a key to answer with.
    fn chosen(&self, key: &[u8], values: &[Vec<u8>], store: &Store) -> Vec<u8> {
        let last = values.last().cloned().unwrap_or_default();
        match self.fault {
            Fault::Foreign => {
                let other = store.iter().find(|(other, _)| *other != key);
                other
                    .and_then(|(_, values)| values.last().cloned())
                    .unwrap_or(last)
            }
            Fault::Stale => values[0].clone(),
            Fault::Torn => match values {
                [.., before, last] => [&last[..50], &before[50..]].concat(),
                _ => last,
            },
            Fault::Unwritten => {
                let mut value = Vec::new();
                self.values.write(number(key), 1_000_000, 100, &mut value);
                value
            }
            _ => last,
        }
    }
}

/// A lock of one who does not wait while holding it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
