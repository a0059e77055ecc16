//! The program in simulated time, with constant or with exponential loops.
//!
//! A lock serves threads in order of arrival, so the moment of a thread's arrival decides when it
//! has the lock: at once, or when the last one that came before has let go. The only events are
//! therefore arrivals at locks. They wait in a heap, the earliest on top; each is taken out once,
//! and put back with the arrival of the same thread's next iteration. Of two at the same moment,
//! the one that was put in first comes first. With the seed, that makes every run the same.
//!
//! Each thread begins at a random moment of the first cycle. Iterations count once the network has
//! forgotten its start.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Duration;

use fastrand::Rng;

use super::Program;
use crate::random::exponential;

/// Share of the iterations that passes before any counts.
const WARM_UP: f64 = 0.1;

/// How long loops are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loops {
    /// Each as long as its mean, as algorithm 1 has them.
    Constant,
    /// Exponentially distributed, as MVA assumes.
    Exponential,
}

/// What a simulation is to do.
#[derive(Debug, Clone, Copy)]
pub struct Simulation {
    /// How long critical sections are.
    pub critical: Loops,
    /// How long loops outside of them are.
    pub outside: Loops,
    /// Iterations that count, of all threads together.
    pub iterations: usize,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// A thread that comes to a lock.
#[derive(Debug, PartialEq)]
struct Arrival {
    /// When, in seconds.
    moment: f64,
    /// Orders those of one moment.
    number: u64,
}

impl Simulation {
    /// A simulation with all loops of this kind.
    #[must_use]
    pub fn of(loops: Loops, iterations: usize, seed: u64) -> Self {
        Self {
            critical: loops,
            outside: loops,
            iterations,
            seed,
        }
    }

    /// Utilisation by this many threads, in cores; 0 without threads. Takes about 0.1 µs for each
    /// iteration.
    #[must_use]
    pub fn utilisation(&self, program: &Program, threads: usize) -> f64 {
        let mut random = Rng::with_seed(self.seed);
        let cycle = program.cycle().as_secs_f64();
        let starts = (0..threads as u64).map(|number| Arrival {
            moment: random.f64() * cycle,
            number,
        });
        let mut arrivals: BinaryHeap<Reverse<Arrival>> = starts.map(Reverse).collect();
        let mut free_at = vec![0.0_f64; program.locks()];
        let warm_up = (WARM_UP * self.iterations as f64) as u64;
        let (mut begin, mut end) = (0.0, 0.0);
        for number in 0..warm_up + self.iterations as u64 {
            let Some(Reverse(arrival)) = arrivals.pop() else {
                return 0.0;
            };
            if number == warm_up {
                begin = arrival.moment;
            }
            end = arrival.moment;
            let lock = &mut free_at[random.usize(..program.locks())];
            *lock =
                lock.max(arrival.moment) + self.critical.length(program.critical(), &mut random);
            arrivals.push(Reverse(Arrival {
                moment: *lock + self.outside.length(program.outside(), &mut random),
                number: threads as u64 + number,
            }));
        }
        // The last arrival ends the time and belongs to what follows.
        program.utilisation((self.iterations as f64 - 1.0) / (end - begin))
    }
}

impl Loops {
    /// The length of the next loop, in seconds.
    fn length(self, mean: Duration, random: &mut Rng) -> f64 {
        match self {
            Self::Constant => mean.as_secs_f64(),
            Self::Exponential => exponential(random, mean.as_secs_f64()),
        }
    }
}

impl Eq for Arrival {}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_moment = self.moment.total_cmp(&other.moment);
        by_moment.then(self.number.cmp(&other.number))
    }
}
