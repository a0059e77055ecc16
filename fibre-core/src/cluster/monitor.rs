//! The process's monitor: a thread that looks for stuck processors, each kept by one fibre. It
//! looks in all clusters that may have spare processors, or in all clusters if a layer above
//! observes them (`observe`). It also calls idle processors to watch the busy ones, if these leave
//! that to it (`processor/watch.rs`).
//!
//! It is started with the first such cluster. While no processor is busy it sleeps for good
//! ([`crate::idle::monitor_call`]); otherwise it looks every [`TICK`]. If it cannot start, for lack
//! of addresses or because the kernel has no `membarrier`, clusters do without spare processors.
//!
//! It keeps a cluster alive only during a look, and the stopper of the cluster waits for that. So
//! everything that belongs to the cluster, descriptors included, ends with the stop, on the thread
//! that stops it.
//!
//! It may run on every CPU of the program's main thread and of these clusters' processors: the
//! thread that started the first cluster may be confined to one CPU that is always busy.
//!
//! Once it knows its clusters and their processors it allocates nothing more, however often it
//! looks.

use super::cluster_threads::ClusterThreads;
use super::spares::{Spares, TICK};
use super::thread::{Gate, start_helper};
use crate::config::observation;
use crate::idle::monitor_call::MONITOR;
use crate::idle::observer_call::OBSERVER;
use crate::processor::os_thread;
use crate::sync::thread_mutex::Mutex;
use crate::sync::{HeavyBarrier, heavy_barrier};
use crate::topology::CpuSet;
use std::cell::RefCell;
use std::ptr;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

/// A cluster that the monitor looks after.
#[derive(Debug, Clone)]
struct Ward {
    /// The set of threads of its processors.
    cluster_threads: Weak<ClusterThreads>,
    /// What the monitor remembers of it; `None` once it has been stopped. Held during a look.
    spares: Arc<Mutex<Option<Spares>>>,
}

impl Ward {
    /// Calls `look` with the cluster and what is remembered of it, if the cluster exists.
    fn look<R>(&self, look: impl FnOnce(&Arc<ClusterThreads>, &mut Spares) -> R) -> Option<R> {
        let mut held = self.spares.lock();
        let spares = held.as_mut()?;
        let cluster_threads = self.cluster_threads.upgrade()?;
        Some(look(&cluster_threads, spares))
    }

    /// Whether a processor of the cluster is busy.
    fn is_busy(&self) -> bool {
        self.look(|cluster_threads, _| cluster_threads.domain.is_any_busy())
            .unwrap_or(false)
    }
}

/// The monitor's state.
struct Watched {
    /// Whether its thread has been started.
    started: bool,
    /// The clusters that it looks after.
    wards: Vec<Ward>,
    /// Whether a cluster has come since the monitor has last chosen its CPUs.
    grown: bool,
}

/// The state of the process' monitor.
static WATCHED: Mutex<Watched> = Mutex::new(Watched {
    started: false,
    wards: Vec::new(),
    grown: false,
});

/// Makes the monitor look after a cluster, if that may have spare processors.
pub(super) fn watch(cluster_threads: &Arc<ClusterThreads>) {
    let Some(barrier) = heavy_barrier() else {
        return;
    };
    if !has_spares(cluster_threads) && !observation::is_asked_for() {
        return;
    }
    let mut watched = WATCHED.lock();
    watched
        .wards
        .retain(|ward| ward.cluster_threads.strong_count() > 0);
    watched.wards.push(Ward {
        cluster_threads: Arc::downgrade(cluster_threads),
        spares: Arc::new(Mutex::new(Some(Spares::default()))),
    });
    watched.grown = true;
    if !watched.started {
        watched.started = start(barrier);
    }
    cluster_threads.domain.set_has_monitor(watched.started);
    drop(watched);
    // Its processors may have called before it was listed, and call only when they become busy.
    MONITOR.call();
}

/// Whether the process has a monitor.
pub(super) fn is_there() -> bool {
    WATCHED.lock().started
}

/// Whether a cluster may have spare processors.
fn has_spares(cluster_threads: &ClusterThreads) -> bool {
    cluster_threads.domain.settings.max_spare.unwrap_or(0) > 0
}

/// Starts the monitor, and waits until it has begun. `false`: it cannot be started.
fn start(barrier: HeavyBarrier) -> bool {
    if !os_thread::has_addresses() {
        return false;
    }
    let gate = Gate::new();
    let begun = Arc::clone(&gate);
    let thread = start_helper("fibre-monitor".to_owned(), move || {
        if begun.pass(Ok(())).is_some() {
            run(barrier);
        }
    });
    let begins = thread.is_ok() && gate.wait_for(1).is_ok();
    gate.decide(begins);
    begins
}

/// Makes the monitor forget a cluster that has been stopped. Blocks the thread until a look that is
/// going on has ended.
pub(super) fn forget(cluster_threads: &Arc<ClusterThreads>) {
    let mut watched = WATCHED.lock();
    let is_its = |ward: &Ward| ptr::eq(ward.cluster_threads.as_ptr(), Arc::as_ptr(cluster_threads));
    let place = watched.wards.iter().position(is_its);
    let ward = place.map(|place| watched.wards.swap_remove(place));
    drop(watched);
    if let Some(ward) = ward {
        *ward.spares.lock() = None;
    }
}

/// What the monitor looks at in one round: its copy of the list, which would else be held while it
/// looks. The memory serves all rounds.
#[derive(Debug, Default)]
struct Round(RefCell<Vec<Ward>>);

impl Round {
    /// Calls `f` with the clusters that there are. The monitor only.
    fn with<R>(&self, f: impl FnOnce(&[Ward]) -> R) -> R {
        let mut wards = self.0.borrow_mut();
        let mut watched = WATCHED.lock();
        wards.extend(watched.wards.iter().cloned());
        let grown = std::mem::take(&mut watched.grown);
        drop(watched);
        if grown {
            spread(&wards);
        }
        let result = f(&wards);
        wards.clear();
        result
    }
}

/// Lets the calling thread, the monitor, run wherever the main thread may, or one of these
/// clusters' processors. If the kernel refuses, it stays where it is.
fn spread(wards: &[Ward]) {
    // SAFETY: asks for a number.
    let main = unsafe { libc::getpid() }.max(0);
    let mut threads = vec![main];
    for ward in wards {
        ward.look(|cluster_threads, _| threads.extend(cluster_threads.thread_ids()));
    }
    let _ = CpuSet::of_threads(threads).confine_thread();
}

/// The loop of the monitor.
fn run(barrier: HeavyBarrier) {
    let round = Round::default();
    let is_any_busy = |wards: &[Ward]| wards.iter().any(Ward::is_busy);
    let look = |wards: &[Ward]| {
        let busy = is_any_busy(wards);
        for ward in wards.iter().filter(|_| busy) {
            ward.look(|cluster_threads, spares| {
                cluster_threads.domain.call_for_watch();
                if has_spares(cluster_threads) {
                    spares.look(cluster_threads, barrier, Instant::now());
                }
            });
        }
        busy
    };
    loop {
        MONITOR.sleep(barrier, || round.with(is_any_busy));
        loop {
            thread::park_timeout(TICK);
            let busy = round.with(look);
            OBSERVER.call();
            if !busy {
                break;
            }
        }
    }
}
