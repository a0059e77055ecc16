//! The actor of a user.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use fibre_actors::{Actor, ActorRef, Context, Timer};
use hdrhistogram::Histogram;
use parking_lot::Mutex;

use super::super::tell;
use super::cipher::Key;
use super::messages::{Entry, Event, Letter, Look, Post, Received, Sent, Store};
use super::plan::Chat;
use super::users::User;

/// How long messages were on their way, of all sessions. A session has one of several histograms,
/// so that two seldom want the same.
pub(super) struct Latencies(Vec<Mutex<Histogram<u64>>>);

impl Latencies {
    /// How many histograms there are.
    const PARTS: usize = 16;

    /// No times yet.
    pub(super) fn new() -> anyhow::Result<Self> {
        // Two digits are 1 %.
        let part = |_| Ok(Mutex::new(Histogram::new(2)?));
        Ok(Self(
            (0..Self::PARTS).map(part).collect::<anyhow::Result<_>>()?,
        ))
    }

    /// Adds the time since a message was made.
    fn record(&self, user: u32, at: Instant) {
        let mut part = self.0[user as usize % Self::PARTS].lock();
        *part += at.elapsed().as_nanos() as u64;
    }

    /// All times.
    pub(super) fn total(&self) -> anyhow::Result<Histogram<u64>> {
        let mut total = Histogram::new(2)?;
        for part in &self.0 {
            total.add(&*part.lock())?;
        }
        Ok(total)
    }
}

/// What all sessions need.
pub(super) struct Surroundings {
    pub(super) chat: Chat,
    pub(super) groups: Vec<ActorRef<Post>>,
    pub(super) database: ActorRef<Store>,
    pub(super) latencies: Latencies,
}

/// The session of one user.
pub(super) struct Session {
    user: User,
    key: Key,
    /// How many messages of the user have been encrypted, either way.
    number: u64,
    all: Arc<Surroundings>,
    cache: ActorRef<Look>,
    /// The sessions that have been looked up.
    known: HashMap<u32, ActorRef<Event>>,
    /// What has the user write; none while the user is silent.
    timer: Option<Timer>,
    /// Whether the timer is the one that comes again and again.
    regular: bool,
    sent: Sent,
    received: Received,
    /// What is encrypted for the user, one after the other.
    buffer: Vec<u8>,
}

impl Session {
    /// The session of a user that writes nothing yet.
    pub(super) fn new(user: User, all: Arc<Surroundings>, cache: ActorRef<Look>) -> Self {
        Self {
            key: Key::of(user.id),
            user,
            number: 0,
            all,
            cache,
            known: HashMap::new(),
            timer: None,
            regular: false,
            sent: Sent::default(),
            received: Received::default(),
            buffer: Vec::new(),
        }
    }

    /// Sends what the user writes to a group or to a friend. A user without either writes nothing.
    fn write(&mut self, context: &Context<'_, Self>) {
        let random = &mut self.user.random;
        let prefers_group = random.u64(..100) < self.all.chat.to_groups;
        let group = random.choice(&self.user.groups).copied();
        let friend = random.choice(&self.user.friends).copied();
        match (group, friend) {
            (Some(group), None) => self.write_to_group(group),
            (Some(group), _) if prefers_group => self.write_to_group(group),
            (_, Some(friend)) => self.write_to(friend, context),
            (None, None) => {}
        }
    }

    /// What the user has written, decrypted.
    fn letter(&mut self) -> Letter {
        let at = Instant::now();
        let length = self.user.random.usize(1..=self.all.chat.length.max(1));
        let mut text = vec![b'a' + (self.number % 26) as u8; length];
        self.number += 1;
        // Once for the user, once for the session.
        self.key.apply(self.number, &mut text);
        self.key.apply(self.number, &mut text);
        Letter {
            from: self.user.id,
            text: text.into(),
            at,
        }
    }

    /// Sends a message to all members of a group.
    fn write_to_group(&mut self, group: usize) {
        let letter = self.letter();
        self.log(&letter);
        tell(&self.all.groups[group], Post::Letter(letter));
        self.sent.to_groups += 1;
    }

    /// Sends a message to another user.
    fn write_to(&mut self, friend: u32, context: &Context<'_, Self>) {
        let letter = self.letter();
        self.log(&letter);
        let Some(session) = self.find(friend, context) else {
            return; // the conductor misses the message
        };
        tell(session, Event::Deliver(letter));
        self.sent.direct += 1;
    }

    /// The session of another user.
    fn find(&mut self, user: u32, context: &Context<'_, Self>) -> Option<&ActorRef<Event>> {
        if !self.known.contains_key(&user) {
            let find = |reply| Look::Find(user, reply);
            let session = context.ask(&self.cache, find).ok().flatten()?;
            self.known.insert(user, session);
        }
        self.known.get(&user)
    }

    /// Logs the message in cache and database.
    fn log(&self, letter: &Letter) {
        let entry = Entry {
            from: letter.from,
            text: Arc::clone(&letter.text),
        };
        tell(&self.cache, Look::Log(entry.clone()));
        tell(&self.all.database, Store::Log(entry));
    }

    /// Encrypts a message for the user, unless it is of somebody that the user has blocked.
    fn deliver(&mut self, letter: &Letter) {
        if self.user.blocks(letter.from) {
            self.received.blocked += 1;
            return;
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(&letter.text);
        self.number += 1;
        self.key.apply(self.number, &mut self.buffer);
        self.all.latencies.record(self.user.id, letter.at);
        self.received.delivered += 1;
    }
}

impl Actor for Session {
    type Message = Event;

    fn handle(&mut self, event: Event, context: &mut Context<'_, Self>) {
        match event {
            Event::Begin => {
                // Users do not all write at the same time.
                let period = self.all.chat.period;
                let part = self.user.random.f64();
                self.timer = Some(context.after(period.mul_f64(part), Event::Write));
            }
            // One that was under way when the timer was dropped comes too late.
            Event::Write if self.timer.is_none() => {}
            Event::Write => {
                if !self.regular {
                    self.regular = true;
                    self.timer = Some(context.every(self.all.chat.period, Event::Write));
                }
                self.write(context);
            }
            Event::Deliver(letter) => self.deliver(&letter),
            Event::Silence(answers) => {
                self.timer = None;
                answers.send(self.sent).ok();
            }
            Event::Count(answers) => {
                answers.send(self.received).ok();
            }
        }
    }
}
