//! The known facts about a descriptor that is used by its number, without an object of this
//! runtime.
//!
//! All flags are hints that save system calls. If a wrong hint would matter, the caller checks
//! again; so loads and stores are relaxed. The flags come and go with the number's owner, and the
//! change of owner orders them.

use std::ops::BitOr;
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of flags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known(u8);

impl Known {
    /// No flag: an object of this runtime has the descriptor, or it has no owner.
    pub const NOTHING: Self = Self(0);
    /// The descriptor is used by its number.
    pub const RAW: Self = Self(1);
    /// Foreign code has made the descriptor and may close it unseen: only the kernel knows whether
    /// it is still registered.
    pub const FOUND: Self = Self(2);
    /// The descriptor is a socket.
    pub const SOCKET: Self = Self(4);
    /// The descriptor is a file, a directory or a disk, which cannot be waited for.
    pub const FILE: Self = Self(8);
    /// The descriptor is a stream, and a short read proves that nothing is left.
    pub const DRAINS: Self = Self(16);
    /// The runtime has made the descriptor non-blocking, and hides that from the program.
    pub const HIDDEN: Self = Self(32);
    /// The descriptor has been duplicated: other numbers share its open file.
    pub const SHARED: Self = Self(64);
    /// The descriptor may have time-outs of its own (`SO_RCVTIMEO`).
    pub const TIMED: Self = Self(128);

    /// Whether all flags of `others` are set.
    #[inline]
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The flags in both sets.
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

/// The flags of one number.
#[derive(Debug, Default)]
pub struct KnownWord(AtomicU8);

impl KnownWord {
    /// The flags now.
    #[inline]
    pub fn get(&self) -> Known {
        Known(self.0.load(Ordering::Relaxed))
    }

    /// Replaces all flags with these.
    pub fn set(&self, known: Known) {
        self.0.store(known.0, Ordering::Relaxed);
    }

    /// Sets these flags, too.
    pub fn add(&self, known: Known) {
        self.0.fetch_or(known.0, Ordering::Relaxed);
    }

    /// Clears these flags.
    pub fn remove(&self, known: Known) {
        self.0.fetch_and(!known.0, Ordering::Relaxed);
    }
}
