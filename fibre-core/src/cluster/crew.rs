//! The threads of a cluster's processors.

use super::thread::{self, Gate};
use crate::processor::in_fibre;
use crate::processor::os_thread;
use crate::scheduler::control::ProcessorPhase;
use crate::scheduler::domain::Domain;
use crate::sys::fork;
use crate::topology::{CpuSet, Places};
use crate::wait::wait_object::{WaitKind, WaitObject};
use parking_lot::{Mutex, MutexGuard};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// The threads of one cluster. The processors keep it alive: fibres may need a spare processor when
/// no handle is left.
#[derive(Debug)]
pub struct Crew {
    /// The state that the processors share.
    pub domain: Arc<Domain>,
    /// The CPUs where they run.
    places: Places,
    /// The processors' threads, in their order, until a caller joins them.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The time at which the cluster began.
    epoch: Instant,
    /// Held by the caller that adds processors, or has spare ones stand aside, and for a moment by
    /// the one that ends that.
    growing: Mutex<()>,
}

impl Crew {
    /// A crew without threads.
    pub fn new(domain: Arc<Domain>, places: Places) -> Self {
        Self {
            domain,
            places,
            threads: Mutex::default(),
            epoch: Instant::now(),
            growing: Mutex::default(),
        }
    }

    /// Keeps others from adding processors.
    pub fn growing(&self) -> MutexGuard<'_, ()> {
        self.growing.lock()
    }

    /// [`growing`](Self::growing) for a caller that had better come again than wait.
    pub fn try_growing(&self) -> Option<MutexGuard<'_, ()>> {
        self.growing.try_lock()
    }

    /// Adds processors, all of them or none: spare ones that are there become regular ones, and
    /// threads are started for the others.
    ///
    /// # Errors
    ///
    /// When there is no room, when a thread cannot be started, when the domain has been
    /// closed, and in a forked child.
    pub fn add_processors(self: &Arc<Self>, more: usize) -> io::Result<()> {
        fork::install()?;
        let _one_at_a_time = self.growing();
        let domain = &self.domain;
        let (before, room) = (domain.regular(), domain.settings.max_processors);
        if domain.is_closed() {
            return Err(stopped());
        }
        if more > room.saturating_sub(before) {
            let words = format!("the cluster has {before} processors, and room for {room}");
            return Err(io::Error::other(words));
        }
        let gate = Gate::new();
        let there = domain.processors();
        let threads = self.start_threads(there..(before + more).max(there), &gate)?;
        domain.activate(more);
        // Before any of them can end, and be waited for.
        self.threads.lock().extend(threads);
        gate.decide(true);
        (before..there.min(before + more)).for_each(|index| self.put_in_place(index));
        Ok(())
    }

    /// Has a former spare processor run where its place says. If the kernel refuses, it stays where
    /// all processors may run.
    fn put_in_place(&self, index: usize) {
        let thread = self.domain.tally(index).thread();
        if let (Some(cpus), Some(thread)) = (self.places.of(index), thread) {
            let _ = cpus.confine(thread);
        }
    }

    /// Adds a spare processor, which stands aside; returns its place.
    ///
    /// # Errors
    ///
    /// When there is no room, when its thread cannot be started, and when the processors end.
    pub fn add_spare(self: &Arc<Self>) -> io::Result<usize> {
        let _one_at_a_time = self.growing();
        let domain = &self.domain;
        let index = domain.processors();
        if index >= domain.capacity() || domain.orders.are_to_abandon() {
            return Err(stopped());
        }
        if !os_thread::has_addresses() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let gate = Gate::new();
        // Beside the processors that are kept, hence wherever they may run.
        let cpus = self.places.all();
        let thread = self.start_thread(index, cpus.as_ref(), &gate)?;
        gate.wait_for(1);
        if !domain.activate_spare() {
            gate.decide(false);
            join(vec![thread]);
            return Err(stopped());
        }
        // Before it can end, and be waited for.
        self.threads.lock().push(thread);
        gate.decide(true);
        Ok(index)
    }

    /// Starts the threads of these processors, all or none, and waits until they have come to the
    /// gate.
    fn start_threads(
        self: &Arc<Self>,
        processors: Range<usize>,
        gate: &Arc<Gate>,
    ) -> io::Result<Vec<JoinHandle<()>>> {
        let one_by_one = os_thread::are_addresses_limited();
        let mut threads = Vec::new();
        for index in processors {
            match self.start_thread(index, self.places.of(index), gate) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    gate.decide(false);
                    join(threads);
                    return Err(error);
                }
            }
            if one_by_one {
                gate.wait_for(threads.len());
            }
        }
        gate.wait_for(threads.len());
        Ok(threads)
    }

    /// Starts a processor's thread on these CPUs.
    fn start_thread(
        self: &Arc<Self>,
        index: usize,
        cpus: Option<&CpuSet>,
        gate: &Arc<Gate>,
    ) -> io::Result<JoinHandle<()>> {
        let kept = Arc::clone(self);
        thread::start(&self.domain, index, self.epoch, cpus, gate, kept)
    }

    /// Waits for the ends of threads whose processors have ended and have left no fibres there;
    /// gives up the others. Blocks the fibre (or thread).
    pub fn join_threads(&self) {
        let stuck = self.domain.orders.not_at(ProcessorPhase::Gone);
        let threads = std::mem::take(&mut *self.threads.lock()).into_iter();
        let ended = threads
            .enumerate()
            .filter(|(index, _)| !stuck.contains(index) && !self.domain.tally(*index).stays());
        let threads: Vec<_> = ended.map(|(_, thread)| thread).collect();
        if !in_fibre() {
            return join(threads);
        }
        // Destructors of thread-locals may take their time, so a thread waits for them.
        // Without it their ends are not waited for; their processors' have been.
        let awaited = WaitObject::placeless(WaitKind::Cluster);
        let _ = thread::aside("fibre-join", awaited, || join(threads));
    }
}

/// Waits for the ends of threads. Blocks the thread.
fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A processor that panics aborts the process.
        let _ = thread.join();
    }
}

/// The error for callers that come too late.
fn stopped() -> io::Error {
    io::Error::other("the cluster has been stopped")
}
