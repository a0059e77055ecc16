//! Who hears whom.

use std::collections::HashMap;
use std::sync::Arc;

use fibre::channel::{Sender, TrySendError};
use fibre::sync::Mutex;
use fibre_examples::connections::Admission;
use tungstenite::Bytes;

/// All rooms that somebody is in.
#[derive(Default)]
pub(crate) struct Rooms {
    /// The rooms by path.
    rooms: Mutex<HashMap<String, Arc<Room>>>,
}

/// Those who hear each other.
#[derive(Default)]
struct Room {
    /// The outboxes by the number of the connection.
    members: Mutex<HashMap<u64, Sender<Bytes>>>,
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
    pub(crate) fn enter<S: fibre_examples::connections::Socket>(
        &self,
        path: &str,
        link: &Admission<S>,
        outbox: Sender<Bytes>,
    ) -> Place<'_> {
        let mut rooms = self.rooms.lock();
        let room = Arc::clone(rooms.entry(path.to_owned()).or_default());
        room.members.lock().insert(link.number, outbox);
        Place {
            rooms: self,
            path: path.to_owned(),
            room,
            number: link.number,
        }
    }
}

impl Place<'_> {
    /// Sends a frame to all in the room, waiting for none of them: who has no room left for it in
    /// the outbox is put out, which its reader learns when its writer ends. Returns to how
    /// many it went.
    pub(crate) fn broadcast(&self, frame: &Bytes) -> usize {
        let mut members = self.room.members.lock();
        members.retain(|_, outbox| match outbox.try_send(frame.clone()) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                outbox.close();
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
