//! A table that grows and never moves: what is found by an index.
//!
//! The first bucket has [`FIRST`] places and each further one twice as many, so the bucket of an index is a matter
//! of its highest bit, and growing copies nothing. A bucket is there for ever once it has been made.

use std::sync::OnceLock;

/// How many places the first bucket has.
const FIRST: usize = 64;
/// How many buckets there may be: room for more than four thousand million places.
const BUCKETS: usize = 27;

/// See the module text.
#[derive(Debug)]
pub struct Buckets<T>([OnceLock<Box<[T]>>; BUCKETS]);

impl<T> Default for Buckets<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Buckets<T> {
    /// A table without places.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { OnceLock::new() }; BUCKETS])
    }

    /// What is at an index, if that has been made.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        let bucket = (index / FIRST + 1).ilog2() as usize;
        self.0
            .get(bucket)?
            .get()?
            .get(index - Self::first_of(bucket))
    }

    /// Makes a bucket, whose places are filled by their indexes, and returns it; or the one that there is. `None`: there cannot be so many.
    pub fn bucket(&self, bucket: usize, fill: impl Fn(usize) -> T) -> Option<&[T]> {
        let first = Self::first_of(bucket);
        let make = || (first..first + (FIRST << bucket)).map(fill).collect();
        Some(self.0.get(bucket)?.get_or_init(make))
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
        let table = Buckets::new();
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
