//! Counting semaphores: permits that are held and come back, and permits as tokens.

use super::course::{Row, row, run};
use super::subject::{Manner, Role, Subject, dwell};
use crate::support::Random;
use fibre::sync::{Semaphore, SemaphorePermit};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Acquires one permit in a manner.
fn acquire_in(semaphore: &Semaphore, manner: Manner) -> bool {
    match manner {
        Manner::Forever => {
            semaphore.acquire();
            true
        }
        Manner::Try => semaphore.try_acquire(),
        Manner::Timeout(timeout) => semaphore.acquire_timeout(timeout),
        Manner::Within(limit) => semaphore.acquire_within(limit).is_ok(),
    }
}

/// Acquires some permits in a manner.
fn acquire_many_in(semaphore: &Semaphore, count: usize, manner: Manner) -> bool {
    match manner {
        Manner::Forever => {
            semaphore.acquire_many(count);
            true
        }
        Manner::Try => semaphore.try_acquire_many(count),
        Manner::Timeout(timeout) => semaphore.acquire_many_timeout(count, timeout),
        Manner::Within(limit) => semaphore.acquire_many_within(count, limit).is_ok(),
    }
}

/// Acquires permits that come back by themselves.
fn permits_in(semaphore: &Semaphore, count: usize, manner: Manner) -> Option<SemaphorePermit<'_>> {
    match manner {
        Manner::Forever => Some(semaphore.permits(count)),
        Manner::Try => semaphore.try_permits(count),
        Manner::Timeout(timeout) => semaphore.permits_timeout(count, timeout),
        Manner::Within(limit) => semaphore.permits_within(count, limit).ok(),
    }
}

/// Permits that are held for a while, several at once.
struct Permits {
    semaphore: Semaphore,
    most: usize,
    /// How many somebody holds.
    held: AtomicUsize,
    turns: usize,
}

impl Permits {
    /// Holds so many permits, which are the caller's.
    fn hold(&self, count: usize, random: &mut Random) {
        let before = self.held.fetch_add(count, Ordering::SeqCst);
        assert!(before + count <= self.most, "more than there are");
        dwell(random);
        self.held.fetch_sub(count, Ordering::SeqCst);
    }
}

impl Subject for Permits {
    fn new(random: &mut Random, turns: usize) -> Self {
        let most = 1 + random.below(4);
        Self {
            semaphore: Semaphore::new(most),
            most,
            held: AtomicUsize::new(0),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::new("hold", self.turns)]
    }

    fn turn(&self, _: usize, manner: Manner, random: &mut Random) -> bool {
        let count = 1 + random.below(self.most);
        match random.below(3) {
            0 => {
                let acquired = acquire_in(&self.semaphore, manner);
                if acquired {
                    self.hold(1, random);
                    self.semaphore.release();
                }
                acquired
            }
            1 => {
                let acquired = acquire_many_in(&self.semaphore, count, manner);
                if acquired {
                    self.hold(count, random);
                    // In two portions, which may serve different waiters.
                    let first = random.below(count + 1);
                    self.semaphore.release_many(first);
                    self.semaphore.release_many(count - first);
                }
                acquired
            }
            _ => {
                let permits = permits_in(&self.semaphore, count, manner);
                permits.is_some_and(|permits| {
                    self.hold(permits.count(), random);
                    true
                })
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.semaphore.available(), self.most);
        assert!(self.semaphore.try_acquire_many(self.most));
    }
}

/// Permits that some bring and others take.
struct Tokens {
    semaphore: Semaphore,
    turns: usize,
    /// Bringing has begun for so many, and so many have been taken.
    brought: AtomicUsize,
    taken: AtomicUsize,
}

/// The role of those who bring permits.
const BRING: usize = 0;

impl Subject for Tokens {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            semaphore: Semaphore::new(0),
            turns,
            brought: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![
            Role::new("release two", self.turns),
            Role::new("acquire one", 2 * self.turns),
        ]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        if role == BRING {
            self.brought.fetch_add(2, Ordering::SeqCst);
            if random.one_in(2) {
                self.semaphore.release_many(2);
            } else {
                self.semaphore.release();
                dwell(random);
                self.semaphore.release();
            }
            return true;
        }
        let taken = acquire_in(&self.semaphore, manner);
        if taken {
            let taken = 1 + self.taken.fetch_add(1, Ordering::SeqCst);
            assert!(taken <= self.brought.load(Ordering::SeqCst));
        }
        taken
    }

    fn check(&self) {
        assert_eq!(self.semaphore.available(), 0);
    }
}

/// All kinds.
const ROWS: &[Row] = &[
    row::<Permits>("semaphore, held"),
    row::<Tokens>("semaphore, tokens"),
];

#[test]
fn semaphores() {
    run(ROWS);
}
