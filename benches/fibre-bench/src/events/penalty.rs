//! Events with successors that use what they have made: a thief should take a colour that has not
//! begun.
//!
//! A handler posts many events *A* of different colours to its processor. Each of them makes an
//! array that fits into a processor's cache, and posts an event *B* of its colour, which reads a
//! part of the array and posts the next one, until all has been read. *B* has a penalty of 1000, so
//! its colour is stolen before the array is there, or not at all.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fibre_events::{Events, Handler, Report};

use super::check;

static FORK: Handler = Handler::new("fork").time_us(1);
static MAKE: Handler = Handler::new("A").time_us(8);
static READ: Handler = Handler::new("B").time_us(1).penalty(1000);

/// Bytes of an array.
const ARRAY: usize = 64 * 1024;

/// Bytes that an event reads, so that an array and all its events are one batch of a colour.
const PART: usize = 8 * 1024;

/// Events of an array: one makes it, the others read it.
pub const EVENTS: u64 = 1 + (ARRAY / PART) as u64;

/// The program with its parameters.
#[derive(Debug, Clone)]
pub struct Penalty {
    /// Arrays of a round, each with a colour.
    pub arrays: u64,
    /// How many rounds there are.
    pub rounds: u64,
}

impl Default for Penalty {
    /// A round with many arrays.
    fn default() -> Self {
        Self {
            arrays: 1000,
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
    /// Events that have read an array elsewhere than where it was made.
    pub moved: u64,
}

/// What all events of a run share.
struct World {
    events: Events,
    size: u64,
    processors: u64,
    /// Rounds that have not begun.
    rounds: AtomicU64,
    /// Arrays of this round that have not been read.
    left: AtomicU64,
    /// A number that no colour has had.
    next: AtomicU64,
    moved: AtomicU64,
}

/// An array on its way from event to event.
struct Array {
    bytes: Vec<u8>,
    colour: u64,
    /// Where it was made.
    processor: Option<usize>,
}

impl Penalty {
    /// Runs the rounds, which ends these events. Blocks the thread.
    ///
    /// # Errors
    ///
    /// When an event has not run.
    pub fn run(&self, events: &Events) -> anyhow::Result<Outcome> {
        let world = Arc::new(World {
            events: events.clone(),
            size: self.arrays,
            processors: events.cluster().processors() as u64,
            rounds: AtomicU64::new(self.rounds),
            left: AtomicU64::new(0),
            next: AtomicU64::new(0),
            moved: AtomicU64::new(0),
        });
        let first = Arc::clone(&world);
        events.post(0, FORK.with(move || first.fork()));
        let report = events.run();
        // A fork for each round, and one that finds no more.
        check(&report, self.rounds * (self.arrays * EVENTS + 1) + 1)?;
        Ok(Outcome {
            report,
            moved: world.moved.load(Relaxed),
        })
    }
}

impl World {
    /// Posts the first events of a round. All colours begin on the first processor.
    fn fork(self: &Arc<Self>) {
        if self.rounds.load(Relaxed) == 0 {
            self.events.stop();
            return;
        }
        self.rounds.fetch_sub(1, Relaxed);
        self.left.store(self.size, Relaxed);
        let first = self.next.fetch_add(self.size, Relaxed);
        for number in first..first + self.size {
            let world = Arc::clone(self);
            let colour = (number + 1) * self.processors;
            self.events
                .post(colour, MAKE.with(move || world.make(colour)));
        }
    }

    /// Makes an array.
    fn make(self: &Arc<Self>, colour: u64) {
        let array = Array {
            bytes: vec![colour as u8; ARRAY],
            colour,
            processor: fibre::processor(),
        };
        self.post(array, 0);
    }

    /// Posts the event that reads an array from an offset on.
    fn post(self: &Arc<Self>, array: Array, offset: usize) {
        let world = Arc::clone(self);
        let colour = array.colour;
        let event = READ.with(move || world.read(array, offset));
        self.events.post(colour, event);
    }

    /// Reads a part of an array. The event that ends the last one begins the next round.
    fn read(self: &Arc<Self>, array: Array, offset: usize) {
        let part = &array.bytes[offset..offset + PART];
        black_box(part.iter().fold(0_u64, |sum, &byte| sum + u64::from(byte)));
        if fibre::processor() != array.processor {
            self.moved.fetch_add(1, Relaxed);
        }
        if offset + PART < ARRAY {
            self.post(array, offset + PART);
        } else if self.left.fetch_sub(1, Relaxed) == 1 {
            let world = Arc::clone(self);
            self.events.post(0, FORK.with(move || world.fork()));
        }
    }
}
