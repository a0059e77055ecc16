//! A table that grows and never moves, with places found by index.
//!
//! The first bucket has [`FIRST`] places and each further one twice as many, so the highest bit of
//! an index gives its bucket, and growing copies nothing. A bucket, once made, stays for ever.

use std::sync::OnceLock;

/// How many places the first bucket has.
const FIRST: usize = 64;
/// How many buckets there may be: room for more than four thousand million places.
const BUCKETS: usize = 27;

/// The table.
#[derive(Debug)]
pub struct SegmentedVec<T>([OnceLock<Box<[T]>>; BUCKETS]);

impl<T> Default for SegmentedVec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> SegmentedVec<T> {
    /// A table without places.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { OnceLock::new() }; BUCKETS])
    }

    /// The place at an index, if that has been made.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        let bucket = (index / FIRST + 1).ilog2() as usize;
        self.0
            .get(bucket)?
            .get()?
            .get(index - Self::first_of(bucket))
    }

    /// Makes a bucket, fills its places by their indexes, and returns it; or returns the existing
    /// one. `None`: there cannot be so many, or there is no memory for it.
    pub fn bucket(&self, bucket: usize, fill: impl Fn(usize) -> T) -> Option<&[T]> {
        let (place, first) = (self.0.get(bucket)?, Self::first_of(bucket));
        if place.get().is_none() {
            let count = FIRST << bucket;
            let mut made = Vec::new();
            made.try_reserve_exact(count).ok()?;
            made.extend((first..first + count).map(fill));
            // Another thread may have been faster.
            let _ = place.set(made.into_boxed_slice());
        }
        place.get().map(|made| &**made)
    }

    /// The first index of a bucket.
    #[inline]
    const fn first_of(bucket: usize) -> usize {
        FIRST * ((1 << bucket) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_found_once_it_is_there() {
        let table = SegmentedVec::new();
        assert_eq!(table.get(0), None);
        for bucket in 0..4 {
            table.bucket(bucket, |index| index).unwrap();
        }
        let all = FIRST * 15;
        assert!((0..all).all(|index| table.get(index) == Some(&index)));
        for absent in [all, 1 << 32, usize::MAX] {
            assert_eq!(table.get(absent), None, "{absent}");
        }
        assert_eq!(table.bucket(2, |_| 0).unwrap()[0], FIRST * 3);
        assert!(table.bucket(BUCKETS, |_| 0).is_none());
    }
}
