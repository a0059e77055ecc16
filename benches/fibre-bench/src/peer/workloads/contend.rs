//! `contend`: fibres that compute, lock one of several mutexes at random,
//! compute under it and unlock it, until they are told to stop (algorithm 1 of
//! the thesis, section 4.5).
//!
//! The *contest* is what they share; each of them is a *contender*. A *referee*
//! tells when it is over: a kernel thread of its own that sleeps meanwhile,
//! because a runtime without preemption may have no turn for a fibre that
//! should do it. It reads all counts after a warm-up and again at the end, and
//! only what lies between counts. A fibre that had no turn counts as 0.
//!
//! Counts, locks and the word that ends the contest have cache lines of their
//! own. A count has one writer, and who reads it needs no order: an iteration
//! more or less does not matter.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use crossbeam_utils::CachePadded;

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::{Blocking, Lock};
use crate::peer::fairness;
use crate::peer::protocol::{Arguments, Parameters, Refusal};
use crate::peer::work::work;

/// Length of the warm-up, as a share of what counts.
const WARM_UP: f64 = 0.1;

/// How many times its length a contest may last, at most, until somebody has had a turn: on a
/// busy machine a short one may otherwise be over before.
const EXTENSIONS: usize = 100;

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Contention {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// Wall time of what counts.
    pub(super) seconds: f64,
    /// Fibres that contend.
    pub(crate) threads: usize,
    /// Mutexes they contend for.
    pub(crate) locks: usize,
    /// Units of work under a mutex.
    pub(super) held: u64,
    /// Units of work without.
    pub(super) free: u64,
}

impl Parameters for Contention {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.5),
            threads: arguments.count("threads", 8)? as usize,
            locks: arguments.count("locks", 1)? as usize,
            held: arguments.number("held", 0)?,
            free: arguments.number("free", 0)?,
        })
    }
}

/// What the contenders share, apart from the mutexes.
pub(crate) struct Contest {
    /// What was asked for.
    asked: Contention,
    /// Iterations of each contender.
    counts: Vec<CachePadded<AtomicU64>>,
    /// Whether it is over.
    over: CachePadded<AtomicBool>,
}

/// What one contender knows.
pub(crate) struct Contender {
    /// What it takes part in.
    contest: Arc<Contest>,
    /// Which of them it is.
    index: usize,
    /// Its iterations.
    iterations: u64,
    /// Its random numbers: xorshift, as in the programs of peers in other languages.
    random: u64,
    /// What its work has come to.
    x: u64,
}

impl Contest {
    /// A contest that has not begun.
    pub(crate) fn new(asked: Contention) -> Arc<Self> {
        Arc::new(Self {
            asked,
            counts: (0..asked.threads).map(|_| CachePadded::default()).collect(),
            over: CachePadded::default(),
        })
    }

    /// One of its contenders.
    pub(crate) fn contender(self: &Arc<Self>, index: usize) -> Contender {
        Contender {
            contest: Arc::clone(self),
            index,
            iterations: 0,
            random: (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            x: index as u64,
        }
    }

    /// Starts the referee. Its thread may be joined when the contenders have
    /// ended.
    pub(crate) fn begin(self: &Arc<Self>) -> anyhow::Result<JoinHandle<anyhow::Result<Sample>>> {
        let contest = Arc::clone(self);
        let referee = thread::Builder::new().name("referee".into());
        referee
            .spawn(move || {
                let sample = contest.direct();
                contest.over.store(true, Ordering::Relaxed);
                sample
            })
            .context("starting the referee")
    }

    /// Whether it is not over.
    pub(crate) fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// Lets the time of the contest pass, and evaluates what happened.
    fn direct(&self) -> anyhow::Result<Sample> {
        thread::sleep(Duration::try_from_secs_f64(WARM_UP * self.asked.seconds)?);
        let before = self.counts();
        let watch = Stopwatch::start()?;
        let length = Duration::try_from_secs_f64(self.asked.seconds)?;
        let mut counts = Vec::new();
        for _ in 0..EXTENSIONS {
            thread::sleep(length);
            let after = self.counts();
            let pairs = before.iter().zip(&after);
            counts = pairs.map(|(before, after)| after - before).collect();
            if counts.iter().any(|&count| count > 0) {
                break;
            }
        }
        let fairness = fairness::jain(&counts).zip(fairness::variation(&counts));
        let (jain, cv) = fairness.context("not one iteration ended in time")?;
        let sample = watch.stop(counts.iter().sum())?;
        Ok(sample.with("jain", jain).with("cv", cv))
    }

    /// All counts as they are now.
    fn counts(&self) -> Vec<u64> {
        let counts = self.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

impl Contender {
    /// Whether there is a next iteration.
    pub(crate) fn goes_on(&self) -> bool {
        self.contest.goes_on()
    }

    /// Does the work that needs no mutex.
    pub(crate) fn work_free(&mut self) {
        self.x = work(self.contest.asked.free, self.x);
    }

    /// Does the work that needs one.
    pub(crate) fn work_held(&mut self) {
        self.x = work(self.contest.asked.held, self.x);
    }

    /// Chooses a mutex.
    pub(crate) fn choose<'a, L>(&mut self, locks: &'a [L]) -> &'a L {
        self.step();
        // The upper half of the bits as a fraction of the number of mutexes.
        &locks[(((self.random >> 32) * locks.len() as u64) >> 32) as usize]
    }

    /// Whether it draws one of so many lots of a hundred.
    pub(crate) fn draws(&mut self, percent: u64) -> bool {
        self.step();
        (self.random >> 32) % 100 < percent
    }

    /// The next random number.
    fn step(&mut self) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
    }

    /// Counts the iteration.
    pub(crate) fn count(&mut self) {
        self.iterations += 1;
        self.contest.counts[self.index].store(self.iterations, Ordering::Relaxed);
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        black_box(self.x);
    }
}

/// The contest of fibres.
pub(crate) fn blocking<B: Blocking, L: Lock>(asked: Contention) -> anyhow::Result<Sample> {
    fibres::<B, L>(asked, L::free, |contender, lock| {
        lock.locked(|| contender.work_held());
    })
}

/// The contest of fibres for locks of any kind, which `take` takes for a turn.
pub(crate) fn fibres<B: Blocking, L: Send + Sync + 'static>(
    asked: Contention,
    free: fn() -> L,
    take: impl Fn(&mut Contender, &L) + Copy + Send + 'static,
) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        let contest = Contest::new(asked);
        let locks: Arc<[_]> = (0..asked.locks).map(|_| CachePadded::new(free())).collect();
        let start = |index| {
            let (contender, locks) = (contest.contender(index), Arc::clone(&locks));
            B::spawn(move || contend(contender, &locks, take))
        };
        let joins: Vec<_> = (0..asked.threads).map(start).collect();
        let referee = contest.begin()?;
        joins.into_iter().for_each(B::join);
        outcome(referee)
    })
}

/// The life of a contender.
fn contend<L>(
    mut contender: Contender,
    locks: &[CachePadded<L>],
    take: impl Fn(&mut Contender, &L),
) {
    while contender.goes_on() {
        contender.work_free();
        let lock = contender.choose(locks);
        take(&mut contender, lock);
        contender.count();
    }
}

/// What the referee, who has ended or is about to, has seen.
pub(crate) fn outcome(referee: JoinHandle<anyhow::Result<Sample>>) -> anyhow::Result<Sample> {
    referee
        .join()
        .unwrap_or_else(|_| Err(anyhow!("the referee panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contest of one.
    fn contest() -> Arc<Contest> {
        Contest::new(Contention {
            processors: 1,
            seconds: 0.0,
            threads: 1,
            locks: 1,
            held: 0,
            free: 0,
        })
    }

    #[test]
    fn every_mutex_is_chosen_about_as_often() {
        let mut contender = contest().contender(0);
        let mutexes: [usize; 16] = std::array::from_fn(|index| index);
        let mut chosen = [0; 16];
        (0..16_000).for_each(|_| chosen[*contender.choose(&mutexes)] += 1);
        assert!(
            chosen.iter().all(|count| (800..1200).contains(count)),
            "{chosen:?}"
        );
    }

    #[test]
    fn so_many_of_a_hundred_are_drawn() {
        let mut contender = contest().contender(0);
        for percent in [0, 10, 50, 100] {
            let drawn = (0..10_000).filter(|_| contender.draws(percent)).count();
            assert!(drawn.abs_diff(percent as usize * 100) < 500, "{drawn}");
        }
    }

    #[test]
    fn contenders_choose_differently() {
        let contest = contest();
        let mutexes: [usize; 1024] = std::array::from_fn(|index| index);
        let choice = |index| {
            let mut contender = contest.contender(index);
            [0; 8].map(|_| *contender.choose(&mutexes))
        };
        assert_ne!(choice(0), choice(1));
    }

    #[test]
    fn a_contest_without_iterations_has_no_outcome() {
        assert!(contest().direct().is_err());
    }
}
