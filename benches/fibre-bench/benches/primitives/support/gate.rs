//! Where workers wait until all have started, spread evenly over the processors.
//!
//! A fibre stays on the processor that it has started on, and a processor that is awake takes over
//! those that wait for one that still has to wake up. So fibres that only waited for each other, by
//! yielding, might all have started on the first processor. Here each who comes keeps its processor
//! busy until every processor has got one, and only then steps aside for the next round.

use fibre::sync::Semaphore;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The gate. It opens once.
pub(super) struct Gate {
    /// How many are expected.
    workers: usize,
    /// How many of them can run at once.
    processors: usize,
    /// How many have started.
    started: AtomicUsize,
    /// Where those wait who have to leave their processor to others.
    aside: Semaphore,
    /// How many are ready to go on.
    ready: AtomicUsize,
}

impl Gate {
    /// A gate for so many workers on so many processors.
    pub(super) fn new(workers: usize, processors: usize) -> Self {
        Self {
            workers,
            processors,
            started: AtomicUsize::new(0),
            aside: Semaphore::new(0),
            ready: AtomicUsize::new(0),
        }
    }

    /// Waits for all others.
    pub(super) fn pass(&self) {
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        let round = number.next_multiple_of(self.processors);
        self.spin_until_started(round.min(self.workers));
        let crowded = self.workers > self.processors;
        if crowded && number < self.workers {
            self.aside.acquire();
        } else if crowded {
            (1..self.workers).for_each(|_| self.aside.release());
        }
        self.ready.fetch_add(1, Ordering::AcqRel);
        while !self.is_open() {
            if crowded {
                fibre::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Whether all have come.
    pub(super) fn is_open(&self) -> bool {
        self.ready.load(Ordering::Acquire) == self.workers
    }

    /// Keeps the processor busy until so many have started.
    fn spin_until_started(&self, count: usize) {
        while self.started.load(Ordering::Relaxed) < count {
            std::hint::spin_loop();
        }
    }
}
