//! Events that share an array by two: a thief should be a neighbour of its victim.
//!
//! One processor of each pair begins with a hundred events *A*. Each makes an array that fits into
//! a cache, and posts two events *B* of different colours to its processor. Each of these sorts a
//! half, and posts an event *C* of the array's colour; the second of these merges.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::ensure;
use fastrand::Rng;
use fibre_events::{Events, Handler, Report};

use super::check;

static FORK: Handler = Handler::new("fork").time_us(1);
static MAKE: Handler = Handler::new("A").time_us(10);
static SORT: Handler = Handler::new("B").time_us(80);
static JOIN: Handler = Handler::new("C").time_us(5);

/// Numbers of an array: 32 KB.
const NUMBERS: usize = 8 * 1024;

/// Events of an array.
pub const EVENTS: u64 = 5;

/// The program with its parameters.
#[derive(Debug, Clone)]
pub struct CacheEfficient {
    /// Arrays of a round, for each pair of processors.
    pub arrays: u64,
    /// How many rounds there are.
    pub rounds: u64,
}

impl Default for CacheEfficient {
    /// A round of the paper's size.
    fn default() -> Self {
        Self {
            arrays: 100,
            rounds: 1,
        }
    }
}

/// What a run has come to.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Outcome {
    /// What the events say of it.
    pub report: Report,
    /// Halves that were sorted elsewhere than where their array was made.
    pub moved: u64,
}

/// What all events of a run share.
struct World {
    events: Events,
    arrays: u64,
    processors: u64,
    /// Rounds that have not begun.
    rounds: AtomicU64,
    /// Arrays of this round that have not been merged.
    left: AtomicU64,
    /// A number that no colour has had.
    next: AtomicU64,
    moved: AtomicU64,
    /// Arrays that were not in order.
    wrong: AtomicU64,
}

/// An array with halves that are sorted by two events.
struct Array {
    colour: u64,
    /// Where it was made.
    processor: Option<usize>,
    halves: [Mutex<Vec<u32>>; 2],
    /// Halves that have been sorted, which events of its colour count.
    sorted: AtomicU64,
}

impl CacheEfficient {
    /// Arrays of a round on so many processors.
    #[must_use]
    pub fn of_round(&self, processors: u64) -> u64 {
        self.arrays * processors.div_ceil(2)
    }

    /// Runs the rounds, which ends these events. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When an event has not run, or an array is not in order.
    pub fn run(&self, events: &Events) -> anyhow::Result<Outcome> {
        let processors = events.cluster().processors() as u64;
        let world = Arc::new(World {
            events: events.clone(),
            arrays: self.arrays,
            processors,
            rounds: AtomicU64::new(self.rounds),
            left: AtomicU64::new(0),
            next: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
        });
        let first = Arc::clone(&world);
        events.post(0, FORK.with(move || first.fork()));
        let report = events.run();
        // A fork for each round, and one that finds no more.
        let all = self.rounds * (self.of_round(processors) * EVENTS + 1) + 1;
        check(&report, all)?;
        let wrong = world.wrong.load(Relaxed);
        ensure!(wrong == 0, "{wrong} arrays are not in order");
        Ok(Outcome {
            report,
            moved: world.moved.load(Relaxed),
        })
    }
}

impl World {
    /// A colour that begins on a processor and that nobody has had.
    fn colour(&self, processor: u64) -> u64 {
        (self.next.fetch_add(1, Relaxed) + 1) * self.processors + processor
    }

    /// Posts the first events of a round, to one processor of each pair.
    fn fork(self: &Arc<Self>) {
        if self.rounds.load(Relaxed) == 0 {
            self.events.stop();
            return;
        }
        self.rounds.fetch_sub(1, Relaxed);
        let pairs = self.processors.div_ceil(2);
        self.left.store(self.arrays * pairs, Relaxed);
        for number in 0..self.arrays * pairs {
            let (world, processor) = (Arc::clone(self), number % pairs * 2);
            let colour = self.colour(processor);
            let event = MAKE.with(move || world.make(colour, processor));
            self.events.post(colour, event);
        }
    }

    /// Makes an array, and has its halves sorted.
    fn make(self: &Arc<Self>, colour: u64, home: u64) {
        let mut random = Rng::with_seed(colour);
        let mut half = || {
            let numbers = (0..NUMBERS / 2).map(|_| random.u32(..));
            Mutex::new(numbers.collect())
        };
        let array = Arc::new(Array {
            colour,
            processor: fibre::processor(),
            halves: [half(), half()],
            sorted: AtomicU64::new(0),
        });
        for index in 0..2 {
            let (world, array) = (Arc::clone(self), Arc::clone(&array));
            let event = SORT.with(move || world.sort(&array, index));
            self.events.post(self.colour(home), event);
        }
    }

    /// Sorts a half.
    fn sort(self: &Arc<Self>, array: &Arc<Array>, index: usize) {
        let half = array.halves[index].lock();
        half.unwrap_or_else(PoisonError::into_inner).sort_unstable();
        if fibre::processor() != array.processor {
            self.moved.fetch_add(1, Relaxed);
        }
        let (world, array) = (Arc::clone(self), Arc::clone(array));
        let colour = array.colour;
        self.events
            .post(colour, JOIN.with(move || world.join(&array)));
    }

    /// Merges an array when both halves are sorted. The last one begins the next round.
    fn join(self: &Arc<Self>, array: &Array) {
        if array.sorted.fetch_add(1, Relaxed) == 0 {
            return;
        }
        let [one, other] = array.halves.each_ref().map(|half| {
            let mut half = half.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *half)
        });
        let merged = merge(&one, &other);
        if merged.len() != NUMBERS || !merged.is_sorted() {
            self.wrong.fetch_add(1, Relaxed);
        }
        if self.left.fetch_sub(1, Relaxed) == 1 {
            let world = Arc::clone(self);
            self.events.post(0, FORK.with(move || world.fork()));
        }
    }
}

/// All numbers of both, in order if each is.
fn merge(one: &[u32], other: &[u32]) -> Vec<u32> {
    let mut merged = Vec::with_capacity(one.len() + other.len());
    let (mut ones, mut others) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(a), Some(b)) = (ones.peek(), others.peek()) {
        let next = if a <= b { ones.next() } else { others.next() };
        merged.extend(next);
    }
    merged.extend(ones);
    merged.extend(others);
    merged
}
