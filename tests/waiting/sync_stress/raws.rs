//! The raw forms: the same turns as with their counterparts, told by error codes; and all of
//! them can be destroyed as soon as the last user has gone.

use super::course::{Row, row, run};
use super::subject::{Manner, Role, Subject, dwell, dwell_briefly};
use crate::support::Random;
use fibre::Limit;
use fibre::sync::raw::{
    Condvar, Error, Kind, Mutex, Result, RwKind, RwLock, Semaphore, Variant, Wait,
};
use std::cell::UnsafeCell;
use std::time::Instant;

/// The same as a value, for all but [`Manner::Try`].
fn wait_of(manner: Manner) -> Wait {
    match manner {
        Manner::Forever | Manner::Try => Wait::FOREVER,
        Manner::Timeout(timeout) => {
            let deadline = Instant::now().checked_add(timeout);
            deadline.map_or(Wait::FOREVER, Wait::until)
        }
        Manner::Within(limit) => {
            let deadline = limit.deadline();
            deadline.map_or(Wait::FOREVER, Wait::until).cancellable()
        }
    }
}

/// Whether a call has succeeded, or failed as it may in this manner.
fn succeeded(result: Result, manner: Manner) -> bool {
    match (result, manner) {
        (Ok(()), _) => true,
        (Err(Error::Busy | Error::Again), Manner::Try)
        | (Err(Error::TimedOut), Manner::Timeout(_) | Manner::Within(Limit::Deadline(_)))
        | (Err(Error::Cancelled), Manner::Within(_)) => false,
        (Err(error), _) => panic!("{error:?} in {manner:?}"),
    }
}

/// Tokens under a mutex of any kind, and a condition variable.
struct Tokens {
    mutex: Mutex,
    more: Condvar,
    /// Under the mutex.
    count: UnsafeCell<usize>,
    turns: usize,
}

// SAFETY: the count is used under the mutex only.
unsafe impl Sync for Tokens {}

/// The role of those who bring tokens, permits, or other values.
const PUT: usize = 0;

impl Tokens {
    /// Locks in a manner.
    fn lock(&self, manner: Manner) -> bool {
        let locked = match manner {
            Manner::Try => self.mutex.try_lock(),
            _ => self.mutex.lock(wait_of(manner)),
        };
        succeeded(locked, manner)
    }

    /// Unlocks, for one who has locked.
    fn unlock(&self) {
        // SAFETY: the caller's.
        unsafe { self.mutex.unlock().unwrap() };
    }

    /// How many there are, for the one who has the mutex.
    #[allow(clippy::mut_from_ref, reason = "the mutex gives it to one at a time")]
    fn count(&self) -> &mut usize {
        // SAFETY: the mutex is the caller's, who has one reference at a time.
        unsafe { &mut *self.count.get() }
    }

    /// Takes a token, as the one who has the mutex.
    fn take(&self, manner: Manner, random: &mut Random) -> bool {
        while *self.count() == 0 {
            if matches!(manner, Manner::Try) {
                return false;
            }
            // SAFETY: the mutex is the caller's.
            let waited = unsafe { self.more.wait(&self.mutex, wait_of(manner)) };
            if !succeeded(waited, manner) {
                return false;
            }
        }
        dwell_briefly(random);
        *self.count() -= 1;
        true
    }
}

impl Subject for Tokens {
    fn new(random: &mut Random, turns: usize) -> Self {
        let kinds = [Kind::Normal, Kind::ErrorCheck, Kind::Recursive];
        Self {
            mutex: Mutex::with_variant(
                kinds[random.below(kinds.len())],
                Variant::from_number(random.below(6) as u32).unwrap(),
            ),
            more: Condvar::new(),
            count: UnsafeCell::new(0),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::new("put", self.turns), Role::new("take", self.turns)]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        if role != PUT {
            assert!(self.lock(Manner::Forever));
            let taken = self.take(manner, random);
            self.unlock();
            return taken;
        }
        if !self.lock(manner) {
            return false;
        }
        *self.count() += 1;
        self.unlock();
        self.more.signal().unwrap();
        true
    }

    fn check(&self) {
        self.more.destroy().unwrap();
        self.mutex.destroy().unwrap();
        assert_eq!(*self.count(), 0);
    }
}

/// Permits that some bring and others take.
struct Permits {
    semaphore: Semaphore,
    turns: usize,
}

impl Subject for Permits {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            semaphore: Semaphore::new(0).unwrap(),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::new("post", self.turns), Role::new("wait", self.turns)]
    }

    fn turn(&self, role: usize, manner: Manner, _: &mut Random) -> bool {
        let result = match (role, manner) {
            (PUT, _) => self.semaphore.post(),
            (_, Manner::Try) => self.semaphore.try_wait(),
            _ => self.semaphore.wait(wait_of(manner)),
        };
        succeeded(result, manner)
    }

    fn check(&self) {
        assert_eq!(self.semaphore.value(), Ok(0));
        self.semaphore.destroy().unwrap();
    }
}

/// A count of the writers' turns.
struct Shared {
    lock: RwLock,
    /// Under the lock.
    count: UnsafeCell<usize>,
    turns: usize,
}

// SAFETY: the count is used under the lock only.
unsafe impl Sync for Shared {}

impl Shared {
    /// The count at this moment, for one who has the lock.
    fn count(&self) -> usize {
        // SAFETY: nobody writes while the caller has it.
        unsafe { self.count.get().read_volatile() }
    }
}

impl Subject for Shared {
    fn new(random: &mut Random, turns: usize) -> Self {
        let kinds = [RwKind::PreferReader, RwKind::PreferWriterNonrecursive];
        Self {
            lock: RwLock::with_kind(kinds[random.below(kinds.len())]),
            count: UnsafeCell::new(0),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![
            Role::new("write", self.turns),
            Role::new("read", self.turns),
        ]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        let result = match (role, manner) {
            (PUT, Manner::Try) => self.lock.try_write(),
            (PUT, _) => self.lock.write(wait_of(manner)),
            (_, Manner::Try) => self.lock.try_read(),
            _ => self.lock.read(wait_of(manner)),
        };
        if !succeeded(result, manner) {
            return false;
        }
        let before = self.count();
        dwell(random);
        assert_eq!(self.count(), before, "somebody has written meanwhile");
        // SAFETY: a writer is alone; the lock is the caller's.
        unsafe {
            if role == PUT {
                self.count.get().write_volatile(before + 1);
            }
            self.lock.unlock().unwrap();
        }
        true
    }

    fn check(&self) {
        self.lock.destroy().unwrap();
        assert_eq!(self.count(), self.turns);
    }
}

/// All kinds.
const ROWS: &[Row] = &[
    row::<Tokens>("raw condition variable"),
    row::<Permits>("raw semaphore"),
    row::<Shared>("raw read-write lock"),
];

#[test]
fn raw_forms() {
    run(ROWS);
}
