//! Several workers that do the same thing at the same time, each as often as it can.
//!
//! Nobody is given a number of operations of its own, because those who are left behind
//! would then do theirs alone, and the figure would be that of less and less contention.
//! The contest ends for all when one has done its part of the operations asked for, and
//! the time is taken in proportion to what all have done together. So an unfair primitive
//! has a good time here and bad shares ([`shares`](Contest::shares)): look at both.

use super::clock::in_proportion;
use super::gate::Gate;
use super::workers::{Running, Workers};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// The workers that compete, and what they do.
pub(crate) struct Contest<'a, O> {
    /// What runs them.
    workers: &'a Workers,
    /// How many they are.
    participants: usize,
    /// What they do.
    operation: Arc<O>,
}

/// What the participants share besides what they compete for.
struct Course {
    /// Where they start.
    gate: Gate,
    /// Whether it has ended.
    over: AtomicBool,
    /// When it ended.
    ended: OnceLock<Instant>,
}

/// What has come out.
pub(crate) struct Shares {
    /// The operations of each participant.
    pub counts: Vec<u64>,
    /// From the first one's beginning to the end for all. A worker that has not run since learns
    /// of the end later, and does nothing more.
    pub elapsed: Duration,
}

/// What one participant reports.
struct Account {
    /// Its operations.
    count: u64,
    /// When it passed the gate.
    began: Instant,
}

impl<'a, O: Fn() + Send + Sync + 'static> Contest<'a, O> {
    /// A contest that can be held any number of times.
    pub(crate) fn new(workers: &'a Workers, participants: usize, operation: O) -> Self {
        Self {
            workers,
            participants,
            operation: Arc::new(operation),
        }
    }

    /// How long all together take for so many operations.
    pub(crate) fn time(&self, operations: u64) -> Duration {
        let part = operations.div_ceil(self.participants as u64);
        let (course, participants) = self.start(part);
        let shares = course.shares(participants);
        in_proportion(shares.elapsed, operations, shares.counts.iter().sum())
    }

    /// How much each does within a time of about this length.
    pub(crate) fn shares(&self, window: Duration) -> Shares {
        let (course, participants) = self.start(u64::MAX);
        while !course.gate.is_open() {
            thread::yield_now();
        }
        thread::sleep(window);
        course.end();
        course.shares(participants)
    }

    /// Starts it; it is over when one has done `part` operations, or when told so.
    fn start(&self, part: u64) -> (Arc<Course>, Vec<Running<Account>>) {
        let course = Arc::new(Course {
            gate: Gate::new(self.participants, self.workers.processors()),
            over: AtomicBool::new(false),
            ended: OnceLock::new(),
        });
        let participant = |_| {
            let (course, operation) = (Arc::clone(&course), Arc::clone(&self.operation));
            self.workers
                .start(move || course.take_part(part, &*operation))
        };
        let participants = (0..self.participants).map(participant).collect();
        (course, participants)
    }
}

impl Course {
    /// What one participant does.
    fn take_part(&self, part: u64, operation: &impl Fn()) -> Account {
        self.gate.pass();
        let began = Instant::now();
        let mut count = 0;
        while !self.over.load(Ordering::Relaxed) {
            operation();
            count += 1;
            if count == part {
                self.end();
            }
        }
        Account { count, began }
    }

    /// Ends it for all, unless it is over.
    fn end(&self) {
        self.ended.get_or_init(Instant::now);
        self.over.store(true, Ordering::Relaxed);
    }

    /// Waits for all participants, and for the end.
    fn shares(&self, participants: Vec<Running<Account>>) -> Shares {
        let accounts: Vec<_> = participants.into_iter().map(Running::join).collect();
        let began = accounts.iter().map(|account| account.began).min();
        let elapsed = began.zip(self.ended.get().copied());
        Shares {
            counts: accounts.iter().map(|account| account.count).collect(),
            elapsed: elapsed.map_or(Duration::ZERO, |(began, ended)| ended - began),
        }
    }
}
