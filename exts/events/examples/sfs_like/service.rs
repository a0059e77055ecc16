//! From a frame to its answer: three events; the one between has the files' colour.
//!
//! | handler | colour | what it does |
//! |---|---|---|
//! | Decrypt | the client's | opens a frame |
//! | Process | 0 | looks files up, and finds or changes their bytes |
//! | Encrypt | the client's | seals the answer |
//!
//! So it is in the server that the paper colours: all but encryption had colour 0 there, and stays
//! as it was.

use crate::front::server::{Client, Server, Service};
use crate::seal::{self, Channel, Forged, LENGTH, Salt, Secret, Side, TAG};
use crate::store::{Answer, Store};
use crate::wire::{Call, HELLO};
use fibre_events::Handler;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

static DECRYPT: Handler = Handler::new("Decrypt");
static PROCESS: Handler = Handler::new("Process");
static ENCRYPT: Handler = Handler::new("Encrypt");

/// The colour of the files, and of all that is as it was before there were colours.
const FILES: u64 = 0;

/// The service.
pub(crate) struct Sfs {
    secret: Secret,
    /// Its lock is only ever taken by events of the colour [`FILES`].
    store: Mutex<Store>,
    /// How many clients there have been.
    clients: AtomicU64,
}

/// What is known of a client.
#[derive(Default)]
pub(crate) struct Talk {
    /// The keys, since it has said hello.
    channel: Option<Channel>,
    number: u64,
    call: Option<Call>,
    answer: Option<(u32, Answer)>,
}

impl Sfs {
    /// The service of these files for those who have the secret.
    pub(crate) fn new(secret: Secret, store: Store) -> Self {
        Self {
            secret,
            store: Mutex::new(store),
            clients: AtomicU64::new(0),
        }
    }
}

impl Service for Sfs {
    type Talk = Talk;

    const ROOM: usize = 8 * 1024;
    const NEXT: &'static Handler = &DECRYPT;

    /// Opens a frame. A connection that brings anything else is closed without a word.
    fn next(server: &Arc<Server<Self>>, mut connection: Client<Self>) {
        if connection.talk.channel.is_none() {
            return greet(server, connection);
        }
        match seal::frame_length(connection.input()) {
            Ok(Some(length)) if length <= connection.input().len() => {
                let (talk, input) = connection.talk_and_input();
                if talk.open(&mut input[..length]).is_err() {
                    return;
                }
                connection.use_up(length);
                let shared = Arc::clone(server);
                let event = PROCESS.with(move || process(&shared, connection));
                server.post_under(FILES, event);
            }
            Ok(_) => server.lacks_input(connection),
            Err(Forged) => {}
        }
    }

    fn late(_: &Arc<Server<Self>>, connection: Client<Self>) {
        drop(connection);
    }
}

/// Answers a client's first bytes.
fn greet(server: &Arc<Server<Sfs>>, mut connection: Client<Sfs>) {
    let hello = connection.input().first_chunk::<16>().copied();
    let Some(hello) = hello else {
        return server.lacks_input(connection);
    };
    let (word, theirs) = hello.split_at(HELLO.len());
    let (Ok(ours), Ok(theirs)) = (seal::salt(), Salt::try_from(theirs)) else {
        return;
    };
    if word != HELLO {
        return;
    }
    connection.use_up(hello.len());
    let number = server.service.clients.fetch_add(1, Ordering::Relaxed);
    let channel = Channel::new(&server.service.secret, Side::Server, [theirs, ours]);
    connection.talk = Talk {
        channel: Some(channel),
        number,
        ..Talk::default()
    };
    connection.say(ours.to_vec(), ours.len());
    server.has_answered(connection);
}

/// Performs a call.
fn process(server: &Arc<Server<Sfs>>, mut connection: Client<Sfs>) {
    let Some(call) = connection.talk.call.take() else {
        return;
    };
    let store = &server.service.store;
    let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = store.perform(connection.talk.number, call.wish, Instant::now());
    drop(store);
    connection.talk.answer = Some((call.number, answer));
    server.post(&ENCRYPT, connection, encrypt);
}

/// Seals an answer.
fn encrypt(server: &Arc<Server<Sfs>>, mut connection: Client<Sfs>) {
    let Some(frame) = connection.talk.seal() else {
        return;
    };
    let length = frame.len();
    connection.say(frame, length);
    connection.closes |= server.is_stopping();
    server.has_answered(connection);
}

impl Talk {
    /// Opens a frame and keeps its call.
    fn open(&mut self, frame: &mut [u8]) -> Result<(), Forged> {
        let channel = self.channel.as_mut().ok_or(Forged)?;
        self.call = Some(Call::parse(channel.open(frame)?).ok_or(Forged)?);
        Ok(())
    }

    /// The frame of the answer.
    fn seal(&mut self) -> Option<Vec<u8>> {
        let (number, answer) = self.answer.take()?;
        let parts = answer.parts.iter().map(|(_, range)| range.len());
        let length = LENGTH + 5 + answer.words.len() + parts.sum::<usize>() + TAG;
        let mut frame = Vec::with_capacity(length);
        frame.extend([0; LENGTH]);
        frame.extend(number.to_be_bytes());
        frame.push(answer.status as u8);
        frame.extend(&answer.words);
        for (block, range) in answer.parts {
            frame.extend(&block[range]);
        }
        self.channel.as_mut()?.seal(&mut frame);
        Some(frame)
    }
}
