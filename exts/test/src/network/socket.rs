//! What a socket is.

use super::events::SocketId;
use fibre_io::simulated::Gates;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::net::SocketAddrV4;

/// A socket.
#[derive(Debug)]
pub(super) struct Socket {
    /// The host that it is of.
    pub(super) host: usize,
    /// Its address; the port is zero until it has one.
    pub(super) local: SocketAddrV4,
    /// Its descriptors, by their numbers in the socket, and their gates.
    pub(super) handles: Vec<(u64, Option<Gates>)>,
    /// How many descriptors it has had.
    pub(super) last_handle: u64,
    pub(super) role: Role,
    /// The error that the next call reports.
    pub(super) error: Option<Errno>,
    /// Whether the last close resets the connection.
    pub(super) resets: bool,
    /// Whether no other socket of the host may have its port. The ends that a listener has accepted
    /// share that one's.
    pub(super) keeps_port: bool,
}

/// What a socket does.
#[derive(Debug)]
pub(super) enum Role {
    /// Nothing yet, or nothing any more.
    Fresh,
    /// It takes connections.
    Listener {
        queue: VecDeque<SocketId>,
        backlog: usize,
    },
    /// It connects.
    Connecting { to: SocketAddrV4, losses: u32 },
    /// It is one end of a connection.
    Stream(End),
    /// It carries messages.
    Datagrams(Mailbox),
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct End {
    /// The other end, which may be gone.
    pub(super) peer: SocketId,
    pub(super) peer_address: SocketAddrV4,
    pub(super) peer_host: usize,
    /// What has arrived, and has not been read.
    pub(super) incoming: VecDeque<u8>,
    /// Whether the peer has sent its end.
    pub(super) has_ended: bool,
    /// Whether this side reads no more.
    pub(super) reads_no_more: bool,
    /// Whether this side writes no more.
    pub(super) writes_no_more: bool,
    /// Whether the connection is broken: it takes nothing more.
    pub(super) is_broken: bool,
    /// What this side has sent, and the other has not got yet.
    pub(super) under_way: VecDeque<Segment>,
    /// When the first of that arrives, if an event has been made for it.
    pub(super) armed: Option<u64>,
}

/// A piece of a stream.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) what: Piece,
    pub(super) due: u64,
    /// How often it has been lost.
    pub(super) losses: u32,
}

/// What a piece is.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// The end of the direction.
    End,
    /// The end of the connection.
    Reset,
}

/// What a socket of messages has got.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    /// The only one that it hears, if it is connected.
    pub(super) peer: Option<SocketAddrV4>,
    pub(super) queue: VecDeque<(Vec<u8>, SocketAddrV4)>,
    /// How many bytes these have.
    pub(super) bytes: usize,
}

impl Socket {
    /// Whether any descriptor refers to it.
    pub(super) fn is_open(&self) -> bool {
        !self.handles.is_empty()
    }

    /// The end of a connection, if it is one.
    pub(super) fn end(&self) -> Option<&End> {
        match &self.role {
            Role::Stream(end) => Some(end),
            _ => None,
        }
    }

    /// [`end`](Self::end), to be changed.
    pub(super) fn end_mut(&mut self) -> Option<&mut End> {
        match &mut self.role {
            Role::Stream(end) => Some(end),
            _ => None,
        }
    }
}
