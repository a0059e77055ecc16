//! Mutexes of every kind: one at a time, and everybody gets in.

use super::course::{Row, row, run};
use super::subject::{Manner, Role, Subject, dwell, dwell_briefly};
use crate::support::Random;
use fibre::sync::lock::{
    Barging, Baton, Exchange, Hybrid, RawLock, Settled, SpinThenBlock, Spinning,
};
use fibre::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// Locks in a manner.
pub fn lock_in<T, L: RawLock>(mutex: &Mutex<T, L>, manner: Manner) -> Option<MutexGuard<'_, T, L>> {
    match manner {
        Manner::Forever => Some(mutex.lock()),
        Manner::Try => mutex.try_lock(),
        Manner::Timeout(timeout) => mutex.lock_timeout(timeout),
        Manner::Within(limit) => mutex.lock_within(limit).ok(),
    }
}

/// A mutex around a plain count of the turns.
struct Locked<L: RawLock, const SPINS: bool> {
    count: Mutex<usize, L>,
    turns: usize,
}

impl<L: RawLock + 'static, const SPINS: bool> Subject for Locked<L, SPINS> {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            count: Mutex::with_lock(0),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::new("lock", self.turns)]
    }

    fn turn(&self, _: usize, manner: Manner, random: &mut Random) -> bool {
        let Some(mut count) = lock_in(&self.count, manner) else {
            return false;
        };
        let before = *count;
        assert!(self.count.try_lock().is_none(), "two have it");
        if SPINS {
            dwell_briefly(random);
        } else {
            dwell(random);
        }
        assert_eq!(*count, before, "somebody else has been in here");
        *count += 1;
        true
    }

    fn check(&self) {
        let now = Instant::now();
        assert!(!self.count.is_locked(), "nobody has given it back");
        let count = self.count.lock_within(now).expect("a free lock is refused");
        assert_eq!(*count, self.turns);
    }
}

/// All kinds.
const ROWS: &[Row] = &[
    row::<Locked<Barging, false>>("mutex, barging"),
    row::<Locked<SpinThenBlock, false>>("mutex, spinning before it blocks"),
    row::<Locked<Hybrid, false>>("mutex, hybrid"),
    row::<Locked<Settled, false>>("mutex, hybrid and settled"),
    row::<Locked<Baton, false>>("mutex, passing the baton"),
    row::<Locked<Exchange, false>>("mutex, combine and exchange"),
    row::<Locked<Spinning, true>>("mutex, spinning"),
];

#[test]
fn locks() {
    run(ROWS);
}
