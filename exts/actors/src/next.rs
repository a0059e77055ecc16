//! What the inbox tells those who use it: whether to schedule the actor, what its activation does
//! next, and when a message has been handled.

use crate::exit::ExitReason;

/// Whether the caller has to schedule the actor.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// It has to: the actor was idle, and is active now.
    Needed,
    /// It has not: the actor is active, or has ended.
    Underway,
}

/// What an activation does next.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It handles the messages in the backlog.
    Handle,
    /// Nothing: the actor is idle now, and others may schedule it.
    Rest,
    /// It ends the actor, for this reason.
    End(ExitReason),
}

/// Tells when a message has been handled. An activation comes for more when it has handled what it
/// took before, so that is after as many of its takes as the mailbox needs to give the message out,
/// and one more. A message that is dropped earlier counts as under way until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// That of no message.
    pub const NONE: Self = Self(0);

    /// That of a message that has been handled after so many takes.
    pub(crate) const fn after(takes: u64) -> Self {
        Self(takes)
    }

    /// Whether there have been as many takes.
    pub(crate) const fn is_reached(self, takes: u64) -> bool {
        takes >= self.0
    }
}

/// What became of a message that was offered.
#[must_use]
pub(crate) enum Offered<M> {
    /// It is in, or was dropped as the mailbox has to.
    Accepted(Activation, Mark),
    /// It has to wait for room.
    NoRoom(M),
    /// There is no room.
    Full(M),
    /// The actor accepts no messages any more.
    Stopped(M),
}

/// What an offer needs before it can be made.
pub(crate) enum Lack {
    /// Room for so many more messages.
    Room(usize),
    /// Memory for so many messages in a ring.
    Memory(usize),
}
