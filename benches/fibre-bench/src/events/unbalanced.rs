//! Events of different colours that all begin on one processor; some take long.
//!
//! A handler posts 50,000 events to its processor; 98 in 100 take 100 cycles and the others 10,000
//! to 50,000. When all have run the next round begins, with colours that are new: so each begins on
//! the first processor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fibre_events::{Events, Handler, Report};

use super::{check, work};

/// A hundred cycles and the calls about them, at 2.5 GHz.
static SHORT: Handler = Handler::new("short").time_ns(40);
/// Ten to fifty thousand cycles.
static LONG: [Handler; 5] = [
    Handler::new("10 Kcycles").time_us(4),
    Handler::new("20 Kcycles").time_us(8),
    Handler::new("30 Kcycles").time_us(12),
    Handler::new("40 Kcycles").time_us(16),
    Handler::new("50 Kcycles").time_us(20),
];
static FORK: Handler = Handler::new("fork").time_us(1);

/// The program with its parameters.
#[derive(Debug, Clone)]
pub struct Unbalanced {
    /// Events of a round.
    pub events: u64,
    /// How many rounds there are.
    pub rounds: u64,
}

impl Default for Unbalanced {
    /// A round of the paper's size.
    fn default() -> Self {
        Self {
            events: 50_000,
            rounds: 1,
        }
    }
}

/// What a run has come to.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Outcome {
    /// What the events say of it.
    pub report: Report,
    /// The cycles of events that have run elsewhere than on the first processor.
    pub stolen_cycles: u64,
}

/// What all events of a run share.
struct World {
    events: Events,
    size: u64,
    processors: u64,
    /// Rounds that have not begun.
    rounds: AtomicU64,
    /// Events of this round that have not run.
    left: AtomicU64,
    /// A number that no colour has had.
    next: AtomicU64,
    stolen_cycles: AtomicU64,
}

impl Unbalanced {
    /// Runs the rounds, which ends these events. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When an event has not run.
    pub fn run(&self, events: &Events) -> anyhow::Result<Outcome> {
        let world = Arc::new(World {
            events: events.clone(),
            size: self.events,
            processors: events.cluster().processors() as u64,
            rounds: AtomicU64::new(self.rounds),
            left: AtomicU64::new(0),
            next: AtomicU64::new(0),
            stolen_cycles: AtomicU64::new(0),
        });
        let first = Arc::clone(&world);
        events.post(0, FORK.with(move || first.fork()));
        let report = events.run();
        // A fork for each round, and one that finds no more.
        check(&report, self.rounds * (self.events + 1) + 1)?;
        Ok(Outcome {
            report,
            stolen_cycles: world.stolen_cycles.load(Relaxed),
        })
    }
}

impl World {
    /// Posts the events of a round. All colours begin on the first processor.
    fn fork(self: &Arc<Self>) {
        if self.rounds.load(Relaxed) == 0 {
            self.events.stop();
            return;
        }
        self.rounds.fetch_sub(1, Relaxed);
        self.left.store(self.size, Relaxed);
        let first = self.next.fetch_add(self.size, Relaxed);
        for number in first..first + self.size {
            let (handler, cycles) = match number % 250 {
                index @ 0..5 => (&LONG[index as usize], (index + 1) * 10_000),
                _ => (&SHORT, 100),
            };
            let world = Arc::clone(self);
            let event = handler.with(move || world.leaf(cycles));
            self.events.post((number + 1) * self.processors, event);
        }
    }

    /// One event of a round. The last one begins the next round.
    fn leaf(self: &Arc<Self>, cycles: u64) {
        work(cycles);
        if fibre::processor() != Some(0) {
            self.stolen_cycles.fetch_add(cycles, Relaxed);
        }
        if self.left.fetch_sub(1, Relaxed) == 1 {
            let world = Arc::clone(self);
            self.events.post(0, FORK.with(move || world.fork()));
        }
    }
}
