//! The conditions that a caller can ask about a descriptor.

use rustix::event::PollFlags;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of conditions of a descriptor, as in `poll`.
///
/// ```
/// use fibre::io::Readiness;
///
/// let asked = Readiness::READ | Readiness::WRITE;
/// assert!(asked.contains(Readiness::WRITE) && !asked.contains(Readiness::ERROR));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Readiness(u16);

/// Flags as a word, which `rustix` has with a sign or without, by its features.
pub(crate) const fn word(flags: PollFlags) -> u16 {
    flags.bits() as _
}

impl Readiness {
    /// No condition.
    pub const NONE: Self = Self(0);
    /// A read does not block: there is data, or the end, or a connection to accept (`POLLIN`).
    pub const READ: Self = Self(word(PollFlags::IN));
    /// A write does not block (`POLLOUT`).
    pub const WRITE: Self = Self(word(PollFlags::OUT));
    /// Urgent data, or whatever else the kind of descriptor calls exceptional (`POLLPRI`).
    pub const PRIORITY: Self = Self(word(PollFlags::PRI));
    /// The peer of a stream will send no more (`POLLRDHUP`).
    pub const READ_CLOSED: Self = Self(word(PollFlags::RDHUP));
    /// The other end is gone (`POLLHUP`). Reported unasked.
    pub const HANGUP: Self = Self(word(PollFlags::HUP));
    /// An error (`POLLERR`). Reported unasked.
    pub const ERROR: Self = Self(word(PollFlags::ERR));
    /// No such descriptor, or one that its owner in this runtime has closed (`POLLNVAL`). Reported
    /// unasked.
    pub const INVALID: Self = Self(word(PollFlags::NVAL));

    /// The conditions that are reported unasked.
    const UNASKED: Self = Self(Self::HANGUP.0 | Self::ERROR.0 | Self::INVALID.0);
    /// Other names of `READ`, and data of other priorities, that readers may ask for by their bits.
    const READ_TOO: Self = Self(word(PollFlags::RDNORM) | word(PollFlags::RDBAND));
    /// Other names of `WRITE`, and other priorities, that writers may ask for by their bits.
    const WRITE_TOO: Self = Self(word(PollFlags::WRNORM) | word(PollFlags::WRBAND));

    /// The set with these flags of `poll`, `POLLIN` and so on, also those that have no constants
    /// here (`POLLRDNORM`, `POLLRDBAND`, `POLLWRNORM`, `POLLWRBAND`); others are left out.
    ///
    /// ```
    /// use fibre::io::Readiness;
    ///
    /// assert_eq!(Readiness::from_bits(1), Readiness::READ);
    /// ```
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        let asked = Self::READ.0 | Self::WRITE.0 | Self::PRIORITY.0 | Self::READ_CLOSED.0;
        let also = Self::READ_TOO.0 | Self::WRITE_TOO.0;
        Self(bits & (asked | also | Self::UNASKED.0))
    }

    /// The flags of `poll`, `POLLIN` and so on.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set with these flags.
    pub(crate) const fn of(flags: PollFlags) -> Self {
        Self::from_bits(word(flags))
    }

    /// The set as flags.
    pub(crate) const fn flags(self) -> PollFlags {
        PollFlags::from_bits_retain(self.0 as _)
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `others` are in the set.
    #[must_use]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether some of `others` are in the set.
    #[must_use]
    pub const fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Whether the reader's gate reports some of the set: all conditions but room to write.
    pub(crate) const fn concerns_readers(self) -> bool {
        self.0 & !(Self::WRITE.0 | Self::WRITE_TOO.0) != 0 || self.0 == 0
    }

    /// Whether the writer's gate reports some of the set.
    pub(crate) const fn concerns_writers(self) -> bool {
        self.0 & (Self::WRITE.0 | Self::WRITE_TOO.0) != 0
    }

    /// What is reported to a caller that asked for this set.
    pub(crate) const fn and_unasked(self) -> Self {
        Self(self.0 | Self::UNASKED.0)
    }
}

impl BitOr for Readiness {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Readiness {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl BitAnd for Readiness {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller that asks for nothing still gets hang-ups, which the reader's gate reports.
    #[test]
    fn gates_that_tell() {
        assert!(Readiness::NONE.concerns_readers());
        assert!(!Readiness::WRITE.concerns_readers());
        assert!((Readiness::WRITE | Readiness::PRIORITY).concerns_readers());
        assert_eq!(Readiness::from_bits(u16::MAX).bits().count_ones(), 11);
        let band = Readiness::of(PollFlags::WRBAND);
        assert!(band.concerns_writers() && !band.concerns_readers());
    }
}
