//! Values that say by themselves whether they are whole.
//!
//! A value follows from seed, key and version: its length by a distribution, its first bytes are
//! the version and a mark of the three, the rest is a piece of a pool of random bytes from a place
//! that follows from the mark. Making one is a copy and checking one a comparison, so every byte of
//! every answer is checked; a value of another key fails by its mark, and one that is made of two,
//! or cut, by its bytes.

use crate::distribution::Distribution;
use crate::random::{mix, stream, unit};

/// Bytes of version and mark.
pub const LEAST: usize = 8;

/// The longest value, which Memcached takes with its usual settings.
pub const MOST: usize = 1_000_000;

/// How many places of the pool a value may start at.
const PLACES: usize = 1 << 16;

/// What is wrong with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// It is not a value of this key.
    Foreign,
    /// It begins like one of this key, of this version, and does not go on or end like that.
    Torn(u32),
    /// Of a version that had been replaced before it was asked for.
    Stale(u32),
    /// Of a version that was never sent.
    Unwritten(u32),
}

/// The values of a run.
#[derive(Debug)]
pub struct Values {
    /// Random bytes.
    pool: Box<[u8]>,
    /// How long values are.
    length: Distribution,
    /// The longest one.
    most: usize,
    /// What all follows from.
    seed: u64,
}

impl Values {
    /// Values of these lengths, `most` at most.
    #[must_use]
    pub fn new(length: Distribution, most: usize, seed: u64) -> Self {
        let most = most.clamp(LEAST, MOST);
        let mut random = stream(seed, u64::MAX);
        let words = (PLACES + most).div_ceil(8);
        let pool = (0..words).flat_map(|_| random.u64(..).to_le_bytes());
        Self {
            pool: pool.collect(),
            length,
            most,
            seed: mix(seed),
        }
    }

    /// What length, mark and place of a value follow from.
    #[inline]
    fn root(&self, key: u32, version: u32) -> u64 {
        mix(self.seed ^ (u64::from(key) << 32 | u64::from(version)))
    }

    /// How long a value is.
    #[inline]
    #[must_use]
    pub fn length(&self, key: u32, version: u32) -> usize {
        match self.length {
            Distribution::Fixed(length) => (length as usize).clamp(LEAST, self.most),
            _ => self.spread(self.root(key, version)),
        }
    }

    /// The length of a value for its root.
    fn spread(&self, root: u64) -> usize {
        self.length.size(unit(mix(root)), LEAST, self.most)
    }

    /// First bytes and the others of a value of a length.
    #[inline]
    fn parts(&self, key: u32, version: u32, length: usize) -> ([u8; LEAST], &[u8]) {
        let root = self.root(key, version);
        let place = root as usize % PLACES;
        let mark = root & 0xFFFF_FFFF_0000_0000;
        let head = (mark | u64::from(version)).to_le_bytes();
        (head, &self.pool[place..place + length - LEAST])
    }

    /// Appends a value of the length that it has.
    #[inline]
    pub fn write(&self, key: u32, version: u32, length: usize, out: &mut Vec<u8>) {
        let (head, body) = self.parts(key, version, length);
        out.extend_from_slice(&head);
        out.extend_from_slice(body);
    }

    /// Checks an answer: what is wrong with it if it may be of any version from the oldest to the
    /// newest?
    #[inline]
    #[must_use]
    pub fn flaw(&self, key: u32, bytes: &[u8], oldest: u32, newest: u32) -> Option<Flaw> {
        let Some((head, body)) = bytes.split_first_chunk::<LEAST>() else {
            return Some(Flaw::Foreign);
        };
        let version = u64::from_le_bytes(*head) as u32;
        let length = self.length(key, version);
        let expected = self.parts(key, version, length);
        if *head != expected.0 {
            return Some(Flaw::Foreign);
        }
        if body != expected.1 {
            return Some(Flaw::Torn(version));
        }
        if version > newest {
            return Some(Flaw::Unwritten(version));
        }
        (version < oldest).then_some(Flaw::Stale(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::ETC_VALUE;

    fn value(values: &Values, key: u32, version: u32) -> Vec<u8> {
        let mut out = Vec::new();
        values.write(key, version, values.length(key, version), &mut out);
        out
    }

    #[test]
    fn a_whole_value_of_a_possible_version_is_right() {
        for length in [
            Distribution::Fixed(200.0),
            Distribution::Fixed(1.0),
            ETC_VALUE,
        ] {
            let values = Values::new(length, MOST, 3);
            for version in 1..50 {
                let bytes = value(&values, 7, version);
                assert_eq!(values.flaw(7, &bytes, 1, 50), None);
                assert_eq!(values.flaw(7, &bytes, version, version), None);
            }
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let values = Values::new(Distribution::Fixed(100.0), MOST, 3);
        let whole = value(&values, 7, 5);
        for index in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[index] ^= 1;
            assert!(values.flaw(7, &bytes, 1, 9).is_some(), "byte {index}");
        }
    }

    #[test]
    fn every_flaw_has_its_name() {
        let values = Values::new(ETC_VALUE, MOST, 3);
        let bytes = value(&values, 7, 5);
        assert_eq!(values.flaw(8, &bytes, 1, 9), Some(Flaw::Foreign));
        assert_eq!(values.flaw(7, b"short", 1, 9), Some(Flaw::Foreign));
        assert_eq!(
            values.flaw(7, &bytes[..bytes.len() - 1], 1, 9),
            Some(Flaw::Torn(5))
        );
        assert_eq!(values.flaw(7, &bytes, 6, 9), Some(Flaw::Stale(5)));
        assert_eq!(values.flaw(7, &bytes, 1, 4), Some(Flaw::Unwritten(5)));
        let fixed = Values::new(Distribution::Fixed(100.0), MOST, 3);
        let (old, new) = (value(&fixed, 7, 5), value(&fixed, 7, 6));
        let torn = [&new[..50], &old[50..]].concat();
        assert_eq!(fixed.flaw(7, &torn, 1, 9), Some(Flaw::Torn(6)));
    }

    #[test]
    fn lengths_are_spread_as_asked_for() {
        let values = Values::new(ETC_VALUE, MOST, 3);
        let lengths: usize = (0..100_000).map(|key| values.length(key, 1)).sum();
        let mean = lengths as f64 / 1e5;
        assert!((mean - ETC_VALUE.mean()).abs() < 10.0, "{mean}");
    }
}
