//! What happens later, what is noted, and who is woken.

use crate::random::mix;
use fibre_io::simulated::Gates;
use std::net::SocketAddrV4;

/// The number of a socket in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketId(pub(super) u64);

/// Two hosts, the one that was named first in the run before the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkKey(usize, usize);

impl LinkKey {
    /// The link of two hosts, in whichever order.
    pub(crate) fn new(one: usize, other: usize) -> Self {
        Self(one.min(other), one.max(other))
    }

    /// A number that is another one for each link.
    pub(super) fn mixed_with(self, seed: u64) -> u64 {
        let Self(one, other) = self;
        mix(mix(seed ^ mix(one as u64 + 1)).wrapping_add(other as u64))
    }
}

/// How a link changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Partition,
    Heal,
    Hold,
    Release,
    Reset,
}

/// A message under way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Datagram {
    /// The socket that has sent it.
    pub(super) sender: SocketId,
    pub(super) from: SocketAddrV4,
    /// The hosts that it goes between.
    pub(super) hosts: [usize; 2],
    pub(super) to: SocketAddrV4,
    pub(super) bytes: Vec<u8>,
}

/// Something that happens later.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) due: u64,
    /// What decides about events of one moment: the order of their making.
    pub(super) number: u64,
    pub(super) what: What,
}

/// What happens later.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// The first segment that this end has under way arrives.
    Arrives(SocketId),
    /// The handshake of this socket is done, or its answer is that nobody listens.
    ShakesHands(SocketId),
    /// A message arrives.
    Datagram(Datagram),
    /// A link changes.
    Changes(LinkKey, Change),
}

/// What a call has changed for others.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// What the trace of the run notes.
    pub(crate) notes: Vec<u64>,
    pub(super) wakes: Vec<(Gates, Wake)>,
}

/// The fibres of a socket that are woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    Reader,
    Writer,
    All,
}

/// What is noted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Note {
    Sent = 1,
    Arrived = 2,
    Lost = 3,
    Connected = 4,
    Failed = 5,
    Closed = 6,
    Received = 7,
    Changed = 8,
    Drawn = 9,
}

impl Effects {
    /// Wakes those that the call has let go on. Not under a lock.
    pub(crate) fn wake(self) {
        for (gates, wake) in self.wakes {
            match wake {
                Wake::Reader => gates.readable(),
                Wake::Writer => gates.writable(),
                Wake::All => gates.ended(),
            }
        }
    }
}
