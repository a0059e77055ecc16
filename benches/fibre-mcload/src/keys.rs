//! The keys of a run: their names, which are asked for, and who may change them.
//!
//! A key is a number, and its name says the number: `k`, zeroes, digits. How long the name is
//! follows from the number and the seed. Each key has one *owner* among the connections, which
//! alone changes it, so that the order of its values is known; everybody reads all keys.

use fastrand::Rng;

use crate::distribution::Distribution;
use crate::random::{mix, unit};

/// What names start with.
const PREFIX: u8 = b'k';

/// The longest name that Memcached takes.
pub const LONGEST: usize = 250;

/// Which keys are asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Popularity {
    /// All alike.
    Uniform,
    /// Zipf's law with this exponent below 1: key 0 most often.
    Zipf(f64),
}

/// The keys of a run.
#[derive(Debug)]
pub struct KeySpace {
    /// How long each name is.
    lengths: Box<[u8]>,
    /// Digits of the largest number.
    digits: usize,
    /// How a key is drawn.
    draw: Draw,
}

/// How a key is drawn.
#[derive(Debug)]
enum Draw {
    /// All alike.
    Uniform,
    /// Zipf's law.
    Zipf(Zipf),
}

impl KeySpace {
    /// So many keys, with names of these lengths as far as the number has room in them.
    #[must_use]
    pub fn new(count: u32, length: Distribution, popularity: &Popularity, seed: u64) -> Self {
        let digits = count.saturating_sub(1).max(1).ilog10() as usize + 1;
        let length_of = |key: u32| {
            let share = unit(mix(mix(seed) ^ u64::from(key)));
            length.size(share, 1 + digits, LONGEST) as u8
        };
        Self {
            lengths: (0..count).map(length_of).collect(),
            digits,
            draw: match *popularity {
                Popularity::Uniform => Draw::Uniform,
                Popularity::Zipf(exponent) => Draw::Zipf(Zipf::new(count, exponent)),
            },
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Draws a key to be read.
    #[inline]
    pub fn draw(&self, random: &mut Rng) -> u32 {
        match &self.draw {
            Draw::Uniform => random.u32(..self.count()),
            Draw::Zipf(zipf) => zipf.rank(random.f64()),
        }
    }

    /// Draws a key to be changed by number `owner` of so many owners, of whom there are no more
    /// than keys: the one of its own that is next to a drawn key.
    #[inline]
    pub fn draw_own(&self, random: &mut Rng, owner: u32, owners: u32) -> u32 {
        let key = self.draw(random);
        let own = key - key % owners + owner;
        if own < self.count() {
            own
        } else {
            own - owners
        }
    }

    /// Appends the name of a key.
    #[inline]
    pub fn write(&self, key: u32, out: &mut Vec<u8>) {
        let length = usize::from(self.lengths[key as usize]);
        let start = out.len();
        out.resize(start + length, b'0');
        let name = &mut out[start..];
        name[0] = PREFIX;
        let mut rest = key;
        for digit in name[length - self.digits..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }

    /// Whether these bytes are the name of a key.
    #[inline]
    #[must_use]
    pub fn is_name(&self, key: u32, bytes: &[u8]) -> bool {
        let (zeroes, digits) = match bytes.split_first() {
            Some((&PREFIX, rest)) if bytes.len() == usize::from(self.lengths[key as usize]) => {
                rest.split_at(rest.len() - self.digits)
            }
            _ => return false,
        };
        let digit = |number: u64, &byte: &u8| number * 10 + u64::from(byte.wrapping_sub(b'0'));
        zeroes.iter().all(|&byte| byte == b'0')
            && digits.iter().all(u8::is_ascii_digit)
            && digits.iter().fold(0, digit) == u64::from(key)
    }
}

/// Zipf's law over ranks from 0, by the approximate inversion of Gray et al.: "Quickly Generating
/// Billion-Record Synthetic Databases" (SIGMOD 1994), section 3.
#[derive(Debug)]
struct Zipf {
    /// How many ranks there are.
    count: f64,
    /// The exponent.
    exponent: f64,
    /// The sum of all weights.
    sum: f64,
    /// `1 / (1 - exponent)`.
    alpha: f64,
    /// How the inversion is stretched so that the first two ranks are exact.
    eta: f64,
}

impl Zipf {
    /// So many ranks with an exponent in `[0, 1)`.
    fn new(count: u32, exponent: f64) -> Self {
        let weight = |rank: u32| f64::from(rank).powf(-exponent);
        let sum: f64 = (1..=count).map(weight).sum();
        let first_two = 1.0 + weight(2);
        let n = f64::from(count);
        Self {
            count: n,
            exponent,
            sum,
            alpha: 1.0 / (1.0 - exponent),
            eta: (1.0 - (2.0 / n).powf(1.0 - exponent)) / (1.0 - first_two / sum),
        }
    }

    /// The rank for a number in `[0, 1)`.
    fn rank(&self, share: f64) -> u32 {
        let weight = share * self.sum;
        if weight < 1.0 || self.count < 3.0 {
            return u32::from(weight >= 1.0);
        }
        if weight < 1.0 + 0.5_f64.powf(self.exponent) {
            return 1;
        }
        let rank = self.count * (self.eta.mul_add(share, 1.0 - self.eta)).powf(self.alpha);
        (rank as u32).min(self.count as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::ETC_KEY;
    use crate::random::stream;

    fn name(keys: &KeySpace, key: u32) -> Vec<u8> {
        let mut out = Vec::new();
        keys.write(key, &mut out);
        out
    }

    #[test]
    fn names_say_their_number() {
        let keys = KeySpace::new(1000, Distribution::Fixed(8.0), &Popularity::Uniform, 1);
        assert_eq!(name(&keys, 42), b"k0000042");
        assert!(keys.is_name(42, b"k0000042") && !keys.is_name(43, b"k0000042"));
        for other in [&b"k000042"[..], b"", b"x0000042", b"k0100042", b"k000004:"] {
            assert!(!keys.is_name(42, other));
        }
    }

    #[test]
    fn names_are_as_long_as_they_are_to_be_and_differ() {
        let keys = KeySpace::new(5000, ETC_KEY, &Popularity::Uniform, 1);
        let names: std::collections::BTreeSet<_> = (0..5000).map(|key| name(&keys, key)).collect();
        assert_eq!(names.len(), 5000);
        let mean = names.iter().map(Vec::len).sum::<usize>() as f64 / 5000.0;
        assert!((mean - ETC_KEY.mean()).abs() < 1.0, "{mean}");
        assert!(names.iter().all(|name| name.len() <= LONGEST));
    }

    #[test]
    fn one_key_and_the_last_key_have_names() {
        let keys = KeySpace::new(1, Distribution::Fixed(1.0), &Popularity::Uniform, 1);
        assert_eq!(name(&keys, 0), b"k0");
        let keys = KeySpace::new(101, Distribution::Fixed(1.0), &Popularity::Uniform, 1);
        assert_eq!(name(&keys, 100), b"k100");
    }

    #[test]
    fn owners_share_the_keys() {
        let keys = KeySpace::new(10, Distribution::Fixed(8.0), &Popularity::Uniform, 1);
        let mut random = stream(1, 1);
        let mut seen = [false; 10];
        for owner in 0..4 {
            for _ in 0..200 {
                let key = keys.draw_own(&mut random, owner, 4);
                assert_eq!(key % 4, owner);
                seen[key as usize] = true;
            }
        }
        assert_eq!(seen, [true; 10]);
    }

    #[test]
    fn popular_keys_come_as_often_as_the_law_says() {
        let keys = KeySpace::new(1000, Distribution::Fixed(8.0), &Popularity::Zipf(0.9), 1);
        let mut random = stream(1, 1);
        let mut counts = vec![0_u32; 1000];
        (0..200_000).for_each(|_| counts[keys.draw(&mut random) as usize] += 1);
        let sum: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.9)).sum();
        let top = f64::from(counts[0]) / 200_000.0;
        assert!((top - 1.0 / sum).abs() < 0.01, "{top}");
        let ten = f64::from(counts[..10].iter().sum::<u32>()) / 200_000.0;
        let ten_expected: f64 = (1..=10).map(|rank| f64::from(rank).powf(-0.9) / sum).sum();
        assert!(
            (ten - ten_expected).abs() < 0.03,
            "{ten} for {ten_expected}"
        );
        assert!(counts[500..].iter().sum::<u32>() > 0);
        let two = KeySpace::new(2, Distribution::Fixed(8.0), &Popularity::Zipf(0.5), 1);
        assert!((0..100).all(|_| two.draw(&mut random) < 2));
    }
}
