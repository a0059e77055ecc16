//! `may` with one worker.

use std::panic;
use std::sync::PoisonError;

use ::may::coroutine::{self, JoinHandle};
use ::may::sync::{Condvar, Mutex, Semphore};

use super::blocking::{Blocking, Semaphore, Turns};

/// may's coroutines.
pub(crate) struct May;

impl Blocking for May {
    type Join = JoinHandle<()>;
    type Semaphore = Semphore;
    type Turns = MayTurns;

    fn enter<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
        ::may::config().set_workers(1);
        let joined = ::may::go!(body).join();
        Ok(joined.unwrap_or_else(|cause| panic::resume_unwind(cause)))
    }

    fn spawn(body: impl FnOnce() + Send + 'static) -> Self::Join {
        ::may::go!(body)
    }

    fn join(join: Self::Join) {
        join.join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause));
    }

    fn yield_now() {
        coroutine::yield_now();
    }
}

impl Semaphore for Semphore {
    fn empty() -> Self {
        Self::new(0)
    }

    fn acquire(&self) {
        self.wait();
    }

    fn release(&self) {
        self.post();
    }
}

/// Turns over may's primitives.
pub(crate) struct MayTurns {
    turn: Mutex<bool>,
    changed: Condvar,
}

impl Turns for MayTurns {
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
