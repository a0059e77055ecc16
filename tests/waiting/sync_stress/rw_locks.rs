//! Read-write locks: writers alone, readers among themselves, and both sides get in.

use super::course::{Row, row, run};
use super::subject::{Manner, Role, Subject, dwell};
use crate::support::Random;
use fibre::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A count of the writers' turns, written down twice.
struct Shared {
    counts: RwLock<[usize; 2]>,
    /// How many are in there now.
    readers: AtomicUsize,
    writers: AtomicUsize,
    turns: usize,
}

/// The role of those who write.
const WRITE: usize = 0;

/// Locks for reading in a manner.
fn read_in<T>(lock: &RwLock<T>, manner: Manner) -> Option<RwLockReadGuard<'_, T>> {
    match manner {
        Manner::Forever => Some(lock.read()),
        Manner::Try => lock.try_read(),
        Manner::Timeout(timeout) => lock.read_timeout(timeout),
        Manner::Within(limit) => lock.read_within(limit).ok(),
    }
}

/// Locks for writing in a manner.
fn write_in<T>(lock: &RwLock<T>, manner: Manner) -> Option<RwLockWriteGuard<'_, T>> {
    match manner {
        Manner::Forever => Some(lock.write()),
        Manner::Try => lock.try_write(),
        Manner::Timeout(timeout) => lock.write_timeout(timeout),
        Manner::Within(limit) => lock.write_within(limit).ok(),
    }
}

impl Shared {
    /// Reads for a while.
    fn read(&self, counts: &RwLockReadGuard<'_, [usize; 2]>, random: &mut Random) {
        let before = **counts;
        assert_eq!(before[0], before[1], "half written");
        self.readers.fetch_add(1, Ordering::SeqCst);
        dwell(random);
        assert_eq!(self.writers.load(Ordering::SeqCst), 0);
        self.readers.fetch_sub(1, Ordering::SeqCst);
        assert_eq!(**counts, before, "written while it was read");
    }

    /// Writes for a while.
    fn write(&self, counts: &mut RwLockWriteGuard<'_, [usize; 2]>, random: &mut Random) {
        assert_eq!(self.writers.fetch_add(1, Ordering::SeqCst), 0);
        counts[0] += 1;
        dwell(random);
        counts[1] += 1;
        assert_eq!(self.readers.load(Ordering::SeqCst), 0);
        self.writers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Subject for Shared {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            counts: RwLock::new([0; 2]),
            readers: AtomicUsize::new(0),
            writers: AtomicUsize::new(0),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![
            Role::new("write", self.turns / 2),
            Role::new("read", self.turns),
        ]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        if role != WRITE {
            let counts = read_in(&self.counts, manner);
            return counts.is_some_and(|counts| {
                self.read(&counts, random);
                true
            });
        }
        let Some(mut counts) = write_in(&self.counts, manner) else {
            return false;
        };
        self.write(&mut counts, random);
        if random.one_in(3) {
            let counts = RwLockWriteGuard::downgrade(counts);
            self.read(&counts, random);
        }
        true
    }

    fn check(&self) {
        let counts = self.counts.try_write().expect("nobody has given it back");
        assert_eq!(*counts, [self.turns / 2; 2]);
    }
}

/// The only kind.
const ROWS: &[Row] = &[row::<Shared>("read-write lock")];

#[test]
fn read_write_locks() {
    run(ROWS);
}
