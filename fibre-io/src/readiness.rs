//! What is asked about a descriptor, and what is the case.

use rustix::event::PollFlags;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of things that may be the case with a descriptor, as `poll` has them.
///
/// ```
/// use fibre_io::poll::Readiness;
///
/// let asked = Readiness::READ | Readiness::WRITE;
/// assert!(asked.contains(Readiness::WRITE) && !asked.contains(Readiness::ERROR));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Readiness(u16);

impl Readiness {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A read does not block: there is something, or the end, or a connection to accept
    /// (`POLLIN`).
    pub const READ: Self = Self(PollFlags::IN.bits());
    /// A write does not block (`POLLOUT`).
    pub const WRITE: Self = Self(PollFlags::OUT.bits());
    /// Urgent data, or whatever else the kind of descriptor calls exceptional (`POLLPRI`).
    pub const PRIORITY: Self = Self(PollFlags::PRI.bits());
    /// The peer of a stream will send no more (`POLLRDHUP`).
    pub const READ_CLOSED: Self = Self(PollFlags::RDHUP.bits());
    /// The other end is gone (`POLLHUP`). Told unasked.
    pub const HANGUP: Self = Self(PollFlags::HUP.bits());
    /// An error (`POLLERR`). Told unasked.
    pub const ERROR: Self = Self(PollFlags::ERR.bits());
    /// No such descriptor, or one that its owner in this runtime has closed (`POLLNVAL`). Told
    /// unasked.
    pub const INVALID: Self = Self(PollFlags::NVAL.bits());

    /// What is told unasked.
    const UNASKED: Self = Self(Self::HANGUP.0 | Self::ERROR.0 | Self::INVALID.0);
    /// Other names, and data of other priorities, that readers may ask for by their bits.
    const READ_TOO: Self = Self(PollFlags::RDNORM.bits() | PollFlags::RDBAND.bits());
    /// The same for writers.
    const WRITE_TOO: Self = Self(PollFlags::WRNORM.bits() | PollFlags::WRBAND.bits());

    /// The flags of `poll`'s, `POLLIN` and so on, also those that have no constants here (`POLLRDNORM`, `POLLRDBAND`,
    /// `POLLWRNORM`, `POLLWRBAND`); others are left out.
    ///
    /// ```
    /// use fibre_io::poll::Readiness;
    ///
    /// assert_eq!(Readiness::from_bits(1), Readiness::READ);
    /// ```
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        let asked = Self::READ.0 | Self::WRITE.0 | Self::PRIORITY.0 | Self::READ_CLOSED.0;
        let also = Self::READ_TOO.0 | Self::WRITE_TOO.0;
        Self(bits & (asked | also | Self::UNASKED.0))
    }

    /// As `poll` has it, `POLLIN` and so on.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether nothing is in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `others` is in it.
    #[must_use]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether something of `others` is in it.
    #[must_use]
    pub const fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Whether it is a reader's gate that tells of it: all but room to write.
    pub(crate) const fn concerns_readers(self) -> bool {
        self.0 & !(Self::WRITE.0 | Self::WRITE_TOO.0) != 0 || self.0 == 0
    }

    /// Whether it is a writer's gate that tells of some of it.
    pub(crate) const fn concerns_writers(self) -> bool {
        self.0 & (Self::WRITE.0 | Self::WRITE_TOO.0) != 0
    }

    /// What is told to one who asked for this.
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

    /// Nothing asked still wants to hear of hang-ups, which come by the reader's gate.
    #[test]
    fn gates_that_tell() {
        assert!(Readiness::NONE.concerns_readers());
        assert!(!Readiness::WRITE.concerns_readers());
        assert!((Readiness::WRITE | Readiness::PRIORITY).concerns_readers());
        assert_eq!(Readiness::from_bits(u16::MAX).bits().count_ones(), 11);
        let band = Readiness::from_bits(PollFlags::WRBAND.bits());
        assert!(band.concerns_writers() && !band.concerns_readers());
    }
}
