//! Those that are told about the end of an actor: a list, the newest first.
//!
//! Under the lock of the inbox, so no call here allocates or frees memory.

use crate::exit::ExitReason;

/// Somebody that is told about the end.
pub(crate) struct Watcher {
    /// Tells it from others; zero if it stays until it is told.
    key: usize,
    notice: Box<dyn FnOnce(ExitReason) + Send>,
    next: Option<Box<Watcher>>,
}

/// The watchers of one actor.
#[must_use = "they wait for the notice"]
#[derive(Default)]
pub struct Watchers(Option<Box<Watcher>>);

impl Watcher {
    /// A watcher in no list.
    pub(crate) fn new(key: usize, notice: impl FnOnce(ExitReason) + Send + 'static) -> Box<Self> {
        Box::new(Self {
            key,
            notice: Box::new(notice),
            next: None,
        })
    }

    /// Tells it.
    pub(crate) fn tell(self, reason: ExitReason) {
        (self.notice)(reason);
    }
}

impl Watchers {
    /// Adds a watcher.
    pub(crate) fn push(&mut self, mut watcher: Box<Watcher>) {
        watcher.next = self.0.take();
        self.0 = Some(watcher);
    }

    /// Takes out the watcher with this key, if it is there.
    pub(crate) fn remove(&mut self, key: usize) -> Option<Box<Watcher>> {
        let mut place = &mut self.0;
        while place.as_ref().is_some_and(|watcher| watcher.key != key) {
            // The condition has just been asked.
            let Some(watcher) = place else { break };
            place = &mut watcher.next;
        }
        let mut gone = place.take();
        if let Some(gone) = &mut gone {
            *place = gone.next.take();
        }
        gone
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        std::iter::successors(self.0.as_ref(), |watcher| watcher.next.as_ref()).count()
    }

    /// Tells them, in the order in which they came.
    pub fn tell(self, reason: ExitReason) {
        let (mut newest, mut oldest) = (self.0, None);
        while let Some(mut watcher) = newest {
            newest = watcher.next.take();
            watcher.next = oldest;
            oldest = Some(watcher);
        }
        while let Some(mut watcher) = oldest {
            oldest = watcher.next.take();
            watcher.tell(reason);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn the_others_are_told_in_their_order() {
        let (tell, told) = mpsc::channel();
        let mut watchers = Watchers::default();
        for key in 1..=4 {
            let tell = tell.clone();
            watchers.push(Watcher::new(key, move |_| tell.send(key).unwrap()));
        }
        for key in [4, 2] {
            assert!(watchers.remove(key).is_some());
            assert!(watchers.remove(key).is_none());
        }
        drop(tell);
        watchers.tell(ExitReason::Stopped);
        assert_eq!(told.iter().collect::<Vec<_>>(), [1, 3]);
    }
}
