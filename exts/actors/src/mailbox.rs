//! How many messages may wait for an actor, and what becomes of one that finds no room.

/// The mailbox of an actor to come.
///
/// ```
/// use fibre_actors::{Mailbox, Overflow};
///
/// // Keeps the latest position only.
/// let latest = Mailbox::bounded(1, Overflow::DropOldest);
/// assert_eq!(latest, Mailbox::Bounded { capacity: 1, when_full: Overflow::DropOldest });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mailbox {
    /// Room for any number of messages. Sending blocks nothing.
    #[default]
    Unbounded,
    /// Room for so many messages that wait; the one that is being handled does not count.
    Bounded {
        /// How many messages may wait. Zero counts as one.
        capacity: usize,
        /// What becomes of a message if there is no room for it.
        when_full: Overflow,
    },
}

/// What a full mailbox does with one more message.
///
/// Messages without a sender to wait or to be told, those of timers and exit notices, come in
/// beyond the bound where the others would have to wait or would be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The sender waits for room: it blocks its fibre, or its thread. Senders are served in order
    /// of arrival.
    Block,
    /// The new message is dropped. The sender is not told.
    DropNewest,
    /// The message that has waited longest is dropped. The sender is not told.
    DropOldest,
    /// The sender gets its message back: [`SendError::Full`](crate::SendError::Full).
    Refuse,
}

impl Mailbox {
    /// A mailbox with room for so many messages.
    #[must_use]
    pub const fn bounded(capacity: usize, when_full: Overflow) -> Self {
        Self::Bounded {
            capacity,
            when_full,
        }
    }
}
