//! What the actors of the server are sent.

use std::sync::Arc;
use std::time::Instant;

use fibre::channel::Sender;
use fibre_actors::{ActorRef, Reply};

/// What sessions are sent. Timers clone it, so there is no `Reply` in it.
#[derive(Clone)]
pub(super) enum Event {
    /// Everybody is there: the user may write.
    Begin,
    /// It is time for a message of the user.
    Write,
    /// A message for the user.
    Deliver(Letter),
    /// The user writes no more. What has been sent?
    Silence(Sender<Sent>),
    /// What has come so far?
    Count(Sender<Received>),
}

/// A message on its way.
#[derive(Clone)]
pub(super) struct Letter {
    pub(super) from: u32,
    pub(super) text: Arc<[u8]>,
    /// When it was made.
    pub(super) at: Instant,
}

/// What a session has sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sent {
    pub(super) direct: u64,
    pub(super) to_groups: u64,
}

/// What has come to a session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Received {
    pub(super) delivered: u64,
    pub(super) blocked: u64,
}

/// What groups are sent.
pub(super) enum Post {
    /// A message for all members.
    Letter(Letter),
    /// What has been published so far?
    Count(Sender<Published>),
}

/// What a group has published.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Published {
    /// Messages.
    pub(super) posts: u64,
    /// Copies of these, one for each member.
    pub(super) copies: u64,
}

/// A message in a log.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) from: u32,
    pub(super) text: Arc<[u8]>,
}

/// What the database is sent.
pub(super) enum Store {
    /// This is the session of a user.
    Enter(u32, ActorRef<Event>),
    /// Which is the session of a user?
    Find(u32, Reply<Option<ActorRef<Event>>>),
    /// A message to keep.
    Log(Entry),
    /// How many messages were there so far?
    Count(Sender<u64>),
}

/// What caches are sent.
pub(super) enum Look {
    /// Which is the session of a user?
    Find(u32, Reply<Option<ActorRef<Event>>>),
    /// A message to keep.
    Log(Entry),
    /// How many messages were there so far?
    Count(Sender<u64>),
}
