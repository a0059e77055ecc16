//! The process' monitor: a thread that looks for stuck processors in all clusters that may have
//! spare ones.
//!
//! It is started with the first such cluster. While no processor is busy it sleeps for good
//! ([`crate::idle::monitor_call`]); otherwise it looks every [`TICK`]. If it cannot be started,
//! because addresses are short, say, or because the kernel has no `membarrier`, clusters go without
//! spare processors.
//!
//! It keeps a cluster alive only for the time of a look, and the stopper of the cluster waits for
//! that: what belongs to the cluster, descriptors among the rest, ends with the stop, and on the
//! thread that stops it.

use super::crew::Crew;
use super::spares::{Spares, TICK};
use super::thread::{Gate, start_helper};
use crate::idle::monitor_call::MONITOR;
use crate::processor::os_thread;
use crate::sync::{HeavyBarrier, heavy_barrier};
use parking_lot::Mutex;
use std::ptr;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

/// A cluster that the monitor looks after.
#[derive(Debug, Clone)]
struct Ward {
    /// The crew of its processors.
    crew: Weak<Crew>,
    /// What the monitor remembers of it; `None` once it has been stopped. Held during a look.
    spares: Arc<Mutex<Option<Spares>>>,
}

impl Ward {
    /// Calls `look` with the cluster and what is remembered of it, if the cluster exists.
    fn look<R>(&self, look: impl FnOnce(&Arc<Crew>, &mut Spares) -> R) -> Option<R> {
        let mut held = self.spares.lock();
        let spares = held.as_mut()?;
        let crew = self.crew.upgrade()?;
        Some(look(&crew, spares))
    }

    /// Whether a processor of the cluster is busy.
    fn is_busy(&self) -> bool {
        let is_busy = |crew: &Arc<Crew>, _: &mut Spares| {
            let domain = &crew.domain;
            (0..domain.processors()).any(|index| domain.tally(index).works_since().is_some())
        };
        self.look(is_busy).unwrap_or(false)
    }
}

/// The monitor's state.
struct Watched {
    /// Whether its thread has been started.
    started: bool,
    /// The clusters that it looks after.
    wards: Vec<Ward>,
}

/// The state of the process' monitor.
static WATCHED: Mutex<Watched> = Mutex::new(Watched {
    started: false,
    wards: Vec::new(),
});

/// Has the monitor look after a cluster, if that may have spare processors.
pub fn watch(crew: &Arc<Crew>) {
    let Some(barrier) = heavy_barrier() else {
        return;
    };
    if crew.domain.settings.max_spare.unwrap_or(0) == 0 {
        return;
    }
    let mut watched = WATCHED.lock();
    watched.wards.retain(|ward| ward.crew.strong_count() > 0);
    watched.wards.push(Ward {
        crew: Arc::downgrade(crew),
        spares: Arc::new(Mutex::new(Some(Spares::default()))),
    });
    if !watched.started {
        watched.started = start(barrier);
    }
    drop(watched);
    // Its processors may have called before it was listed, and call only when they become busy.
    MONITOR.call();
}

/// Starts the monitor, and waits until it has begun. `false`: it cannot be started.
fn start(barrier: HeavyBarrier) -> bool {
    if !os_thread::has_addresses() {
        return false;
    }
    let gate = Gate::new();
    let begun = Arc::clone(&gate);
    let thread = start_helper("fibre-monitor".to_owned(), move || {
        if begun.pass() {
            run(barrier);
        }
    });
    if thread.is_ok() {
        gate.wait_for(1);
        gate.decide(true);
    }
    thread.is_ok()
}

/// Has the monitor forget a cluster that has been stopped. Blocks the thread until a look that is
/// going on has ended.
pub fn forget(crew: &Arc<Crew>) {
    let mut watched = WATCHED.lock();
    let is_its = |ward: &Ward| ptr::eq(ward.crew.as_ptr(), Arc::as_ptr(crew));
    let place = watched.wards.iter().position(is_its);
    let ward = place.map(|place| watched.wards.swap_remove(place));
    drop(watched);
    if let Some(ward) = ward {
        *ward.spares.lock() = None;
    }
}

/// The loop of the monitor.
fn run(barrier: HeavyBarrier) {
    let wards = || WATCHED.lock().wards.clone();
    loop {
        MONITOR.sleep(barrier, || wards().iter().any(Ward::is_busy));
        loop {
            thread::sleep(TICK);
            let wards = wards();
            if !wards.iter().any(Ward::is_busy) {
                break;
            }
            for ward in &wards {
                ward.look(|crew, spares| spares.look(crew, barrier, Instant::now()));
            }
        }
    }
}
