//! Many deadlines pass at once, and a fibre that is ready all the time runs in between.
//!
//! What is counted is how many sleepers run between two runs of that fibre, however long that
//! takes: a processor lets in no more of them than have had their turn. All is on one
//! processor, which is busy from before the first deadline until after the last one, so
//! that none of them wakes up before the counting begins.

use crate::support::watched;
use fibre::Cluster;
use fibre::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Sleepers of one crowd.
const SLEEPERS: usize = 20_000;

/// So many of them may run between two runs of another fibre: a few batches.
const MOST: usize = 500;

/// What the fibres of one trial have in common.
struct Crowd {
    /// When all of them are to wake up.
    due: Instant,
    /// How many have begun to sleep, and how many of these did so in time.
    begun: AtomicUsize,
    in_time: AtomicUsize,
    /// How many are awake again.
    awake: AtomicUsize,
    /// Whether the counting fibre is the only one on the processor.
    alone: AtomicBool,
    /// Whether it may go on.
    go: AtomicBool,
}

impl Crowd {
    /// A crowd of nobody; its fibres will sleep for so long.
    fn new(time: Duration) -> Arc<Self> {
        Arc::new(Self {
            due: Instant::now() + time,
            begun: AtomicUsize::new(0),
            in_time: AtomicUsize::new(0),
            awake: AtomicUsize::new(0),
            alone: AtomicBool::new(false),
            go: AtomicBool::new(false),
        })
    }

    /// What a sleeper does.
    fn sleep(&self) {
        let early = Instant::now() < self.due;
        self.in_time.fetch_add(usize::from(early), Ordering::SeqCst);
        self.begun.fetch_add(1, Ordering::SeqCst);
        fibre::sleep_until(self.due);
        assert!(Instant::now() >= self.due);
        self.awake.fetch_add(1, Ordering::SeqCst);
    }

    /// What the fibre does that counts: the largest number of sleepers between two of its runs.
    /// None if some of them had been awake before.
    fn count(&self, sleepers: usize) -> Option<usize> {
        while self.begun.load(Ordering::SeqCst) < sleepers {
            fibre::yield_now();
        }
        // The processor is busy until all are due.
        self.alone.store(true, Ordering::SeqCst);
        while !self.go.load(Ordering::SeqCst) || Instant::now() < self.due {
            thread::sleep(Duration::from_millis(1));
        }
        let (mut before, mut most) = (self.awake.load(Ordering::SeqCst), 0);
        while before < sleepers {
            fibre::yield_now();
            let now = self.awake.load(Ordering::SeqCst);
            most = most.max(now - before);
            before = now;
        }
        (self.in_time.load(Ordering::SeqCst) == sleepers).then_some(most)
    }
}

/// Checks that not too many of so many sleepers run in a row. Each does `after` when it wakes
/// up; `meanwhile` happens when all are asleep, and the processor does nothing.
fn check(sleepers: usize, after: fn(), meanwhile: fn(&Cluster)) {
    let mut time = Duration::from_millis(200);
    let most = loop {
        // With shorter slices those who are slow take several turns each, and there are more of
        // them in a round.
        let builder = Cluster::builder().slice(Duration::from_micros(20));
        let builder = builder.processors(1).stack_size(32 * 1024);
        // Sleepers of a spare processor would run beside the witness.
        let cluster = builder.max_spare_processors(0).build().unwrap();
        let crowd = Crowd::new(time);
        for _ in 0..sleepers {
            let crowd = Arc::clone(&crowd);
            cluster.spawn(move || {
                crowd.sleep();
                after();
            });
        }
        let witness = Arc::clone(&crowd);
        let witness = cluster.spawn(move || witness.count(sleepers));
        while !crowd.alone.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        meanwhile(&cluster);
        crowd.go.store(true, Ordering::SeqCst);
        let most = witness.join().unwrap();
        cluster.stop();
        match most {
            Some(most) => break most,
            // The machine was too slow to have all asleep in time.
            None => time *= 2,
        }
    };
    assert!(
        most <= MOST,
        "{most} of {sleepers} ran between two runs of another"
    );
}

/// They end at once.
#[test]
fn many_deadlines_at_once_starve_nobody() {
    watched(|| check(SLEEPERS, || (), |_| ()));
}

/// There are as many fibres that have not started yet, which run in turn with those that have.
#[test]
fn many_deadlines_beside_new_fibres_starve_nobody() {
    let spawn_many = |cluster: &Cluster| {
        for _ in 0..SLEEPERS {
            cluster.spawn(|| ());
        }
    };
    watched(|| check(SLEEPERS, || (), spawn_many));
}

/// They run for longer than a processor goes without a look at its deadlines, and then come by
/// points where it plans one.
#[test]
fn many_deadlines_of_slow_fibres_starve_nobody() {
    let be_slow = || {
        thread::sleep(Duration::from_micros(250));
        let lock = Mutex::new(());
        (0..4).for_each(|_| drop(lock.lock()));
    };
    watched(|| check(2000, be_slow, |_| ()));
}
