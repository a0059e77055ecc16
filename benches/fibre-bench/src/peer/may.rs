//! `may`: stackful coroutines on work-stealing workers.

use std::panic;
use std::sync::PoisonError;
use std::time::Duration;

use ::may::coroutine::{self, JoinHandle};
use ::may::sync::mpsc::{self, Receiver, Sender};
use ::may::sync::{Condvar, Mutex, Semphore};

use super::blocking::{Blocking, Line, Lock, Semaphore, Stacked, Turns};
use super::protocol::Workload;
use super::wires::MayWire;
use super::workloads::{
    blocked, mutexes, pingpong, skynet, sleep, spawning, stream, unit, yielding,
};

/// What this peer is measured with.
pub fn workloads() -> Vec<Workload> {
    let mut workloads = vec![
        Workload::new("yield", yielding::blocking::<May>),
        Workload::new("spawn", spawning::blocking::<May>),
        Workload::new("semaphore", pingpong::semaphores::<May>),
        Workload::new("channel", pingpong::lines::<May, MayLine>),
        Workload::new("stream", stream::blocking::<May, MayWire>),
        Workload::new("work", unit::plain),
        Workload::new("blocked", blocked::blocking::<May>),
        Workload::new("skynet", skynet::blocking::<May>),
        Workload::new("sleep", sleep::blocking::<May>),
    ];
    workloads.extend(mutexes::workloads::<May, Mutex<()>, MayTurns>(&[]));
    workloads
}

/// may's coroutines.
struct May;

impl Blocking for May {
    type Join<T: Send + 'static> = JoinHandle<T>;
    type Semaphore = Semphore;

    fn enter<T: Send + 'static>(
        processors: usize,
        body: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        ::may::config().set_workers(processors);
        Self::join(Self::spawn(body))
    }

    fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        ::may::go!(body)
    }

    fn join<T: Send + 'static>(join: JoinHandle<T>) -> T {
        join.join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause))
    }

    fn yield_now() {
        coroutine::yield_now();
    }

    fn sleep(duration: Duration) {
        coroutine::sleep(duration);
    }
}

impl Stacked for May {
    type SizedJoin = JoinHandle<()>;

    fn spawn_sized(
        stack: Option<usize>,
        body: impl FnOnce() + Send + 'static,
    ) -> anyhow::Result<JoinHandle<()>> {
        // The default is 32 KiB, and only touched pages of it exist, and stacks of that size come
        // from may's pool.
        let builder = match stack {
            None => coroutine::Builder::new(),
            Some(bytes) => coroutine::Builder::new().stack_size(bytes / size_of::<usize>()),
        };
        // SAFETY: the bodies use no thread-local variables and need little stack.
        Ok(unsafe { builder.spawn(body) }?)
    }

    fn join_sized(join: JoinHandle<()>) {
        Self::join(join);
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
struct MayTurns {
    /// Whose turn it is.
    turn: Mutex<bool>,
    /// Told when that changes.
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

impl Lock for Mutex<()> {
    fn free() -> Self {
        Self::new(())
    }

    fn locked(&self, section: impl FnOnce()) {
        let _held = self.lock().unwrap_or_else(PoisonError::into_inner);
        section();
    }
}

/// may's general channel, which is unbounded.
struct MayLine {
    /// The way to the other end.
    sender: Sender<u64>,
    /// The way from the other end.
    receiver: Receiver<u64>,
}

impl Line for MayLine {
    fn ends() -> (Self, Self) {
        let (there, from_here) = mpsc::channel();
        let (back, from_there) = mpsc::channel();
        let near = Self {
            sender: there,
            receiver: from_there,
        };
        let far = Self {
            sender: back,
            receiver: from_here,
        };
        (near, far)
    }

    fn send(&self, number: u64) -> anyhow::Result<()> {
        Ok(self.sender.send(number)?)
    }

    fn receive(&self) -> anyhow::Result<u64> {
        Ok(self.receiver.recv()?)
    }
}
