//! `wait`: how long one fibre waits for a mutex that many others take again and
//! again.
//!
//! The *crowd* are contenders of a contest with one mutex and no work without it
//! ([`super::contend`]). The *guest* sleeps, locks, and looks at the clock before
//! and after. A crowd on one processor never meets anybody in its critical
//! section, unless it is switched there: it can be told to yield with the mutex
//! at every so many iterations. What the guest still waits for when the contest is
//! over counts too. A crowd that leaves no processor to the guest keeps it from
//! waiting at all, so the longest *gap* is read as well, from one acquisition to
//! the next with the sleep between them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use crossbeam_utils::CachePadded;

use super::contend::{self, Contender, Contention, Contest};
use crate::measure::Sample;
use crate::peer::blocking::{Blocking, Lock};
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Waits {
    /// The contest of the crowd.
    pub(crate) crowd: Contention,
    /// At every so many iterations one of the crowd yields with the mutex; 0: never.
    yields: u64,
    /// How long the guest sleeps between two acquisitions.
    pub(crate) pause: Duration,
}

impl Parameters for Waits {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            crowd: Contention {
                processors: arguments.processors,
                seconds: arguments.seconds(1.0),
                threads: arguments.count("crowd", 50)? as usize,
                locks: 1,
                held: arguments.number("held", 100)?,
                free: 0,
            },
            yields: arguments.number("yields", 0)?,
            pause: Duration::from_micros(arguments.number("pause", 100)?),
        })
    }
}

impl Waits {
    /// Whether the crowd yields with the mutex at this iteration.
    pub(crate) fn yields_at(&self, iteration: u64) -> bool {
        self.yields > 0 && iteration.is_multiple_of(self.yields)
    }
}

/// The guest among fibres.
pub(crate) fn blocking<B: Blocking, L: Lock>(asked: Waits) -> anyhow::Result<Sample> {
    B::enter(asked.crowd.processors, move || {
        let contest = Contest::new(asked.crowd);
        let lock = Arc::new(CachePadded::new(L::free()));
        let (visited, theirs) = (Arc::clone(&contest), Arc::clone(&lock));
        let visits = Visits::begin();
        let guest = B::spawn(move || visit::<B, L>(asked.pause, &visited, &theirs, visits));
        let start = |index| {
            let (contender, lock) = (contest.contender(index), Arc::clone(&lock));
            B::spawn(move || barge::<B, L>(asked, contender, &lock))
        };
        let joins: Vec<_> = (0..asked.crowd.threads).map(start).collect();
        let referee = contest.begin()?;
        joins.into_iter().for_each(B::join);
        let seen = B::join(guest);
        seen.evaluate(contend::outcome(referee)?)
    })
}

/// The life of one of the crowd.
fn barge<B: Blocking, L: Lock>(asked: Waits, mut contender: Contender, lock: &L) {
    for iteration in 1_u64.. {
        if !contender.goes_on() {
            break;
        }
        lock.locked(|| {
            contender.work_held();
            if asked.yields_at(iteration) {
                B::yield_now();
            }
        });
        contender.count();
    }
}

/// The life of the guest; returns what it has seen: at least one visit, because a
/// busy machine may let it run for the first time when the contest is over.
fn visit<B: Blocking, L: Lock>(
    pause: Duration,
    contest: &Contest,
    lock: &L,
    mut visits: Visits,
) -> Visits {
    loop {
        B::sleep(pause);
        let asked = Instant::now();
        lock.locked(|| visits.acquired(asked));
        if !contest.goes_on() {
            return visits;
        }
    }
}

/// What the guest has seen.
pub(crate) struct Visits {
    /// How long it waited each time.
    waits: Vec<Duration>,
    /// When it had the mutex last; at first, when it was sent for.
    last: Instant,
    /// The longest time between two acquisitions.
    gap: Duration,
}

impl Visits {
    /// Visits that have not begun.
    pub(crate) fn begin() -> Self {
        Self {
            waits: Vec::new(),
            last: Instant::now(),
            gap: Duration::ZERO,
        }
    }

    /// The guest has the mutex, and asked for it then.
    pub(crate) fn acquired(&mut self, asked: Instant) {
        let now = Instant::now();
        self.waits.push(now - asked);
        self.gap = self.gap.max(now - self.last);
        self.last = now;
    }

    /// The crowd's sample with what the guest has seen.
    pub(crate) fn evaluate(mut self, sample: Sample) -> anyhow::Result<Sample> {
        self.waits.sort_unstable();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let wait = |share: f64| {
            let place = (share * self.waits.len() as f64).ceil() as usize;
            let wait = self.waits.get(place.max(1) - 1);
            wait.copied().context("the guest never came")
        };
        Ok(sample
            .with("acquired", self.waits.len() as f64)
            .with("gap_us_max", micros(self.gap))
            .with("wait_us_median", micros(wait(0.5)?))
            .with("wait_us_p99", micros(wait(0.99)?))
            .with("wait_us_max", micros(wait(1.0)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_longest_of_a_hundred_waits_is_beyond_99_percent() -> anyhow::Result<()> {
        let sample = Sample {
            operations: 1,
            cpu_ns: 1.0,
            wall_ns: 1.0,
            values: BTreeMap::new(),
        };
        let seen = |waits: Vec<Duration>| Visits {
            waits,
            ..Visits::begin()
        };
        assert!(seen(Vec::new()).evaluate(sample.clone()).is_err());
        let waits = (1..=100).rev().map(Duration::from_micros).collect();
        let seen = seen(waits).evaluate(sample)?.values;
        let read = |name: &str| seen.get(name).map_or(0, |micros| micros.round() as u64);
        let read = ["wait_us_median", "wait_us_p99", "wait_us_max", "acquired"].map(read);
        assert_eq!(read, [50, 99, 100, 100]);
        Ok(())
    }

    #[test]
    fn a_gap_lasts_from_one_acquisition_to_the_next() {
        let mut visits = Visits::begin();
        visits.last -= Duration::from_secs(5);
        visits.acquired(Instant::now());
        visits.acquired(Instant::now() - Duration::from_secs(2));
        assert_eq!(visits.gap.as_secs(), 5);
        assert_eq!(visits.waits[1].as_secs(), 2);
    }

    #[test]
    fn a_crowd_that_never_yields_is_not_asked_to() {
        let yields = |yields| {
            let words = [format!("yields={yields}")];
            let waits = Arguments::parse(&words).and_then(|mut words| Waits::read(&mut words));
            let iterations = waits.map(|waits| (1..=8).filter(|&at| waits.yields_at(at)).count());
            iterations.ok()
        };
        assert_eq!([0, 3, 1].map(yields), [Some(0), Some(2), Some(8)]);
    }
}
