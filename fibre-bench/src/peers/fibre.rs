//! Ours, with one processor.

use std::panic;

use ::fibre::sync::{Condvar, Mutex};
use ::fibre::{Cluster, JoinHandle};

use super::blocking::{Blocking, Semaphore, Turns};

/// Our fibres.
pub(crate) struct Fibre;

impl Blocking for Fibre {
    type Join = JoinHandle<()>;
    type Semaphore = ::fibre::sync::Semaphore;
    type Turns = FibreTurns;

    fn enter<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
        let cluster = Cluster::builder().processors(1).build()?;
        let joined = cluster.spawn(body).join();
        cluster.stop();
        Ok(joined.unwrap_or_else(|cause| panic::resume_unwind(cause)))
    }

    fn spawn(body: impl FnOnce() + Send + 'static) -> Self::Join {
        ::fibre::spawn(body)
    }

    fn join(join: Self::Join) {
        join.join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause));
    }

    fn yield_now() {
        ::fibre::yield_now();
    }
}

impl Semaphore for ::fibre::sync::Semaphore {
    fn empty() -> Self {
        Self::new(0)
    }

    fn acquire(&self) {
        self.acquire();
    }

    fn release(&self) {
        self.release();
    }
}

/// Turns over our primitives.
pub(crate) struct FibreTurns {
    turn: Mutex<bool>,
    changed: Condvar,
}

impl Turns for FibreTurns {
    fn first() -> Self {
        Self {
            turn: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    fn take(&self, player: bool) {
        let mut turn = self.turn.lock();
        while *turn != player {
            self.changed.wait(&mut turn);
        }
        *turn = !player;
        self.changed.notify_one();
    }
}
