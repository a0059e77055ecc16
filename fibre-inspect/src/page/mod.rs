//! The page that `fibre-top` reads: memory of the process that others may map, and read only.
//!
//! ```text
//!   byte  0  magic      "fibretop"
//!         8  version    of all that follows
//!        12  notifier   the process's thread sleeps on it; each SIGQUIT adds one
//!        16  sequence   odd while the text is being written, zero before the first one
//!        24  process    the number of the process that writes; a forked child is another one
//!        32  length     of the text, in bytes
//!        64  text       one JSON object
//! ```
//!
//! The process writes. It knows only whether it has a reader: each reader has a lock on the file
//! for reading. A reader that wants a fresh text wakes the thread. For that, the kernel only
//! requires that it can read the notifier.
//!
//! Files: `writer` makes the page, and its thread sleeps on the notifier; `snapshot` makes the
//! text.
//!
//! # Memory ordering
//!
//! A sequence lock. The writer makes the sequence odd, and a release fence puts that before all
//! words of the text; the even number, which it stores last, releases them. A reader acquires the
//! sequence, reads, and by an acquire fence looks at it again after that: if it has seen any word
//! of a later text, it sees a later sequence, too, and throws away what it has read.

#[cfg(not(loom))]
pub(crate) mod snapshot;
#[cfg(not(loom))]
pub(crate) mod writer;

use fibre_core::sync::planted;
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A fault that models plant: the sequence stays even while the text is written.
pub const STAYS_EVEN: &str = "page::STAYS_EVEN";

/// The first bytes of a page.
pub const MAGIC: u64 = u64::from_le_bytes(*b"fibretop");

/// The version of this layout, and of the text.
pub const VERSION: u32 = 1;

/// The name of the file, which lies in no folder.
pub const NAME: &str = "fibre-top";

/// The bytes of a page.
pub const SIZE: usize = 128 << 10;

/// Where its parts are.
pub mod place {
    /// The place of the magic number.
    pub const MAGIC: usize = 0;
    /// The place of the version.
    pub const VERSION: usize = 8;
    /// The place of the word that the process's thread sleeps on.
    pub const NOTIFIER: usize = 12;
    /// The place of the sequence.
    pub const SEQUENCE: usize = 16;
    /// The place of the process's number.
    pub const PROCESS: usize = 24;
    /// The place of the text's length.
    pub const LENGTH: usize = 32;
    /// The place of the text.
    pub const TEXT: usize = 64;
}

/// The most bytes of a text.
pub const MAX_TEXT: usize = SIZE - place::TEXT;

/// The text of a page, and what says whether it is whole.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// Odd while the text is being written.
    pub sequence: &'a AtomicU64,
    /// The text's length in bytes.
    pub length: &'a AtomicU64,
    /// The text, eight bytes in each word.
    pub words: &'a [AtomicU64],
}

impl Text<'_> {
    /// Writes a text; one that is too long is not written. Called by one thread only.
    pub fn write(&self, text: &[u8]) {
        if text.len() > 8 * self.words.len() {
            return;
        }
        let before = self.sequence.load(Ordering::Relaxed);
        if !planted(STAYS_EVEN) {
            self.sequence.store(before + 1, Ordering::Relaxed);
        }
        fence(Ordering::Release);
        for (word, bytes) in self.words.iter().zip(text.chunks(8)) {
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
        }
        self.length.store(text.len() as u64, Ordering::Relaxed);
        self.sequence.store(before + 2, Ordering::Release);
    }

    /// The text with its sequence, if it is whole. `None`: there is none yet, or it was written
    /// meanwhile.
    #[must_use]
    pub fn read(&self) -> Option<(u64, Vec<u8>)> {
        let sequence = self.sequence.load(Ordering::Acquire);
        if sequence == 0 || sequence % 2 == 1 {
            return None;
        }
        // Whoever writes to the page need not be a friend.
        let length = usize::try_from(self.length.load(Ordering::Relaxed)).ok()?;
        let words = self.words.get(..length.div_ceil(8))?;
        let mut text = Vec::with_capacity(8 * words.len());
        for word in words {
            text.extend(word.load(Ordering::Relaxed).to_le_bytes());
        }
        text.truncate(length);
        fence(Ordering::Acquire);
        (self.sequence.load(Ordering::Relaxed) == sequence).then_some((sequence, text))
    }
}
