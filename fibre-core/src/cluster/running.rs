//! What keeps a cluster going: its domain and its threads.

use super::thread::{self, Gate};
use crate::awaited::{Awaited, WaitKind};
use crate::domain::Domain;
use crate::fork;
use crate::orders::Standing;
use crate::park::{Shield, Waiter, park_until};
use crate::processor::{Processor, in_fibre};
use crate::settings::Settings;
use crate::topology::Places;
use crate::waiter::{Limit, Outcome};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the handles share.
#[derive(Debug)]
pub struct Running {
    /// What the processors share.
    pub domain: Arc<Domain>,
    /// Where its processors run.
    places: Places,
    /// Whether the runtime itself relies on it, so that nobody may stop it.
    pub permanent: AtomicBool,
    /// The processors' threads, until somebody joins them.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// When it began.
    epoch: Instant,
    /// Held by who adds processors, and for a moment by who closes the domain.
    growing: Mutex<()>,
}

impl Running {
    /// A cluster without processors.
    pub fn new(settings: Settings, places: Places) -> Self {
        Self {
            domain: Arc::new(Domain::new(0, settings)),
            places,
            permanent: AtomicBool::new(false),
            threads: Mutex::default(),
            epoch: Instant::now(),
            growing: Mutex::default(),
        }
    }

    /// Starts more processors, all of them or none.
    ///
    /// # Errors
    ///
    /// When there is no room, when a thread cannot be started, when the domain has been
    /// closed, and in a forked child.
    pub fn add_processors(&self, more: usize) -> io::Result<()> {
        fork::install()?;
        let _one_at_a_time = self.growing.lock();
        let (before, room) = (self.domain.processors(), self.domain.capacity());
        if self.domain.is_closed() {
            return Err(stopped());
        }
        if more > room - before {
            let words = format!("the cluster has {before} processors, and room for {room}");
            return Err(io::Error::other(words));
        }
        let gate = Gate::new();
        let mut threads = Vec::with_capacity(more);
        for index in before..before + more {
            match self.start_thread(index, &gate) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    gate.decide(false);
                    join(threads);
                    return Err(error);
                }
            }
        }
        self.domain.activate(more);
        gate.decide(true);
        self.threads.lock().extend(threads);
        Ok(())
    }

    /// Starts a processor's thread.
    fn start_thread(&self, index: usize, gate: &Arc<Gate>) -> io::Result<JoinHandle<()>> {
        let cpus = self.places.of(index);
        thread::start(&self.domain, index, self.epoch, cpus, gate)
    }

    /// Closes the domain; from then on no processor is added.
    pub fn close(&self) {
        let _nobody_adds = self.growing.lock();
        self.domain.close();
    }

    /// Waits until all processors have come as far as `standing`; `false`: the deadline
    /// passed first, or the calling fibre was cancelled, which it notices only if there is a
    /// deadline. Blocks the fibre, or the thread if the caller is not a fibre.
    pub fn wait_for(&self, standing: Standing, deadline: Option<Instant>) -> bool {
        let orders = &self.domain.orders;
        // Who has been cancelled itself has limits all the same.
        let _shield = Shield::raise();
        let limit = deadline.map_or(Limit::None, Limit::Deadline);
        let awaited = Awaited::placeless(WaitKind::Cluster);
        let publish = |waiter: &Waiter| orders.publish(standing, waiter);
        let withdraw = |waiter: &Waiter| orders.withdraw(waiter);
        // SAFETY: the waiter is claimed under the lock of the list that it is in, and
        // taken out by that or by `withdraw`.
        let outcome = unsafe { park_until(awaited, limit, publish, withdraw) };
        outcome != Outcome::TimedOut
    }

    /// Waits for the ends of threads whose processors have ended; gives up the others.
    /// Blocks the fibre (or thread).
    pub fn join_threads(&self) {
        let stuck = self.domain.orders.not_at(Standing::Gone);
        let threads = std::mem::take(&mut *self.threads.lock()).into_iter();
        let ended = threads
            .enumerate()
            .filter(|(index, _)| !stuck.contains(index));
        let threads: Vec<_> = ended.map(|(_, thread)| thread).collect();
        if !in_fibre() {
            return join(threads);
        }
        // Destructors of thread-locals may take their time, so a thread waits for them.
        // Without it their ends are not waited for; their processors' have been.
        let awaited = Awaited::placeless(WaitKind::Cluster);
        let _ = thread::aside("fibre-join", awaited, || join(threads));
    }

    /// Whether the caller is one of its fibres.
    pub fn is_callers(&self) -> bool {
        let processor = Processor::current();
        // SAFETY: not null means that this thread is that processor.
        unsafe { processor.as_ref() }.is_some_and(|here| Arc::ptr_eq(here.domain(), &self.domain))
    }

    /// The kernel's numbers of the processors' threads. Blocks the thread until the last
    /// of them has begun.
    pub fn thread_ids(&self) -> Vec<i32> {
        let number = |processor| loop {
            match self.domain.tally(processor).thread() {
                Some(thread) => break thread,
                None => std::thread::sleep(Duration::from_micros(50)),
            }
        };
        (0..self.domain.processors()).map(number).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.domain.close();
    }
}

/// Waits for the ends of threads. Blocks the thread.
fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A processor that panics aborts the process.
        let _ = thread.join();
    }
}

/// What those are told who come too late.
pub fn stopped() -> io::Error {
    io::Error::other("the cluster has been stopped")
}
