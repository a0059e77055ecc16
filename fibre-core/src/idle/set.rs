//! Which processors of a cluster have nothing to run.
//!
//! A set of bits, one per processor. A processor enters before its last look at the queues and
//! leaves when it goes back to work. A producer that has work for any processor takes one out by
//! [`IdleSet::claim`], so that two pieces of work do not wake the same one.
//!
//! The set decides *where* work goes. A sleeping processor notices work in its own queue without
//! it: see [`crate::queue::BasicQueue::arm`].
//!
//! # Memory ordering
//!
//! Entering is a sequentially consistent read-modify-write followed by a look at
//! the others' queues; a producer pushes (also a sequentially consistent
//! read-modify-write) and then looks at the set. One of the two sees the other.

use crate::sync::{AtomicU64, Ordering, load_ordered, planted};

/// The set.
#[derive(Debug)]
pub struct IdleSet {
    /// 64 processors a word.
    words: Box<[AtomicU64]>,
}

impl IdleSet {
    /// An empty set for processors `0..processors`.
    #[must_use]
    pub fn new(processors: usize) -> Self {
        Self {
            words: (0..processors.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
        }
    }

    /// The word and the bit of a processor.
    fn place(&self, processor: usize) -> (&AtomicU64, u64) {
        (&self.words[processor / 64], 1 << (processor % 64))
    }

    /// Adds a processor that is about to look at the queues for the last time.
    pub fn enter(&self, processor: usize) {
        let (word, bit) = self.place(processor);
        word.fetch_or(bit, Ordering::SeqCst);
    }

    /// Takes out a processor that goes back to work.
    pub fn leave(&self, processor: usize) {
        let (word, bit) = self.place(processor);
        // Most of the time a producer has claimed it already.
        if word.load(Ordering::Relaxed) & bit != 0 {
            word.fetch_and(!bit, Ordering::AcqRel);
        }
    }

    /// Whether a processor is in the set at this moment.
    #[must_use]
    pub fn contains(&self, processor: usize) -> bool {
        let (word, bit) = self.place(processor);
        load_ordered(word) & bit != 0
    }

    /// Takes an idle processor out and returns it: the first one from `start` on, in a ring, so
    /// that callers that go round do not always meet the same.
    #[inline]
    pub fn claim(&self, start: usize) -> Option<usize> {
        self.claim_if(start, |_| true)
    }

    /// [`claim`](Self::claim) of a processor that is `wanted`.
    pub fn claim_if(&self, start: usize, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let (first, below) = (start / 64, (1 << (start % 64)) - 1);
        let claim = |index: usize, mask| {
            let wanted = |bit| wanted(index * 64 + bit);
            Self::claim_in(&self.words[index], mask, wanted).map(|bit| index * 64 + bit)
        };
        claim(first, !below)
            .or_else(|| (first + 1..self.words.len()).find_map(|index| claim(index, !0)))
            .or_else(|| (0..first).find_map(|index| claim(index, !0)))
            .or_else(|| claim(first, below))
    }

    /// Takes the lowest bit of a word that is in `mask` and is `wanted`.
    fn claim_in(word: &AtomicU64, mut mask: u64, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        loop {
            let bits = load_ordered(word) & mask;
            if bits == 0 {
                return None;
            }
            let lowest = bits & bits.wrapping_neg();
            let bit = lowest.trailing_zeros() as usize;
            if !wanted(bit) {
                mask &= !lowest;
                continue;
            }
            let was_there = word.fetch_and(!lowest, Ordering::AcqRel) & lowest != 0;
            if was_there || planted("idle set: a member is claimed after it has gone") {
                return Some(bit);
            }
        }
    }

    /// Whether the set has a member at this moment.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.words.iter().any(|word| load_ordered(word) != 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn claims_each_member_once() {
        let set = IdleSet::new(130);
        assert_eq!(set.claim(0), None);
        for member in [3, 64, 129] {
            set.enter(member);
        }
        assert_eq!(
            [set.claim(64), set.claim(65), set.claim(4), set.claim(4)],
            [Some(64), Some(129), Some(3), None]
        );
        set.enter(7);
        assert!(set.is_any() && set.contains(7) && !set.contains(71));
        assert_eq!(set.claim_if(0, |member| member > 7), None);
        set.leave(7);
        assert!(!set.is_any());
        assert_eq!(set.claim(7), None);
    }

    /// From any start each member is found, once, and the first one behind it.
    #[test]
    fn the_ring_is_closed() {
        for start in [0, 1, 63, 64, 100, 127, 128, 191] {
            for member in [0, 1, 62, 63, 64, 127, 128, 190, 191] {
                let set = IdleSet::new(192);
                set.enter(member);
                let asked = std::cell::Cell::new(None);
                let ask = |wanted| {
                    asked.set(Some(wanted));
                    true
                };
                assert_eq!(set.claim_if(start, ask), Some(member), "from {start}");
                assert_eq!(asked.get(), Some(member));
                assert_eq!(set.claim(start), None);
            }
        }
        let set = IdleSet::new(192);
        (0..192).for_each(|member| set.enter(member));
        let claimed: Vec<_> = std::iter::from_fn(|| set.claim(70)).collect();
        let ring: Vec<_> = (70..128)
            .chain(128..192)
            .chain(0..64)
            .chain(64..70)
            .collect();
        assert_eq!(claimed, ring);
    }
}
