//! Ours: fibres in a cluster of their own.

mod beside;
mod fanout;

use std::time::Duration;
use std::{io, panic};

use ::fibre::io::{PipeReader, PipeWriter};
use ::fibre::sync::lock::{
    Barging, Baton, DefaultLock, Exchange, Hybrid, RawLock, SpinThenBlock, Spinning,
};
use ::fibre::sync::{Condvar, Mutex, RwLock, Semaphore};
use ::fibre::{Builder, Cluster, JoinHandle};

use crate::peer::blocking::{self, Blocking, Lock, SharedLock, Stacked, Turns};
use crate::peer::pipes::{PipeLine, Pipes};
use crate::peer::protocol::Workload;
use crate::peer::tasks;
use crate::peer::wires::{FibreWire, WireLine};
use crate::peer::workloads::mutexes::{self, Kind};
use crate::peer::workloads::{
    blocked, migrate, objects, pingpong, shared, skynet, sleep, spawning, stream, unit, yielding,
};
use crate::peer::{actors, events};

/// What this peer is measured with.
pub fn workloads() -> Vec<Workload> {
    let mut workloads = vec![
        Workload::new("yield", yielding::blocking::<Fibre>)
            .variant("moving", yielding::blocking::<Moving>),
        Workload::new("spawn", spawning::blocking::<Fibre>)
            .variant("moving", spawning::blocking::<Moving>),
        Workload::new("semaphore", pingpong::semaphores::<Fibre>)
            .variant("moving", pingpong::semaphores::<Moving>),
        Workload::new("channel", pingpong::lines::<Fibre, WireLine<FibreWire>>)
            .variant("moving", pingpong::lines::<Moving, WireLine<FibreWire>>),
        Workload::new("stream", stream::blocking::<Fibre, FibreWire>),
        Workload::new("pipe", pingpong::lines::<Fibre, PipeLine<FibrePipes>>),
        Workload::new("work", unit::plain),
        Workload::new("migrate", migrate::round_trips),
        Workload::new("barrier", objects::barrier::<Fibre>)
            .variant("moving", objects::barrier::<Moving>),
        Workload::new("rwlock", objects::shared_lock::<Fibre>)
            .variant("moving", objects::shared_lock::<Moving>),
        Workload::new("shared", shared::blocking::<Fibre, RwLock<()>>)
            .variant("moving", shared::blocking::<Moving, RwLock<()>>),
        Workload::new("watch", fanout::watch),
        Workload::new("broadcast", fanout::broadcast),
        Workload::new("once", objects::once::<Fibre>).variant("moving", objects::once::<Moving>),
        Workload::new("key", objects::key::<Fibre>).variant("moving", objects::key::<Moving>),
        Workload::new("blocked", blocked::blocking::<Fibre>),
        Workload::new("skynet", skynet::blocking::<Fibre>),
        Workload::new("sleep", sleep::blocking::<Fibre>),
        Workload::new("beside", beside::plain)
            .variant("blocking", beside::blocking)
            .variant("second-cluster", beside::cluster)
            .variant("compute", beside::compute),
    ];
    workloads.extend(actors::workloads());
    workloads.extend(events::workloads());
    // What a question and its answer cost is read beside two wakes and two blocks.
    workloads.push(actors::ask().variant("semaphore", pingpong::semaphores::<Fibre>));
    workloads.extend(tasks::workloads());
    workloads.extend(mutexes::workloads::<Fibre, Mutex<()>, FibreTurns>(MUTEXES));
    workloads
}

/// The kinds of mutex that one can choose, and the usual one where started fibres move.
const MUTEXES: &[Kind] = &[
    of::<Barging>("barging"),
    of::<SpinThenBlock>("spin-block"),
    of::<Baton>("baton"),
    // No turns: who is woken spins while the other one, who has the lock, gets no CPU, on a busy
    // machine for milliseconds at each round trip.
    Kind::of::<Fibre, Mutex<(), Spinning>>("spin"),
    of::<Hybrid>("hybrid"),
    of::<Exchange>("exchange"),
    Kind::of::<Moving, Mutex<()>>("moving").turns::<Moving, FibreTurns>(),
];

/// The mutex over a lock, with turns.
const fn of<L: RawLock + 'static>(name: &'static str) -> Kind {
    Kind::of::<Fibre, Mutex<(), L>>(name).turns::<Fibre, FibreTurns<L>>()
}

/// Our fibres, in a cluster that moves started fibres or in one that does not.
struct Fibres<const MOVING: bool>;

/// Our fibres as one gets them: once started they stay.
type Fibre = Fibres<false>;

/// Our fibres where started ones move too.
type Moving = Fibres<true>;

impl<const MOVING: bool> Blocking for Fibres<MOVING> {
    type Join<T: Send + 'static> = JoinHandle<T>;
    type Semaphore = Semaphore;

    fn enter<T: Send + 'static>(
        processors: usize,
        body: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let mut builder = Cluster::builder().processors(processors);
        if MOVING {
            // SAFETY: the workloads keep no address of a thread-local variable, and no
            // borrow of one, while they block.
            builder = unsafe { builder.move_started_fibres() };
        }
        let cluster = builder.build()?;
        let value = Self::join(cluster.spawn(body))?;
        cluster.stop();
        Ok(value)
    }

    fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        ::fibre::spawn(body)
    }

    fn fork<T: Send + 'static>(
        processors: usize,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        match processors {
            1 => ::fibre::spawn_now(body),
            _ => ::fibre::spawn(body),
        }
    }

    fn join<T: Send + 'static>(join: JoinHandle<T>) -> T {
        join.join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause))
    }

    #[inline]
    fn yield_now() {
        ::fibre::yield_now();
    }

    fn sleep(duration: Duration) {
        ::fibre::sleep(duration);
    }
}

impl<const MOVING: bool> Stacked for Fibres<MOVING> {
    type SizedJoin = JoinHandle<()>;

    fn spawn_sized(
        stack: Option<usize>,
        body: impl FnOnce() + Send + 'static,
    ) -> anyhow::Result<JoinHandle<()>> {
        let builder = match stack {
            // The default reserves 256 KiB, and only touched pages of it exist.
            None => Builder::new(),
            Some(bytes) => Builder::new().stack_size(bytes),
        };
        Ok(builder.spawn(body)?)
    }

    fn join_sized(join: JoinHandle<()>) {
        Self::join(join);
    }
}

impl SharedLock for RwLock<()> {
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

impl blocking::Semaphore for Semaphore {
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
struct FibreTurns<L: RawLock = DefaultLock> {
    /// Whose turn it is.
    turn: Mutex<bool, L>,
    /// Told when that changes.
    changed: Condvar,
}

impl<L: RawLock + 'static> Turns for FibreTurns<L> {
    fn first() -> Self {
        Self {
            turn: Mutex::with_lock(false),
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

/// Our pipes.
struct FibrePipes;

impl Pipes for FibrePipes {
    type Reader = PipeReader;
    type Writer = PipeWriter;

    fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
        ::fibre::io::pipe()
    }
}

impl<L: RawLock + 'static> Lock for Mutex<(), L> {
    fn free() -> Self {
        Self::with_lock(())
    }

    fn locked(&self, section: impl FnOnce()) {
        let _held = self.lock();
        section();
    }
}
