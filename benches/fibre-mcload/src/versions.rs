//! Which version of a key a server may answer with.
//!
//! The owner of a key numbers the values that it stores, from 1. *Issued* is the last one it has
//! sent, *confirmed* the last one that the server has said to be stored. The asker notes
//! the confirmed one before: an older answer is stale, for nobody else changes the key, and a
//! connection's requests are done in order. An answer above the issued one has never been sent.
//! Both are one word, so that an answer costs one look.
//!
//! When a connection breaks, what was under way on it may be stored, now or later, even after what
//! the next connection stores. From then on nothing about the age of such a key is certain: it is
//! in *doubt*.
//!
//! Memory ordering: only the owner writes a word. It issues (release) before it sends, and others
//! look (acquire) after what they received, or before they ask.

use std::sync::atomic::{AtomicU64, Ordering};

/// What stands for the confirmed version of a key in doubt.
const DOUBT: u32 = u32::MAX;

/// Issued and confirmed version of every key.
#[derive(Debug)]
pub struct Versions(Box<[AtomicU64]>);

/// The two numbers of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    /// The last one sent.
    issued: u32,
    /// The last one known to be stored.
    confirmed: u32,
}

impl Word {
    /// Out of the atomic word.
    const fn unpack(word: u64) -> Self {
        Self {
            issued: (word >> 32) as u32,
            confirmed: word as u32,
        }
    }

    /// Packs both numbers into the atomic word.
    const fn pack(self) -> u64 {
        (self.issued as u64) << 32 | self.confirmed as u64
    }
}

impl Versions {
    /// No key has a value.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    /// Reads the word of a key.
    fn read(&self, key: u32) -> Word {
        Word::unpack(self.0[key as usize].load(Ordering::Acquire))
    }

    /// Writes the word of a key, which only its owner does.
    fn write(&self, key: u32, word: Word) {
        self.0[key as usize].store(word.pack(), Ordering::Release);
    }

    /// The owner is going to send the next version: which one is it?
    pub fn issue(&self, key: u32) -> u32 {
        let mut word = self.read(key);
        word.issued += 1;
        self.write(key, word);
        word.issued
    }

    /// The owner has heard that a version is stored.
    pub fn confirm(&self, key: u32, version: u32) {
        let word = self.read(key);
        if word.confirmed != DOUBT {
            self.write(
                key,
                Word {
                    confirmed: version,
                    ..word
                },
            );
        }
    }

    /// The owner has lost the connection with a version under way. Says whether the key was certain
    /// until now.
    pub fn doubt(&self, key: u32) -> bool {
        let word = self.read(key);
        self.write(
            key,
            Word {
                confirmed: DOUBT,
                ..word
            },
        );
        word.confirmed != DOUBT
    }

    /// The oldest version that an answer to a request that is sent now may have; 0 if it may have
    /// none.
    #[must_use]
    pub fn oldest(&self, key: u32) -> u32 {
        match self.read(key).confirmed {
            DOUBT => 0,
            confirmed => confirmed,
        }
    }

    /// The newest version that an answer which came now may have.
    #[must_use]
    pub fn newest(&self, key: u32) -> u32 {
        self.read(key).issued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_confirmed_bounds_the_age() {
        let versions = Versions::new(2);
        assert_eq!((versions.oldest(1), versions.newest(1)), (0, 0));
        assert_eq!((versions.issue(1), versions.issue(1)), (1, 2));
        versions.confirm(1, 1);
        assert_eq!((versions.oldest(1), versions.newest(1)), (1, 2));
        assert_eq!(versions.newest(0), 0);
    }

    #[test]
    fn nothing_is_certain_of_a_key_in_doubt() {
        let versions = Versions::new(1);
        versions.issue(0);
        versions.confirm(0, 1);
        versions.issue(0);
        assert!(versions.doubt(0) && !versions.doubt(0));
        assert_eq!(versions.issue(0), 3);
        versions.confirm(0, 3);
        assert_eq!((versions.oldest(0), versions.newest(0)), (0, 3));
    }
}
