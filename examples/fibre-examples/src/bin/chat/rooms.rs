//! The rooms of the chat, and which clients hear each other.
//!
//! A client that comes back is in its room before it has been told what it missed. What is said
//! meanwhile waits for it, and comes after that. What it has been told that way may still be on its
//! way here, and is left out then: positions in the broker's order tell.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fibre::channel::{Sender, TrySendError};
use fibre::net::TcpStream;
use fibre::sync::Mutex;
use fibre_examples::broker::{Message, Position};
use fibre_examples::connections::{Admission, Link};
use tungstenite::Bytes;

use crate::outbox::encode_text;

/// All rooms that somebody is in.
#[derive(Default)]
pub(crate) struct Rooms {
    /// The rooms by path.
    rooms: Mutex<HashMap<String, Arc<Room>>>,
    /// Frames that were put into outboxes.
    passed_on: AtomicU64,
}

/// Clients that hear each other.
#[derive(Default)]
struct Room {
    /// The members by the number of the connection.
    members: Mutex<HashMap<u64, Member>>,
}

/// A client that is in a room.
struct Member {
    /// How frames get to it.
    outbox: Sender<Bytes>,
    /// Its connection.
    link: Arc<Link<TcpStream>>,
    /// What waits until it has been told what it missed; `None` once it has.
    waiting: Option<Vec<(Option<Position>, Bytes)>>,
    /// Up to where it has been told what it missed.
    told: Option<Position>,
}

/// A place in a room, given up when dropped.
pub(crate) struct Place<'r> {
    /// All rooms.
    rooms: &'r Rooms,
    /// The room's path.
    pub(crate) path: String,
    /// The room.
    room: Arc<Room>,
    /// The number of the connection.
    number: u64,
}

impl Rooms {
    /// Lets a connection be heard, and hear: at once, or after [`catch_up`](Place::catch_up) if it
    /// `waits` for that.
    pub(crate) fn enter(
        &self,
        path: &str,
        link: &Admission<TcpStream>,
        outbox: Sender<Bytes>,
        waits: bool,
    ) -> Place<'_> {
        let mut rooms = self.rooms.lock();
        let room = Arc::clone(rooms.entry(path.to_owned()).or_default());
        let (number, link) = (link.number, link.share());
        let member = Member {
            outbox,
            link,
            waiting: waits.then(Vec::new),
            told: None,
        };
        room.members.lock().insert(number, member);
        Place {
            rooms: self,
            path: path.to_owned(),
            room,
            number,
        }
    }

    /// Passes a message of the broker on to all who are in its room here.
    pub(crate) fn deliver(&self, message: Message) {
        let room = self.rooms.lock().get(&message.topic).map(Arc::clone);
        if let Some(room) = room
            && let Ok(frame) = encode_text(numbered(&message))
        {
            self.send(&room, message.position, &frame);
        }
    }

    /// How many frames have been put into outboxes.
    pub(crate) fn passed_on(&self) -> u64 {
        self.passed_on.load(Ordering::Relaxed)
    }

    /// Sends a frame to all in a room, waiting for none of them.
    fn send(&self, room: &Room, position: Option<Position>, frame: &Bytes) {
        let mut members = room.members.lock();
        members.retain(|_, member| member.send(position, frame));
        self.passed_on
            .fetch_add(members.len() as u64, Ordering::Relaxed);
    }
}

/// What clients get of a message of the broker: its position first, if it has one.
pub(crate) fn numbered(message: &Message) -> String {
    match message.position {
        Some(position) => format!("{position} {}", message.text),
        None => message.text.clone(),
    }
}

impl Member {
    /// Sends a frame, or keeps it until the client has caught up. `false`: there is no room left
    /// for it, so the client is put out at once, with all that waits there; or it is gone.
    fn send(&mut self, position: Option<Position>, frame: &Bytes) -> bool {
        if position.is_some() && position <= self.told {
            return true;
        }
        if let Some(waiting) = &mut self.waiting
            && waiting.len() < self.outbox.capacity().unwrap_or(usize::MAX)
        {
            waiting.push((position, frame.clone()));
            return true;
        }
        let sent = match self.waiting {
            Some(_) => Err(TrySendError::Full(Bytes::new())),
            None => self.outbox.try_send(frame.clone()),
        };
        if let Err(TrySendError::Full(_)) = sent {
            self.outbox.close();
            self.link.cut();
        }
        sent.is_ok()
    }
}

impl Place<'_> {
    /// Sends a frame to all in the room of this process, waiting for none of them: who has no room
    /// left for it in the outbox is put out at once, with all that waits there.
    pub(crate) fn broadcast(&self, frame: &Bytes) {
        self.rooms.send(&self.room, None, frame);
    }

    /// Has `send` send the client what has waited, as far as it came after this position. From then
    /// on it hears what is said. Blocks the fibre as `send` does.
    ///
    /// # Errors
    ///
    /// Those of `send`; if the client has been put out meanwhile.
    pub(crate) fn catch_up(
        &self,
        last: Position,
        send: impl Fn(Bytes) -> io::Result<()>,
    ) -> io::Result<()> {
        loop {
            let mut members = self.room.members.lock();
            let member = members.get_mut(&self.number);
            let member = member.ok_or(io::ErrorKind::ConnectionAborted)?;
            member.told = Some(last);
            let waiting = member.waiting.take().unwrap_or_default();
            if waiting.is_empty() {
                return Ok(());
            }
            member.waiting = Some(Vec::new());
            drop(members);
            let is_new = |position: Option<Position>| position.is_none_or(|it| it > last);
            for (position, frame) in waiting {
                if is_new(position) {
                    send(frame)?;
                }
            }
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // In the order of entering, so that nobody enters a room that is being forgotten.
        let mut rooms = self.rooms.rooms.lock();
        let mut members = self.room.members.lock();
        members.remove(&self.number);
        if members.is_empty() {
            rooms.remove(&self.path);
        }
    }
}
