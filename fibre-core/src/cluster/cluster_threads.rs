//! The threads of a cluster's processors.

use super::thread::{self, Gate};
use crate::processor::in_fibre;
use crate::processor::os_thread;
use crate::scheduler::control::ProcessorPhase;
use crate::scheduler::domain::Domain;
use crate::sync::thread_mutex::{Mutex, MutexGuard};
use crate::sys::fork;
use crate::topology::{CpuSet, Places};
use crate::wait::wait_object::{WaitKind, WaitObject};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// The threads of one cluster. The processors keep it alive: fibres may need a spare processor when
/// no handle is left.
#[derive(Debug)]
pub(super) struct ClusterThreads {
    /// The state that the processors share.
    pub domain: Arc<Domain>,
    /// The CPUs where they run.
    places: Places,
    /// The processors' threads, in their order, until a caller joins them.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The time when the cluster began.
    epoch: Instant,
    /// Held by the caller that adds processors, or has spare ones stand aside, and for a moment by
    /// the one that ends that.
    growing: Mutex<()>,
}

impl ClusterThreads {
    /// A cluster without threads.
    pub(super) fn new(domain: Arc<Domain>, places: Places) -> Self {
        Self {
            domain,
            places,
            threads: Mutex::default(),
            epoch: Instant::now(),
            growing: Mutex::default(),
        }
    }

    /// Keeps others from adding processors.
    pub(super) fn growing(&self) -> MutexGuard<'_, ()> {
        self.growing.lock()
    }

    /// [`growing`](Self::growing) for a caller that should come again rather than wait.
    pub(super) fn try_growing(&self) -> Option<MutexGuard<'_, ()>> {
        self.growing.try_lock()
    }

    /// Adds processors, all of them or none: spare ones that are there become regular ones, and
    /// threads are started for the others.
    ///
    /// # Errors
    ///
    /// When there is no room, when a thread cannot be started, when the domain has been
    /// closed, and in a forked child.
    pub(super) fn add_processors(self: &Arc<Self>, more: usize) -> io::Result<()> {
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
        let place = |index| self.places.of(index);
        let threads = self.start_threads(there..(before + more).max(there), place, &gate)?;
        domain.activate(more);
        // Before any of them can end, and be waited for.
        self.threads.lock().extend(threads);
        gate.decide(true);
        (before..there.min(before + more)).for_each(|index| self.put_in_place(index));
        Ok(())
    }

    /// Makes a former spare processor run where its place says. If the kernel refuses, it stays
    /// where all processors may run.
    fn put_in_place(&self, index: usize) {
        let thread = self.domain.stats(index).thread();
        if let (Some(cpus), Some(thread)) = (self.places.of(index), thread) {
            let _ = cpus.confine(thread);
        }
    }

    /// Adds spare processors, which stand aside: as many as are wanted and there is room for, and
    /// only one where addresses are limited. All of them or none. Returns their places.
    ///
    /// # Errors
    ///
    /// When there is no room, when a thread cannot be started, and when the processors end.
    pub(super) fn add_spares(self: &Arc<Self>, wanted: usize) -> io::Result<Range<usize>> {
        let _one_at_a_time = self.growing();
        let domain = &self.domain;
        let first = domain.processors();
        let limited = os_thread::is_memory_limited();
        let wanted = if limited { wanted.min(1) } else { wanted };
        let end = domain.capacity().min(first + wanted);
        if first >= end || domain.control.must_abandon() {
            return Err(stopped());
        }
        if !os_thread::has_addresses() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let gate = Gate::new();
        // Beside the processors that are kept, hence wherever they may run.
        let cpus = self.cpus();
        let cpus = (!cpus.is_empty()).then_some(&cpus);
        let threads = self.start_threads(first..end, |_| cpus, &gate)?;
        // If there is room for the first, there is for the others: that one has not ended.
        if !threads.iter().all(|_| domain.activate_spare()) {
            gate.decide(false);
            join(threads);
            return Err(stopped());
        }
        // Before any of them can end, and be waited for.
        self.threads.lock().extend(threads);
        gate.decide(true);
        Ok(first..end)
    }

    /// The CPUs where the regular processors may run, at this moment.
    fn cpus(&self) -> CpuSet {
        CpuSet::of_threads(self.thread_ids())
    }

    /// The kernel's numbers of the regular processors' threads.
    pub(super) fn thread_ids(&self) -> impl Iterator<Item = i32> {
        let number = |processor| self.domain.stats(processor).thread();
        // They have noted it before the domain counted them.
        (0..self.domain.regular()).filter_map(number)
    }

    /// Starts the threads of these processors on the CPUs of their places, all or none, and waits
    /// until they have come to the gate.
    fn start_threads<'a>(
        self: &Arc<Self>,
        processors: Range<usize>,
        place: impl Fn(usize) -> Option<&'a CpuSet>,
        gate: &Arc<Gate>,
    ) -> io::Result<Vec<JoinHandle<()>>> {
        let mut threads = Vec::new();
        let started = self.try_start_threads(processors, place, gate, &mut threads);
        if let Err(error) = started {
            gate.decide(false);
            join(threads);
            return Err(error);
        }
        Ok(threads)
    }

    /// [`start_threads`](Self::start_threads), which leaves those that have been started.
    fn try_start_threads<'a>(
        self: &Arc<Self>,
        processors: Range<usize>,
        place: impl Fn(usize) -> Option<&'a CpuSet>,
        gate: &Arc<Gate>,
        threads: &mut Vec<JoinHandle<()>>,
    ) -> io::Result<()> {
        let one_by_one = os_thread::is_memory_limited();
        for index in processors {
            threads.push(self.start_thread(index, place(index), gate)?);
            if one_by_one {
                gate.wait_for(threads.len())?;
            }
        }
        gate.wait_for(threads.len())
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

    /// Waits for the ends of threads if their processors have ended and have left no fibres there;
    /// gives up the others. Blocks the fibre (or thread).
    pub(super) fn join_threads(&self) {
        let stuck = self.domain.control.not_at(ProcessorPhase::Gone);
        let threads = std::mem::take(&mut *self.threads.lock()).into_iter();
        let ended = threads
            .enumerate()
            .filter(|(index, _)| !stuck.contains(index) && !self.domain.stats(*index).stays());
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::config::settings::Settings;

    /// A processor that may begin has all that it takes; else the program could use up its memory
    /// before the processor has begun.
    #[test]
    fn a_processor_at_the_gate_is_complete() {
        let settings = Settings::from_environment();
        let domain = Arc::new(Domain::new(0, settings));
        let cluster_threads = Arc::new(ClusterThreads::new(domain, Places::default()));
        let gate = Gate::new();
        let owners = || [0, 1].map(|index| Arc::strong_count(cluster_threads.domain.queue(index)));
        assert_eq!(owners(), [1, 1]);
        let threads = cluster_threads
            .start_threads(0..2, |_| None, &gate)
            .unwrap();
        assert_eq!(owners(), [2, 2]);
        gate.decide(false);
        join(threads);
        assert_eq!(owners(), [1, 1]);
    }

    #[test]
    fn a_thread_without_memory_is_an_error_for_all() {
        let gate = Gate::new();
        let pass = |brought: io::Result<&'static str>| {
            let gate = Arc::clone(&gate);
            std::thread::spawn(move || gate.pass(brought))
        };
        let threads = [
            pass(Ok("memory")),
            pass(Err(io::ErrorKind::OutOfMemory.into())),
        ];
        let error = gate.wait_for(2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        gate.decide(false);
        assert_eq!(threads.map(|thread| thread.join().unwrap()), [None, None]);
    }
}
