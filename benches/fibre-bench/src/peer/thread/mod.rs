//! Kernel threads: std's, with its mutex and condition variable and the
//! semaphore of the C library. Where there are to be very many, those of the C
//! library alone. Variants lock the mutex of parking_lot and of the C library.

mod posix;

use std::io::{self, PipeReader, PipeWriter};
use std::panic;
use std::sync::{Condvar, Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;

use super::blocking::{Blocking, Lock, SharedLock, Stacked, Turns};
use super::pipes::{PipeLine, Pipes};
use super::protocol::Workload;
use super::wires::{StdWire, WireLine};
use super::workloads::mutexes::{self, Kind};
use super::workloads::{
    blocked, pingpong, shared, skynet, sleep, spawning, stream, unit, yielding,
};
use posix::{PosixMutex, PosixSemaphore, PosixThread, PosixTurns};

/// What this peer is measured with.
pub fn workloads() -> Vec<Workload> {
    let mut workloads = vec![
        Workload::new("yield", yielding::blocking::<Thread>),
        Workload::new("spawn", spawning::blocking::<Thread>),
        Workload::new("semaphore", pingpong::semaphores::<Thread>),
        Workload::new("channel", pingpong::lines::<Thread, WireLine<StdWire>>),
        Workload::new("stream", stream::blocking::<Thread, StdWire>),
        Workload::new("pipe", pingpong::lines::<Thread, PipeLine<StdPipes>>),
        Workload::new("work", unit::plain),
        Workload::new("blocked", blocked::blocking::<Thread>),
        Workload::new("skynet", skynet::blocking::<Thread>),
        Workload::new("sleep", sleep::blocking::<Thread>),
        Workload::new("shared", shared::blocking::<Thread, RwLock<()>>).variant(
            "parking_lot",
            shared::blocking::<Thread, parking_lot::RwLock<()>>,
        ),
    ];
    workloads.extend(mutexes::workloads::<Thread, Mutex<()>, StdTurns>(MUTEXES));
    workloads
}

/// What threads lock who do not lock std's mutex.
const MUTEXES: &[Kind] = &[
    Kind::of::<Thread, parking_lot::Mutex<()>>("parking_lot").turns::<Thread, ParkingLotTurns>(),
    Kind::of::<Thread, PosixMutex>("pthread").turns::<Thread, PosixTurns>(),
];

/// Stack of a thread: small, as for a thread per connection.
pub(super) const STACK: usize = 64 << 10;

/// std's threads. How many processors they run on is for the one to say who
/// starts the program.
pub(super) struct Thread;

impl Blocking for Thread {
    type Join<T: Send + 'static> = JoinHandle<T>;
    type Semaphore = PosixSemaphore;

    fn enter<T: Send + 'static>(
        _processors: usize,
        body: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        body()
    }

    fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        match thread::Builder::new().stack_size(STACK).spawn(body) {
            Ok(join) => join,
            Err(error) => panic!("the system gives no more threads: {error}"),
        }
    }

    fn join<T: Send + 'static>(join: JoinHandle<T>) -> T {
        join.join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause))
    }

    fn yield_now() {
        thread::yield_now();
    }

    fn sleep(duration: Duration) {
        thread::sleep(duration);
    }
}

/// std's pipes.
struct StdPipes;

impl Pipes for StdPipes {
    type Reader = PipeReader;
    type Writer = PipeWriter;

    fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
        io::pipe()
    }
}

/// std gives each of its threads a second stack for signals, which takes two
/// mappings more, so that the kernel allows about 16,000 of them by default.
/// Threads of the C library have only one.
impl Stacked for Thread {
    type SizedJoin = PosixThread;

    fn spawn_sized(
        stack: Option<usize>,
        body: impl FnOnce() + Send + 'static,
    ) -> anyhow::Result<PosixThread> {
        PosixThread::spawn(stack.unwrap_or(STACK), body).context("there can be no more threads")
    }

    fn join_sized(join: PosixThread) {
        join.join();
    }
}

/// Turns over std's primitives.
pub(super) struct StdTurns {
    /// Whose turn it is.
    turn: Mutex<bool>,
    /// Told when that changes.
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

/// Turns over parking_lot's primitives.
struct ParkingLotTurns {
    /// Whose turn it is.
    turn: parking_lot::Mutex<bool>,
    /// Told when that changes.
    changed: parking_lot::Condvar,
}

impl Turns for ParkingLotTurns {
    fn first() -> Self {
        Self {
            turn: parking_lot::Mutex::new(false),
            changed: parking_lot::Condvar::new(),
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

impl Lock for Mutex<()> {
    fn free() -> Self {
        Self::new(())
    }

    fn locked(&self, section: impl FnOnce()) {
        let _held = self.lock().unwrap_or_else(PoisonError::into_inner);
        section();
    }
}

impl Lock for parking_lot::Mutex<()> {
    fn free() -> Self {
        Self::new(())
    }

    fn locked(&self, section: impl FnOnce()) {
        let _held = self.lock();
        section();
    }
}

impl SharedLock for RwLock<()> {
    fn free() -> Self {
        Self::new(())
    }

    fn reading(&self, section: impl FnOnce()) {
        let _held = self.read().unwrap_or_else(PoisonError::into_inner);
        section();
    }

    fn writing(&self, section: impl FnOnce()) {
        let _held = self.write().unwrap_or_else(PoisonError::into_inner);
        section();
    }
}

impl SharedLock for parking_lot::RwLock<()> {
    fn free() -> Self {
        Self::new(())
    }

    fn reading(&self, section: impl FnOnce()) {
        let _held = self.read();
        section();
    }

    fn writing(&self, section: impl FnOnce()) {
        let _held = self.write();
        section();
    }
}
