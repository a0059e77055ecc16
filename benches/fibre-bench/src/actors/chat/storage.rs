//! The actors that know all sessions and log messages: the database, and caches before it.
//!
//! A log keeps the latest messages of each user, so that it does not grow while the server runs.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use fibre_actors::{Actor, ActorRef, Context};

use super::messages::{Entry, Event, Look, Store};

/// How many messages of a user a log keeps.
const KEPT: usize = 8;

/// The latest messages of each user.
#[derive(Default)]
struct Log {
    latest: HashMap<u32, VecDeque<Arc<[u8]>>>,
    /// How many there were.
    count: u64,
}

impl Log {
    /// Adds a message.
    fn add(&mut self, entry: Entry) {
        let latest = self.latest.entry(entry.from).or_default();
        if latest.len() == KEPT {
            latest.pop_front();
        }
        latest.push_back(entry.text);
        self.count += 1;
    }
}

/// The actor that knows all sessions.
#[derive(Default)]
pub(super) struct Database {
    sessions: HashMap<u32, ActorRef<Event>>,
    log: Log,
}

impl Actor for Database {
    type Message = Store;

    fn handle(&mut self, store: Store, _: &mut Context<'_, Self>) {
        match store {
            Store::Enter(user, session) => {
                self.sessions.insert(user, session);
            }
            Store::Find(user, reply) => reply.send(self.sessions.get(&user).cloned()),
            Store::Log(entry) => self.log.add(entry),
            Store::Count(answers) => {
                answers.send(self.log.count).ok();
            }
        }
    }
}

/// An actor that knows the sessions it was asked for, and asks the database for others.
pub(super) struct Cache {
    database: ActorRef<Store>,
    sessions: HashMap<u32, ActorRef<Event>>,
    log: Log,
}

impl Cache {
    /// A cache that knows no sessions.
    pub(super) fn new(database: ActorRef<Store>) -> Self {
        Self {
            database,
            sessions: HashMap::new(),
            log: Log::default(),
        }
    }

    /// The session of a user.
    fn find(&mut self, user: u32, context: &Context<'_, Self>) -> Option<ActorRef<Event>> {
        if let Some(session) = self.sessions.get(&user) {
            return Some(session.clone());
        }
        let find = |reply| Store::Find(user, reply);
        let session = context.ask(&self.database, find).ok().flatten()?;
        self.sessions.insert(user, session.clone());
        Some(session)
    }
}

impl Actor for Cache {
    type Message = Look;

    fn handle(&mut self, look: Look, context: &mut Context<'_, Self>) {
        match look {
            Look::Find(user, reply) => {
                let session = self.find(user, context);
                reply.send(session);
            }
            Look::Log(entry) => self.log.add(entry),
            Look::Count(answers) => {
                answers.send(self.log.count).ok();
            }
        }
    }
}
