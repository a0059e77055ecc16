//! How many fibres a cluster may have at once.
//!
//! One counter of admitted fibres, for clusters that have a limit; the others pay a look at an
//! `Option`. A fibre is counted before it exists, so that the limit is exact whoever spawns.
//!
//! # Memory ordering
//!
//! Relaxed: the number is all that is passed on.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The limit of one cluster.
#[derive(Debug)]
pub(crate) struct Limit {
    /// The most fibres at once.
    most: usize,
    /// Fibres that have been admitted and have not ended.
    admitted: AtomicUsize,
}

impl Limit {
    /// A limit that has admitted no fibre yet.
    pub(crate) fn new(most: NonZeroUsize) -> Self {
        Self {
            most: most.get(),
            admitted: AtomicUsize::new(0),
        }
    }

    /// Admits one more fibre, or returns how many there may be.
    pub(crate) fn admit(&self) -> Result<(), usize> {
        let one_more = |admitted| (admitted < self.most).then_some(admitted + 1);
        self.admitted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .map_or(Err(self.most), |_| Ok(()))
    }

    /// Notes the end of a fibre.
    pub(crate) fn leave(&self) {
        self.admitted.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_makes_room_for_one() {
        let limit = Limit::new(NonZeroUsize::MIN.saturating_add(1));
        assert_eq!(
            [limit.admit(), limit.admit(), limit.admit()],
            [Ok(()), Ok(()), Err(2)]
        );
        limit.leave();
        assert_eq!([limit.admit(), limit.admit()], [Ok(()), Err(2)]);
    }
}
