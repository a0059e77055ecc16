//! Condition variables over every kind of mutex: as many are served as there are tokens, and a
//! notification that somebody who gave up did not take is another one's.

use super::course::{Row, row, run};
use super::locks::lock_in;
use super::subject::{Manner, Role, Subject, dwell_briefly};
use crate::support::Random;
use fibre::sync::lock::{
    Barging, Baton, Exchange, Hybrid, RawLock, Settled, SpinThenBlock, Spinning,
};
use fibre::sync::{Condvar, Mutex, MutexGuard};

/// Tokens that are put and taken. An actor that gives up does not look for one again, so a
/// notification that it swallowed would be missing.
struct Tokens<L: RawLock> {
    count: Mutex<usize, L>,
    more: Condvar,
    turns: usize,
    /// Whether all are notified now and then; a lost notification might be made good by that.
    broadcasts: bool,
}

/// The role of those who bring tokens.
const PUT: usize = 0;

impl<L: RawLock> Tokens<L> {
    /// Brings a token, and notifies before or after unlocking.
    fn put(&self, manner: Manner, random: &mut Random) -> bool {
        let Some(mut count) = lock_in(&self.count, manner) else {
            return false;
        };
        *count += 1;
        let held = random.one_in(2).then_some(count);
        if self.broadcasts && random.one_in(4) {
            self.more.notify_all();
        } else {
            self.more.notify_one();
        }
        drop(held);
        true
    }

    /// Takes a token.
    fn take(&self, manner: Manner, random: &mut Random) -> bool {
        let mut count = self.count.lock();
        while *count == 0 {
            if !self.wait_in(&mut count, manner) {
                return false;
            }
        }
        dwell_briefly(random);
        *count -= 1;
        true
    }

    /// Waits in a manner.
    fn wait_in(&self, count: &mut MutexGuard<'_, usize, L>, manner: Manner) -> bool {
        match manner {
            Manner::Forever => {
                self.more.wait(count);
                true
            }
            Manner::Try => false,
            Manner::Timeout(timeout) => self.more.wait_timeout(count, timeout),
            Manner::Within(limit) => self.more.wait_within(count, limit).is_ok(),
        }
    }
}

impl<L: RawLock + 'static> Subject for Tokens<L> {
    fn new(random: &mut Random, turns: usize) -> Self {
        Self {
            count: Mutex::with_lock(0),
            more: Condvar::new(),
            turns,
            broadcasts: random.one_in(3),
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::new("put", self.turns), Role::new("take", self.turns)]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        if role == PUT {
            self.put(manner, random)
        } else {
            self.take(manner, random)
        }
    }

    fn check(&self) {
        let count = self.count.try_lock().expect("nobody has given it back");
        assert_eq!(*count, 0);
    }
}

/// All kinds.
const ROWS: &[Row] = &[
    row::<Tokens<Barging>>("condition, barging mutex"),
    row::<Tokens<SpinThenBlock>>("condition, mutex that spins before it blocks"),
    row::<Tokens<Hybrid>>("condition, hybrid mutex"),
    row::<Tokens<Settled>>("condition, settled mutex"),
    row::<Tokens<Baton>>("condition, mutex that passes the baton"),
    row::<Tokens<Exchange>>("condition, combine-and-exchange mutex"),
    row::<Tokens<Spinning>>("condition, spinning mutex"),
];

#[test]
fn condition_variables() {
    run(ROWS);
}
