//! Which processors look for something to steal, or would if somebody called them.
//!
//! A thief enters, then looks at all queues under their locks, then sleeps. Whoever puts something
//! into a queue does so under its lock, and looks at this set afterwards. The lock orders the two:
//! either the thief's look comes after the put, and it finds the event, or before it, and then the
//! set that the poster reads has the thief. So all accesses to the set itself may be relaxed.

use fibre_core::sync::{AtomicU64, Ordering};

/// The processors that would steal if somebody called them.
#[derive(Debug)]
pub(crate) struct Idlers {
    /// 64 processors a word.
    words: Box<[AtomicU64]>,
}

impl Idlers {
    /// An empty set for so many processors.
    pub(crate) fn new(processors: usize) -> Self {
        let words = (0..processors.div_ceil(64)).map(|_| AtomicU64::new(0));
        Self {
            words: words.collect(),
        }
    }

    /// Enters a processor.
    pub(crate) fn enter(&self, processor: usize) {
        let bit = 1 << (processor % 64);
        self.words[processor / 64].fetch_or(bit, Ordering::Relaxed);
    }

    /// Takes a processor out.
    pub(crate) fn leave(&self, processor: usize) {
        let bit: u64 = 1 << (processor % 64);
        self.words[processor / 64].fetch_and(!bit, Ordering::Relaxed);
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.words
            .iter()
            .all(|word| word.load(Ordering::Relaxed) == 0)
    }

    /// Takes one out that is not `except`, so that no other caller finds it.
    pub(crate) fn claim(&self, except: Option<usize>) -> Option<usize> {
        for (index, word) in self.words.iter().enumerate() {
            let mut seen = word.load(Ordering::Relaxed);
            loop {
                let but = except.filter(|one| one / 64 == index);
                let others = but.map_or(seen, |one| seen & !(1 << (one % 64)));
                if others == 0 {
                    break;
                }
                let bit = others & others.wrapping_neg();
                let before = word.fetch_and(!bit, Ordering::Relaxed);
                if before & bit != 0 {
                    return Some(index * 64 + bit.trailing_zeros() as usize);
                }
                seen = before & !bit;
            }
        }
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_is_claimed_once() {
        let idlers = Idlers::new(130);
        for processor in [3, 64, 129] {
            idlers.enter(processor);
        }
        assert_eq!(idlers.claim(Some(3)), Some(64));
        assert_eq!(idlers.claim(None), Some(3));
        idlers.leave(129);
        assert_eq!(idlers.claim(None), None);
        assert!(idlers.is_empty());
    }
}
