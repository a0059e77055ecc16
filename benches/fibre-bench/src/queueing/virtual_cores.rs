//! The program itself, on virtual cores: T fibres that sleep instead of computing.
//!
//! The models give each thread a core of its own. A machine with fewer cores than threads can still
//! show what they say if no loop needs a core: both loops are sleeps here, and fibres lock fibre
//! mutexes. A core is in use while a fibre is in a loop, so the utilisation is the number of fibres
//! that are in their loops on average: the time that all of them spent there, over that of the
//! measurement. A sleep that ends late, as on a busy machine, is a longer loop. What the measured
//! utilisation misses of the model's is what locks and the wake-ups of their waiters cost.
//!
//! Several *contests*, each with its own number of fibres and its own locks, may run side by side
//! on one cluster, since nearly all fibres of each sleep nearly all the time. A fibre first sleeps
//! for a random part of a cycle, so that the fibres of a contest do not march in step. The calling
//! thread is the referee: it reads all sums after a warm-up, and again at the end.
//!
//! A sum has many writers and one reader, which needs no order among them: a loop more or less does
//! not matter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use crossbeam_utils::CachePadded;
use fastrand::Rng;
use fibre::sync::Mutex;
use fibre::{Builder, Cluster, JoinHandle};

use super::{Program, mva};

/// Iterations of each fibre that pass before any time counts.
const WARM_UP: f64 = 5.0;
/// Iterations of one fibre that a measurement has to have room for: fewer are too coarse.
const LEAST_CYCLES: u32 = 10;

/// How to measure.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Kernel threads of the cluster.
    pub processors: usize,
    /// Wall time of what counts.
    pub window: Duration,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// One number of fibres, and what they share.
struct Contest {
    program: Program,
    threads: usize,
    locks: Box<[CachePadded<Mutex<()>>]>,
    /// Nanoseconds that all its fibres have spent in loops.
    spent: CachePadded<AtomicU64>,
    /// Whether it is over.
    over: CachePadded<AtomicBool>,
}

impl Setting {
    /// Utilisation by each of these numbers of fibres, in cores, all measured side by side. Blocks
    /// the calling thread, which is not to be a fibre, for the window, a warm-up of a few cycles,
    /// and the iterations that are under way at the end.
    ///
    /// # Errors
    ///
    /// If the window has no room for ten cycles, or the system has none for so many fibres.
    pub fn utilisations(&self, program: &Program, threads: &[usize]) -> anyhow::Result<Vec<f64>> {
        self.check(program)?;
        let cluster = Cluster::builder().processors(self.processors).build()?;
        let contests: Vec<Arc<Contest>> = threads
            .iter()
            .map(|&threads| Contest::new(program, threads))
            .collect();
        let started = self.start(&cluster, &contests);
        let measured = match &started {
            Ok(_) => self.referee(&contests),
            Err(_) => Vec::new(),
        };
        for contest in &contests {
            contest.over.store(true, Ordering::Relaxed);
        }
        for fibre in started? {
            fibre.join().map_err(|_| anyhow!("a fibre panicked"))?;
        }
        cluster.stop();
        Ok(measured)
    }

    /// Whether the window has room for a measurement.
    ///
    /// # Errors
    ///
    /// If it is shorter than ten cycles.
    pub fn check(&self, program: &Program) -> anyhow::Result<()> {
        ensure!(
            self.window / LEAST_CYCLES >= program.cycle(),
            "a window of {:?} is too short: it takes {LEAST_CYCLES} cycles of {:?} or more",
            self.window,
            program.cycle()
        );
        Ok(())
    }

    /// Starts the fibres of all contests.
    fn start(
        &self,
        cluster: &Cluster,
        contests: &[Arc<Contest>],
    ) -> anyhow::Result<Vec<JoinHandle<()>>> {
        let mut seeds = Rng::with_seed(self.seed);
        let mut fibres = Vec::new();
        for contest in contests {
            for _ in 0..contest.threads {
                let (contest, random) = (Arc::clone(contest), seeds.fork());
                let fibre = Builder::new().spawn_in(cluster, move || contest.contend(random));
                fibres.push(fibre.context("starting a fibre")?);
            }
        }
        Ok(fibres)
    }

    /// Lets the time pass, and evaluates what happened.
    fn referee(&self, contests: &[Arc<Contest>]) -> Vec<f64> {
        let sums = || {
            let contests = contests.iter();
            contests.map(|contest| contest.spent.load(Ordering::Relaxed))
        };
        let longest = contests.iter().map(|contest| contest.iteration());
        thread::sleep(longest.max().unwrap_or_default().mul_f64(WARM_UP));
        let start = Instant::now();
        let before: Vec<u64> = sums().collect();
        thread::sleep(self.window);
        let after: Vec<u64> = sums().collect();
        let elapsed = start.elapsed().as_nanos() as f64;
        let pairs = before.iter().zip(&after);
        pairs
            .map(|(before, after)| (after - before) as f64 / elapsed)
            .collect()
    }
}

impl Contest {
    /// A contest that has not begun.
    fn new(program: &Program, threads: usize) -> Arc<Self> {
        Arc::new(Self {
            program: *program,
            threads,
            locks: (0..program.locks())
                .map(|_| CachePadded::default())
                .collect(),
            spent: CachePadded::default(),
            over: CachePadded::default(),
        })
    }

    /// About how long an iteration takes one of its fibres, waiting included.
    fn iteration(&self) -> Duration {
        let throughput = mva::throughput(&self.program, self.threads);
        Duration::try_from_secs_f64(self.threads as f64 / throughput).unwrap_or_default()
    }

    /// The life of a fibre.
    fn contend(&self, mut random: Rng) {
        fibre::sleep(self.program.cycle().mul_f64(random.f64()));
        while !self.over.load(Ordering::Relaxed) {
            self.spend(self.program.outside());
            if let Some(lock) = random.choice(&self.locks) {
                let _held = lock.lock();
                self.spend(self.program.critical());
            }
        }
    }

    /// One loop.
    fn spend(&self, length: Duration) {
        let start = Instant::now();
        fibre::sleep(length);
        let spent = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.spent.fetch_add(spent, Ordering::Relaxed);
    }
}
