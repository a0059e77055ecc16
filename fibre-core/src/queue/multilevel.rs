//! A queue by priority: one basic queue for each level, for many producers and consumers.
//!
//! Most programs use one level only. Then it costs one check of a flag more than the basic queue of
//! that level. The queues of the other levels are made at their first use.
//!
//! # Memory ordering
//!
//! `leveled` goes up once, sequentially consistently, before the first push into another level, and
//! all looks at it are in the same order. So a thread that announces itself and then finds the
//! queue empty is seen by every producer that pushes later, as with a basic queue. The thread that
//! raises the flag wakes a consumer that has armed only the queues it knew of.

use super::basic::BasicQueue;
use super::kind::QueueKind;
use super::link::Level;
use super::runnable::Runnable;
use super::{Popped, Pushed};
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use std::sync::OnceLock;

/// The queue. See the module text.
#[derive(Debug)]
pub struct MultilevelQueue {
    /// The nodes of normal priority, or of the background, whose queue has no other level.
    normal: BasicQueue,
    /// Whether `others` are in use. It never goes down.
    leveled: AtomicBool,
    /// Nodes of high and of low priority.
    others: OnceLock<Box<[BasicQueue; 2]>>,
    /// Pops while leveled.
    turn: AtomicU32,
    /// The kind of the basic queues.
    kind: QueueKind,
}

impl MultilevelQueue {
    /// An empty queue made of queues of this kind.
    #[must_use]
    pub fn new(kind: QueueKind) -> Self {
        Self {
            normal: BasicQueue::new(kind),
            leveled: AtomicBool::new(false),
            others: OnceLock::new(),
            turn: AtomicU32::new(0),
            kind,
        }
    }

    /// Whether more than the normal level is in use.
    #[inline]
    fn is_leveled(&self) -> bool {
        self.leveled.load(Ordering::SeqCst)
    }

    /// The queues of the other levels, if they are in use.
    fn others(&self) -> &[BasicQueue] {
        match self.others.get() {
            Some(others) if self.is_leveled() => &others[..],
            _ => &[],
        }
    }

    /// Whether it holds no node of normal priority.
    #[inline]
    pub fn has_no_normal(&self) -> bool {
        self.normal.is_empty()
    }

    /// Whether it holds no node, not even a push in flight.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.normal.is_empty()
            && (!self.is_leveled() || self.others().iter().all(BasicQueue::is_empty))
    }

    /// Appends a fibre to the queue of its level. Any thread.
    #[inline]
    pub fn push(&self, runnable: Runnable) -> Pushed {
        match runnable.link().level() {
            Level::Normal | Level::Background => self.normal.push(runnable),
            Level::High => self.push_other(0, runnable, BasicQueue::push),
            Level::Low => self.push_other(1, runnable, BasicQueue::push),
        }
    }

    /// Puts a fibre before the others of its level, if the kind has two ends; else appends it. Any
    /// thread.
    pub fn push_first(&self, runnable: Runnable) -> Pushed {
        match runnable.link().level() {
            Level::Normal | Level::Background => self.normal.push_first(runnable),
            Level::High => self.push_other(0, runnable, BasicQueue::push_first),
            Level::Low => self.push_other(1, runnable, BasicQueue::push_first),
        }
    }

    /// Queues a fibre in one of the other queues.
    #[inline(never)]
    fn push_other(
        &self,
        index: usize,
        runnable: Runnable,
        push: fn(&BasicQueue, Runnable) -> Pushed,
    ) -> Pushed {
        let make = || Box::new([BasicQueue::new(self.kind), BasicQueue::new(self.kind)]);
        let queue = &self.others.get_or_init(make)[index];
        let first = !self.is_leveled() && !self.leveled.swap(true, Ordering::SeqCst);
        match push(queue, runnable) {
            Pushed::Quiet if !first => Pushed::Quiet,
            _ => Pushed::WakeConsumer,
        }
    }

    /// Takes a node out, the oldest one of the level whose turn it is; any thread.
    #[inline]
    pub fn pop(&self) -> Popped {
        if self.is_leveled() {
            self.pop_in_turn(BasicQueue::pop)
        } else {
            self.normal.pop()
        }
    }

    /// [`pop`](Self::pop) for a thief: where the kind has two ends, it takes at the tail.
    pub fn steal(&self) -> Popped {
        if self.is_leveled() {
            self.pop_in_turn(BasicQueue::steal)
        } else {
            self.normal.steal()
        }
    }

    /// The part of [`pop`](Self::pop) and [`steal`](Self::steal) for several levels.
    #[inline(never)]
    fn pop_in_turn(&self, take: fn(&BasicQueue) -> Popped) -> Popped {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut nothing = Popped::Empty;
        for level in Level::in_turn(turn) {
            match self.of_level(level).map_or(Popped::Empty, take) {
                Popped::Node(node) => return Popped::Node(node),
                Popped::InFlight => nothing = Popped::InFlight,
                Popped::Empty => {}
            }
        }
        nothing
    }

    /// The queue of a level, if it is in use.
    fn of_level(&self, level: Level) -> Option<&BasicQueue> {
        match level {
            Level::Normal | Level::Background => Some(&self.normal),
            Level::High => self.others().first(),
            Level::Low => self.others().get(1),
        }
    }

    /// Takes the oldest node of one level out, for the owner: cheaper as long as no other thread
    /// takes any.
    ///
    /// # Safety
    ///
    /// One owner: calls follow each other.
    #[inline]
    pub unsafe fn pop_own(&self, level: Level) -> Popped {
        // SAFETY: one owner, as the caller promises.
        let pop = |queue: &BasicQueue| unsafe { queue.pop_own() };
        self.of_level(level).map_or(Popped::Empty, pop)
    }

    /// How many nodes it has, without pushes in flight, or about `most` if there are more. `None`:
    /// that cannot be told at this moment. Any thread, which counts as a thief.
    pub fn count(&self, most: usize) -> Option<usize> {
        self.count_by(|queue| queue.count(most))
    }

    /// [`count`](Self::count) for the owner.
    ///
    /// # Safety
    ///
    /// As for [`pop_own`](Self::pop_own).
    pub unsafe fn count_own(&self, most: usize) -> Option<usize> {
        // SAFETY: one owner, as the caller promises.
        self.count_by(|queue| unsafe { queue.count_own(most) })
    }

    /// Adds up what is counted in the queues of all levels.
    fn count_by(&self, count: impl Fn(&BasicQueue) -> Option<usize>) -> Option<usize> {
        let all = std::iter::once(&self.normal).chain(self.others());
        all.map(count).sum()
    }

    /// Whether the owner sleeps here at this moment; a hint.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.normal.is_armed()
    }

    /// Says that the owner is about to sleep: the next push is told to wake it. `false`: it
    /// is not empty. The owner only.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.normal.arm() && self.others().iter().all(BasicQueue::arm)
    }

    /// Ends what [`arm`](Self::arm) began, whatever it returned. The owner only.
    pub fn disarm(&self) {
        self.normal.disarm();
        self.others().iter().for_each(BasicQueue::disarm);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::queue::Link;
    use std::ptr::NonNull;

    /// A link of this priority.
    fn link(level: Level) -> Link {
        Link::with(level, false)
    }

    /// Pushes a link that outlives the queue.
    fn push(queue: &MultilevelQueue, link: &Link) -> Pushed {
        // SAFETY: the tests push each link once, and keep it.
        queue.push(unsafe { Runnable::new(NonNull::from(link)) })
    }

    /// Takes a node out.
    fn pop(queue: &MultilevelQueue) -> Popped<NonNull<Link>> {
        queue.pop().map(|runnable| runnable.node())
    }

    #[test]
    fn higher_levels_come_first() {
        let links = [Level::Low, Level::Normal, Level::High, Level::High].map(link);
        let queue = MultilevelQueue::new(QueueKind::default());
        // The first turn of 64 is that of the lowest.
        let first = link(Level::Low);
        let _ = push(&queue, &first);
        assert_eq!(pop(&queue), Popped::Node(NonNull::from(&first)));
        for link in &links {
            let _ = push(&queue, link);
        }
        for expected in [2, 3, 1, 0] {
            assert_eq!(pop(&queue), Popped::Node(NonNull::from(&links[expected])));
        }
        assert_eq!(pop(&queue), Popped::Empty);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_sleeper_is_told_of_the_first_use_of_a_level() {
        for level in [Level::High, Level::Normal, Level::Low] {
            let queue = MultilevelQueue::new(QueueKind::default());
            let [first, second] = [level, level].map(link);
            assert!(queue.arm());
            assert_eq!(push(&queue, &first), Pushed::WakeConsumer, "{level:?}");
            assert!(!queue.is_empty());
            queue.disarm();
            assert!(!queue.arm(), "{level:?}");
            queue.disarm();
            let _ = queue.pop();
            assert!(queue.arm());
            assert_eq!(push(&queue, &second), Pushed::WakeConsumer, "{level:?}");
        }
    }

    /// The kinds of queue.
    const KINDS: &[QueueKind] = &QueueKind::ALL;

    /// A consumer that is awake again need not be woken, whatever levels have been in use.
    #[test]
    fn who_has_disarmed_is_not_woken() {
        for (kind, level) in KINDS
            .iter()
            .flat_map(|kind| [Level::High, Level::Normal, Level::Low].map(|level| (*kind, level)))
        {
            let queue = MultilevelQueue::new(kind);
            let [first, second] = [level, level].map(link);
            let _ = push(&queue, &first);
            assert_eq!(pop(&queue), Popped::Node(NonNull::from(&first)));
            assert!(queue.arm() && queue.is_armed(), "{kind:?} {level:?}");
            queue.disarm();
            assert!(!queue.is_armed());
            assert_eq!(push(&queue, &second), Pushed::Quiet, "{kind:?} {level:?}");
        }
    }

    /// A node may come back while it still names the node that came behind it the last time.
    #[test]
    fn nodes_come_back() {
        for &kind in KINDS {
            let queue = MultilevelQueue::new(kind);
            let links = [(); 3].map(|()| link(Level::Normal));
            for round in 0..4 {
                let order: Vec<_> = (0..3).map(|place| &links[(place + round) % 3]).collect();
                for link in &order {
                    let _ = push(&queue, link);
                }
                for link in order {
                    assert_eq!(pop(&queue), Popped::Node(NonNull::from(link)), "{kind:?}");
                }
                assert_eq!(pop(&queue), Popped::Empty, "{kind:?}");
            }
        }
    }

    /// Each level has two ends, if the kind has; else both are one.
    #[test]
    fn levels_have_the_ends_of_their_kind() {
        for (&kind, level) in KINDS
            .iter()
            .flat_map(|kind| [Level::High, Level::Normal, Level::Low].map(|level| (kind, level)))
        {
            let queue = MultilevelQueue::new(kind);
            let links = [(); 3].map(|()| link(level));
            let node = |place: usize| Popped::Node(NonNull::from(&links[place]));
            for (place, link) in links.iter().enumerate() {
                // SAFETY: each link is pushed once, and kept.
                let runnable = unsafe { Runnable::new(NonNull::from(link)) };
                let _ = match place {
                    2 => queue.push_first(runnable),
                    _ => queue.push(runnable),
                };
            }
            let stolen = queue.steal().map(|runnable| runnable.node());
            let order = [stolen, pop(&queue), pop(&queue)];
            let expected = if kind == QueueKind::TwoEnded {
                [1, 2, 0]
            } else {
                [0, 1, 2]
            };
            assert_eq!(order, expected.map(node), "{kind:?} {level:?}");
        }
    }

    /// Nodes of all levels are counted, by the owner and by thieves; where the kind does not tell,
    /// only that there are none.
    #[test]
    fn nodes_are_counted() {
        for &kind in KINDS {
            let queue = MultilevelQueue::new(kind);
            // SAFETY: this thread is the owner.
            let counts = || [queue.count(9), unsafe { queue.count_own(9) }];
            assert_eq!(counts(), [Some(0); 2], "{kind:?}");
            let links = [Level::Low, Level::Normal, Level::Normal, Level::High].map(link);
            for link in &links {
                let _ = push(&queue, link);
            }
            let told = (kind == QueueKind::Nemesis).then_some(4);
            assert_eq!(counts(), [told; 2], "{kind:?}");
            while pop(&queue) != Popped::Empty {}
            assert_eq!(counts(), [Some(0); 2], "{kind:?}");
        }
    }

    #[test]
    fn the_lowest_has_its_turn() {
        let high: Vec<Link> = (0..200).map(|_| link(Level::High)).collect();
        let low = link(Level::Low);
        let queue = MultilevelQueue::new(QueueKind::default());
        let _ = push(&queue, &low);
        for link in &high {
            let _ = push(&queue, link);
        }
        let low = Popped::Node(NonNull::from(&low));
        let place = (0..201).position(|_| pop(&queue) == low);
        assert!(place.is_some_and(|place| place < 64), "{place:?}");
    }
}
