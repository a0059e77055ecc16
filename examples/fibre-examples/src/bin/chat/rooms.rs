//! The rooms of the chat, and which clients hear each other.

use std::collections::HashMap;
use std::sync::Arc;

use fibre::channel::{Sender, TrySendError};
use fibre::net::TcpStream;
use fibre::sync::Mutex;
use fibre_examples::connections::{Admission, Link};
use tungstenite::Bytes;

/// All rooms that somebody is in.
#[derive(Default)]
pub(crate) struct Rooms {
    /// The rooms by path.
    rooms: Mutex<HashMap<String, Arc<Room>>>,
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
}

/// A place in a room, given up when dropped.
pub(crate) struct Place<'r> {
    /// All rooms.
    rooms: &'r Rooms,
    /// The room's path.
    path: String,
    /// The room.
    room: Arc<Room>,
    /// The number of the connection.
    number: u64,
}

impl Rooms {
    /// Lets a connection hear and be heard.
    pub(crate) fn enter(
        &self,
        path: &str,
        link: &Admission<TcpStream>,
        outbox: Sender<Bytes>,
    ) -> Place<'_> {
        let mut rooms = self.rooms.lock();
        let room = Arc::clone(rooms.entry(path.to_owned()).or_default());
        let (number, link) = (link.number, link.share());
        room.members.lock().insert(number, Member { outbox, link });
        Place {
            rooms: self,
            path: path.to_owned(),
            room,
            number,
        }
    }
}

impl Place<'_> {
    /// Sends a frame to all in the room, waiting for none of them: who has no room left for it in
    /// the outbox is put out at once, with all that waits there. Returns to how many it went.
    pub(crate) fn broadcast(&self, frame: &Bytes) -> usize {
        let mut members = self.room.members.lock();
        members.retain(|_, member| match member.outbox.try_send(frame.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                member.outbox.close();
                member.link.cut();
                false
            }
            Err(TrySendError::Closed(_)) => false,
        });
        members.len()
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
