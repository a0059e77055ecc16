//! What is counted, and how long it took.

use std::collections::BTreeMap;
use std::fmt;

use hdrhistogram::{CreationError, Histogram};
use serde::Serialize;

/// The longest time that is told apart, in nanoseconds; longer ones count as that.
const MAX_NANOSECONDS: u64 = 100_000_000_000;

/// Descriptions of wrong answers that are kept.
const EXAMPLES: usize = 8;

/// Times in nanoseconds, to a thousandth.
#[derive(Debug, Clone)]
pub struct Times(Histogram<u64>);

impl Times {
    /// None yet.
    ///
    /// # Errors
    ///
    /// None in practice: the bounds are right.
    pub fn new() -> Result<Self, CreationError> {
        Histogram::new_with_bounds(1, MAX_NANOSECONDS, 3).map(Self)
    }

    /// Adds a time.
    #[inline]
    pub fn add(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// Adds all of another's.
    pub fn merge(&mut self, other: &Self) {
        // Bounds are the same, so nothing of it can be out of these.
        let _ = self.0.add(&other.0);
    }

    /// The figures of the profile; nothing if no time was added.
    #[must_use]
    pub fn profile(&self) -> Option<Profile> {
        let at = |share: f64| self.0.value_at_quantile(share) as f64 / 1e3;
        (!self.0.is_empty()).then(|| Profile {
            count: self.0.len(),
            p10: at(0.10),
            mean: self.0.mean() / 1e3,
            p50: at(0.50),
            p90: at(0.90),
            p99: at(0.99),
            p999: at(0.999),
            max: self.0.max() as f64 / 1e3,
        })
    }
}

/// A profile of times, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, serde::Deserialize)]
pub struct Profile {
    /// How many times it is made of.
    pub count: u64,
    /// What a tenth stays below.
    pub p10: f64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// What nine of ten stay below.
    pub p90: f64,
    /// What 99 of 100 stay below.
    pub p99: f64,
    /// What 999 of 1000 stay below.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// Requests and answers within the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Counts {
    /// Questions that were answered.
    pub gets: u64,
    /// Questions that found a value.
    pub hits: u64,
    /// Questions that found none.
    pub misses: u64,
    /// Questions that found none though the key had been stored, which a cache may do.
    pub misses_of_stored: u64,
    /// Orders to store that were answered.
    pub sets: u64,
    /// Orders that were obeyed.
    pub stored: u64,
    /// Requests of both kinds that the server refused.
    pub refused: u64,
    /// Requests that were due, and could not be sent because all that may be under way were so.
    pub unsent: u64,
    /// Bytes that were sent.
    pub bytes_sent: u64,
    /// Bytes that were received.
    pub bytes_received: u64,
}

impl Counts {
    /// Answered requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.gets + self.sets
    }

    /// Adds another's.
    fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.gets, other.gets),
            (&mut self.hits, other.hits),
            (&mut self.misses, other.misses),
            (&mut self.misses_of_stored, other.misses_of_stored),
            (&mut self.sets, other.sets),
            (&mut self.stored, other.stored),
            (&mut self.refused, other.refused),
            (&mut self.unsent, other.unsent),
            (&mut self.bytes_sent, other.bytes_sent),
            (&mut self.bytes_received, other.bytes_received),
        ];
        pairs.into_iter().for_each(|(sum, more)| *sum += more);
    }
}

/// What no server may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// A value of another key, or of nobody.
    Foreign,
    /// A value that is made of several, cut, or changed.
    Torn,
    /// A value that had been replaced before it was asked for.
    Stale,
    /// A value that was never sent.
    Unwritten,
    /// An answer to another request.
    Disordered,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "foreign",
            Self::Torn => "torn",
            Self::Stale => "stale",
            Self::Unwritten => "unwritten",
            Self::Disordered => "disordered",
        })
    }
}

/// Everything that the connections of one processor count. What is wrong counts from the first to
/// the last request, everything else within the measured time.
#[derive(Debug)]
pub struct Tally {
    /// Requests and answers.
    pub counts: Counts,
    /// How long questions took, from when they were due.
    pub gets: Times,
    /// How long orders to store took, from when they were due.
    pub sets: Times,
    /// How long requests took from when they were sent.
    pub service: Times,
    /// How long after they were due requests were sent.
    pub delays: Times,
    /// Answers that no server may give.
    pub wrong: BTreeMap<Wrong, u64>,
    /// Some of them in words.
    pub examples: Vec<String>,
    /// Connections that were lost, by reason.
    pub lost: BTreeMap<&'static str, u64>,
    /// Connections that were opened in place of lost ones.
    pub reconnects: u64,
    /// Requests that got no answer since their connection was lost.
    pub unanswered: u64,
    /// Keys with an age that is not known any more since their owner's connection was lost.
    pub doubted: u64,
    /// When the last answer came.
    pub last: u64,
}

impl Tally {
    /// Nothing yet.
    ///
    /// # Errors
    ///
    /// As [`Times::new`].
    pub fn new() -> Result<Self, CreationError> {
        Ok(Self {
            counts: Counts::default(),
            gets: Times::new()?,
            sets: Times::new()?,
            service: Times::new()?,
            delays: Times::new()?,
            wrong: BTreeMap::new(),
            examples: Vec::new(),
            lost: BTreeMap::new(),
            reconnects: 0,
            unanswered: 0,
            doubted: 0,
            last: 0,
        })
    }

    /// Notes an answer that no server may give.
    #[cold]
    pub fn wrong(&mut self, kind: Wrong, words: impl FnOnce() -> String) {
        *self.wrong.entry(kind).or_default() += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{kind}: {}", words()));
        }
    }

    /// Adds another's.
    pub fn merge(&mut self, other: Self) {
        self.counts.merge(&other.counts);
        self.gets.merge(&other.gets);
        self.sets.merge(&other.sets);
        self.service.merge(&other.service);
        self.delays.merge(&other.delays);
        for (kind, count) in other.wrong {
            *self.wrong.entry(kind).or_default() += count;
        }
        for (reason, count) in other.lost {
            *self.lost.entry(reason).or_default() += count;
        }
        let room = EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
        self.reconnects += other.reconnects;
        self.unanswered += other.unanswered;
        self.doubted += other.doubted;
        self.last = self.last.max(other.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_the_quantiles() -> Result<(), CreationError> {
        let mut times = Times::new()?;
        assert_eq!(times.profile(), None);
        (1..=1000).for_each(|time| times.add(time * 1000));
        let profile = times.profile().unwrap_or_else(|| panic!("no profile"));
        let figures = [
            profile.p10,
            profile.mean,
            profile.p50,
            profile.p90,
            profile.p99,
            profile.max,
        ];
        for (figure, expected) in figures
            .into_iter()
            .zip([100.0, 500.5, 500.0, 900.0, 990.0, 1000.0])
        {
            assert!(
                (figure / expected - 1.0).abs() < 0.002,
                "{figure} for {expected}"
            );
        }
        times.add(u64::MAX);
        assert!(times.profile().is_some_and(|profile| profile.max > 9e7));
        Ok(())
    }

    #[test]
    fn tallies_add_up() -> Result<(), CreationError> {
        let (mut one, mut other) = (Tally::new()?, Tally::new()?);
        one.counts.gets = 1;
        other.counts.gets = 2;
        other.counts.bytes_received = 5;
        other.gets.add(7);
        for _ in 0..20 {
            other.wrong(Wrong::Torn, || "k1".into());
        }
        *other.lost.entry("closed").or_default() += 1;
        one.merge(other);
        assert_eq!((one.counts.requests(), one.counts.bytes_received), (3, 5));
        assert_eq!(
            (one.wrong[&Wrong::Torn], one.examples.len()),
            (20, EXAMPLES)
        );
        assert_eq!(one.lost["closed"], 1);
        Ok(())
    }
}
