//! What is known of a descriptor that is used by its number, without an object of this runtime.
//!
//! All are hints that spare system calls, and are looked at again where being wrong would matter; so loads
//! and stores are relaxed. They come and go with the number's owner, whose change orders them.

use std::ops::BitOr;
use std::sync::atomic::{AtomicU8, Ordering};

/// Some of what can be known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known(u8);

impl Known {
    /// Nothing: an object has the descriptor, or nobody.
    pub const NOTHING: Self = Self(0);
    /// It is used by its number.
    pub const RAW: Self = Self(1);
    /// Somebody else has made it, and may close it unseen: whether it is still registered has to be asked.
    pub const FOUND: Self = Self(2);
    /// It is a socket.
    pub const SOCKET: Self = Self(4);
    /// It is a file, a directory or a disk, which cannot be waited for.
    pub const FILE: Self = Self(8);
    /// It is a stream whose short read says that nothing is left.
    pub const DRAINS: Self = Self(16);
    /// It has been made non-blocking, and its program is not to see that.
    pub const HIDDEN: Self = Self(32);
    /// It has been duplicated: what concerns its open file concerns other numbers, too.
    pub const SHARED: Self = Self(64);
    /// It may have time-outs of its own (`SO_RCVTIMEO`).
    pub const TIMED: Self = Self(128);

    /// Whether all of `others` is known.
    #[inline]
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// What is known here and there.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }
}

impl BitOr for Known {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// See the module text.
#[derive(Debug, Default)]
pub struct KnownWord(AtomicU8);

impl KnownWord {
    /// What is known now.
    #[inline]
    pub fn get(&self) -> Known {
        Known(self.0.load(Ordering::Relaxed))
    }

    /// Forgets what was known, and notes this.
    pub fn set(&self, known: Known) {
        self.0.store(known.0, Ordering::Relaxed);
    }

    /// Notes this, too.
    pub fn add(&self, known: Known) {
        self.0.fetch_or(known.0, Ordering::Relaxed);
    }

    /// Notes that this is so no more.
    pub fn remove(&self, known: Known) {
        self.0.fetch_and(!known.0, Ordering::Relaxed);
    }
}
