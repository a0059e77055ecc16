//! Those that are told about the end of an actor.
//!
//! Under the lock of the inbox, so no call here allocates or frees memory but those that say so,
//! and each takes the same time however many watchers there are.

use crate::exit::ExitReason;
use crate::slots::{Room, Slots};
use fibre_core::internal::{Quiet, quietly};
use std::fmt;

/// The end of an actor, as its watchers are told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Why the actor has ended.
    pub reason: ExitReason,
    /// Whether the actor was left behind in the middle of a run, or before it.
    pub is_left_behind: bool,
}

/// What is done about the end.
type Notice = Box<dyn FnOnce(End) + Send>;

/// Somebody that is told about the end.
pub(crate) struct Watcher {
    /// Tells it from others, and from those before it.
    number: u64,
    notice: Quiet<Notice>,
}

/// By what a watcher is let go.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchKey {
    place: u32,
    number: u64,
}

/// The watchers of one actor. Few actors have some, so they are a pointer.
#[must_use = "they wait for the notice"]
#[derive(Default)]
pub struct Watchers(Option<Box<Table>>);

/// Watchers, where there are some.
struct Table {
    slots: Slots<Watcher>,
    /// The number of the next one.
    next: u64,
}

/// Room for watchers, made without the lock.
pub(crate) struct WatchRoom {
    table: Option<Box<Table>>,
    places: Room<Watcher>,
}

impl WatchRoom {
    /// No room.
    pub(crate) const fn none() -> Self {
        Self {
            table: None,
            places: Room::none(),
        }
    }

    /// Makes room for so many, or, for none, the table. Allocates.
    pub(crate) fn make(&mut self, places: usize) {
        match places {
            0 => {
                self.table = Some(Box::new(Table {
                    slots: Slots::new(),
                    next: 0,
                }));
            }
            places => self.places.make(places),
        }
    }
}

impl Watcher {
    /// A watcher that is in no table. Allocates.
    pub(crate) fn new(notice: impl FnOnce(End) + Send + 'static) -> Self {
        Self {
            number: 0,
            notice: Quiet::new(Box::new(notice)),
        }
    }

    /// Tells it. Its panic ends here.
    pub(crate) fn tell(self, end: End) {
        let notice = self.notice.into_inner();
        quietly(|| notice(end));
    }
}

impl Watchers {
    /// Adds a watcher, if there is room, or enough in `room`.
    ///
    /// # Errors
    ///
    /// The watcher, and for how many places room [has to be made](WatchRoom::make).
    pub(crate) fn add(
        &mut self,
        mut watcher: Watcher,
        room: &mut WatchRoom,
    ) -> Result<WatchKey, (Watcher, usize)> {
        if self.0.is_none() {
            self.0 = room.table.take();
        }
        let Some(table) = &mut self.0 else {
            return Err((watcher, 0));
        };
        if let Some(places) = table.slots.lacks_room(&mut room.places) {
            return Err((watcher, places));
        }
        let number = table.next;
        table.next += 1;
        watcher.number = number;
        let place = table.slots.put(watcher);
        Ok(WatchKey { place, number })
    }

    /// Takes out the watcher with this key, if it is there.
    pub(crate) fn remove(&mut self, key: WatchKey) -> Option<Watcher> {
        let slots = &mut self.0.as_mut()?.slots;
        match slots.get(key.place)?.number == key.number {
            true => slots.take(key.place),
            false => None,
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        let table = self.0.iter();
        table
            .map(|table| table.slots.stretch(0, usize::MAX).flatten().count())
            .sum()
    }

    /// Tells them, first come, first told. Not under the lock.
    pub fn tell(self, end: End) {
        let tables = self.0.into_iter();
        let mut watchers: Vec<_> = tables.flat_map(|table| table.slots.into_values()).collect();
        watchers.sort_unstable_by_key(|watcher| watcher.number);
        for watcher in watchers {
            watcher.tell(end);
        }
    }
}

impl fmt::Debug for Watchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchers").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// An ordinary end.
    const STOPPED: End = End {
        reason: ExitReason::Stopped,
        is_left_behind: false,
    };
    use std::panic::resume_unwind;
    use std::sync::mpsc;

    /// Adds a watcher, with room for it.
    fn add(watchers: &mut Watchers, notice: impl FnOnce() + Send + 'static) -> WatchKey {
        let mut room = WatchRoom::none();
        let mut watcher = Watcher::new(|_| notice());
        loop {
            match watchers.add(watcher, &mut room) {
                Ok(key) => return key,
                Err((again, places)) => {
                    watcher = again;
                    room.make(places);
                }
            }
        }
    }

    #[test]
    fn the_others_are_told_in_their_order() {
        let (tell, told) = mpsc::channel();
        let mut watchers = Watchers::default();
        let mut added = |number| {
            let tell = tell.clone();
            add(&mut watchers, move || tell.send(number).unwrap())
        };
        let keys: Vec<_> = (1..=4).map(&mut added).collect();
        for key in [keys[3], keys[1]] {
            assert!(watchers.remove(key).is_some());
            assert!(watchers.remove(key).is_none());
        }
        let last = tell.clone();
        let key = add(&mut watchers, move || last.send(5).unwrap());
        assert!(watchers.remove(keys[1]).is_none(), "its place has another");
        assert!(key != keys[1]);
        drop(tell);
        watchers.tell(STOPPED);
        assert_eq!(told.iter().collect::<Vec<_>>(), [1, 3, 5]);
    }

    #[test]
    fn one_that_panics_keeps_no_notice_from_others() {
        let (tell, told) = mpsc::channel();
        let mut watchers = Watchers::default();
        let first = tell.clone();
        let _ = add(&mut watchers, || resume_unwind(Box::new("on purpose")));
        let _ = add(&mut watchers, move || first.send(()).unwrap());
        drop(tell);
        watchers.tell(STOPPED);
        assert_eq!(told.iter().count(), 1);
    }
}
