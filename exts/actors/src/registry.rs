//! The actors of an [`Actors`](crate::Actors) that have not ended, so that all of them can be
//! stopped.
//!
//! It is a table in parts, each under a lock of its own; an actor enters the part of the processor
//! that spawns it. Entering and leaving are a few instructions. A walk over all takes handles of a
//! few members at a time, and looks at them without the lock. An actor that enters where the walk
//! has been sees that a walk has begun, and is treated by its spawner.
//!
//! # Memory ordering
//!
//! The locks order all but the end of a stop: the caller that stops sets `stopping` and then reads
//! the count, and an actor that leaves changes the count and then reads `stopping`, all
//! sequentially consistent. So one of the two sees the other.

use crate::slots::{Room, Slots};
use fibre_core::Limit;
use fibre_core::internal::ShortLock;
use fibre_sync::Event;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// How many parts there are; a power of two.
const PARTS: usize = 8;

/// The bits of a place that say which part it is in.
const PART_BITS: u32 = PARTS.trailing_zeros();

/// How many members a walk looks at under one lock.
const STRIDE: usize = 64;

/// An actor, whatever its messages are.
pub(crate) trait Member: Send + Sync {
    /// Ends it when it has handled what is in its mailbox.
    fn close(&self);
    /// Ends it now, and ends its cancellable waits.
    fn kill(&self);
    /// Tells others that it has ended, as it will never run again.
    fn abandon(&self);
    /// Its number.
    fn id(&self) -> u64;
    /// Its name.
    fn name(&self) -> Option<String>;
}

/// One part of the table.
type Part = ShortLock<Slots<Arc<dyn Member>>>;

/// The table.
pub(crate) struct Registry {
    parts: [Part; PARTS],
    /// How many members there are.
    members: AtomicUsize,
    /// Whether all are being stopped.
    stopping: AtomicBool,
    /// Set when the last member of a registry leaves that is being stopped.
    empty: Event,
}

/// Where a member stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemberId(u32);

impl Registry {
    /// A registry without members.
    pub(crate) fn new() -> Self {
        Self {
            parts: std::array::from_fn(|_| ShortLock::new(Slots::new())),
            members: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            empty: Event::new(),
        }
    }

    /// Enters a member. The caller closes it if all are [being stopped](Self::is_stopping).
    pub(crate) fn enter(&self, member: Arc<dyn Member>) -> MemberId {
        self.members.fetch_add(1, Ordering::SeqCst);
        let index = fibre_core::processor().unwrap_or(0) % PARTS;
        let mut room = Room::none();
        loop {
            let mut part = self.parts[index].lock();
            if let Some(places) = part.lacks_room(&mut room) {
                drop(part);
                room.make(places);
                continue;
            }
            let slot = part.put(member);
            drop(part);
            return MemberId(slot << PART_BITS | index as u32);
        }
    }

    /// Lets a member go that has ended.
    pub(crate) fn leave(&self, MemberId(member_id): MemberId) {
        let part = &self.parts[member_id as usize % PARTS];
        let member = part.lock().take(member_id >> PART_BITS);
        drop(member);
        let last = self.members.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && self.is_stopping() {
            self.empty.set();
        }
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.members.load(Ordering::SeqCst)
    }

    /// Whether all members are being stopped.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Says that all members are being stopped.
    pub(crate) fn begin_to_stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Shows each member to `look`, without a lock.
    pub(crate) fn for_each(&self, mut look: impl FnMut(&dyn Member)) {
        let mut members = Vec::with_capacity(STRIDE);
        for part in &self.parts {
            let mut next = 0;
            while copy(&part.lock(), &mut next, &mut members) {
                members.drain(..).for_each(|member| look(&*member));
            }
        }
    }

    /// Waits until no member is left, until `deadline` at most; says whether it is so. Blocks the
    /// fibre, or the thread.
    pub(crate) fn wait_until_empty(&self, deadline: Option<Instant>) -> bool {
        while self.len() > 0 {
            let limit = deadline.map_or(Limit::None, Limit::Deadline);
            if self.empty.wait_within(limit).is_err() {
                return self.len() == 0;
            }
            self.empty.reset();
            if self.len() == 0 {
                // Others wait, too, or are about to.
                self.empty.set();
            }
        }
        true
    }
}

/// Adds handles of some members, from slot `next` on. `false`: there are no more slots.
fn copy(
    part: &Slots<Arc<dyn Member>>,
    next: &mut usize,
    members: &mut Vec<Arc<dyn Member>>,
) -> bool {
    let stretch = part.stretch(*next, STRIDE);
    let seen = stretch.len();
    members.extend(stretch.flatten().cloned());
    *next += seen;
    seen > 0
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("members", &self.len())
            .field("stopping", &self.is_stopping())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// A member that counts how often it is closed.
    struct Closed(u64, Arc<AtomicUsize>);

    impl Member for Closed {
        fn close(&self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }

        fn kill(&self) {}

        fn abandon(&self) {}

        fn id(&self) -> u64 {
            self.0
        }

        fn name(&self) -> Option<String> {
            None
        }
    }

    #[test]
    fn all_are_shown_that_have_not_left() {
        let (registry, closed) = (Registry::new(), Arc::new(AtomicUsize::new(0)));
        let enter = |id| registry.enter(Arc::new(Closed(id, Arc::clone(&closed))));
        let member_ids: Vec<_> = (0..1000).map(enter).collect();
        assert_eq!(registry.len(), 1000);
        for member_id in member_ids.into_iter().skip(1).step_by(2) {
            registry.leave(member_id);
        }
        (1000..1100).for_each(|id| _ = enter(id));
        assert_eq!(registry.len(), 600);
        let mut ids = Vec::new();
        registry.for_each(|member| {
            member.close();
            ids.push(member.id());
        });
        ids.sort_unstable();
        assert!(ids.into_iter().eq((0..1000).step_by(2).chain(1000..1100)));
        assert_eq!(closed.load(Ordering::SeqCst), 600);
    }

    #[test]
    fn the_last_one_that_leaves_ends_the_wait() {
        for _ in 0..100 {
            let registry = Registry::new();
            assert!(registry.wait_until_empty(None));
            let count = Arc::new(AtomicUsize::new(0));
            let member_ids =
                [0, 1].map(|id| registry.enter(Arc::new(Closed(id, Arc::clone(&count)))));
            assert!(!registry.wait_until_empty(Some(Instant::now())));
            thread::scope(|scope| {
                for member_id in member_ids {
                    let registry = &registry;
                    scope.spawn(move || registry.leave(member_id));
                }
                registry.begin_to_stop();
                assert!(registry.wait_until_empty(None));
            });
        }
    }
}
