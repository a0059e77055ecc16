//! Kernel threads, with the mutex and condition variable of std and the
//! semaphore of the C library.

use std::cell::UnsafeCell;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::{mem, panic};

use super::blocking::{Blocking, Semaphore, Turns};

/// Stack of a thread: small, as for a thread per connection.
const STACK: usize = 64 << 10;

/// std's threads.
pub(crate) struct Thread;

impl Blocking for Thread {
    type Join = JoinHandle<()>;
    type Semaphore = PosixSemaphore;
    type Turns = StdTurns;

    fn enter<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
        Ok(body())
    }

    fn spawn(body: impl FnOnce() + Send + 'static) -> Self::Join {
        match thread::Builder::new().stack_size(STACK).spawn(body) {
            Ok(join) => join,
            Err(error) => panic!("the system gives no more threads: {error}"),
        }
    }

    fn join(join: Self::Join) {
        join.join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause));
    }

    fn yield_now() {
        thread::yield_now();
    }
}

/// `sem_t`, boxed because it must not move.
pub(crate) struct PosixSemaphore(Box<UnsafeCell<libc::sem_t>>);

// SAFETY: a `sem_t` is made to be used by several threads at once, and nothing
// else gives access to the cell.
unsafe impl Sync for PosixSemaphore {}

impl Semaphore for PosixSemaphore {
    fn empty() -> Self {
        // SAFETY: `sem_t` is plain data, for which zeros are a value.
        let semaphore = Box::new(UnsafeCell::new(unsafe { mem::zeroed() }));
        // SAFETY: the pointer is valid, and the box keeps the semaphore where
        // it is from here on.
        unsafe { libc::sem_init(semaphore.get(), 0, 0) };
        Self(semaphore)
    }

    fn acquire(&self) {
        // SAFETY: the semaphore was initialised by `empty` and lives as long
        // as `self`. A signal may end the wait early, hence the loop.
        while unsafe { libc::sem_wait(self.0.get()) } != 0 {}
    }

    fn release(&self) {
        // SAFETY: as in `acquire`.
        unsafe { libc::sem_post(self.0.get()) };
    }
}

/// Turns over std's primitives.
pub(crate) struct StdTurns {
    turn: Mutex<bool>,
    changed: Condvar,
}

impl Turns for StdTurns {
    fn first() -> Self {
        Self {
            turn: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    fn take(&self, player: bool) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        while *turn != player {
            turn = self
                .changed
                .wait(turn)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *turn = !player;
        self.changed.notify_one();
    }
}
