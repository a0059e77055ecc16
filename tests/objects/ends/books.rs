//! The books of the stress test: what was begun, made, sent, and what has become of it.
//!
//! Values know their fate and enter it when they are dropped, so each is in the books once. A
//! second drop of the same value ends the process at once.

use crate::support::die;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many kinds of waits there are.
pub const KINDS: usize = 20;

/// A count that many fibres add to.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds one.
    pub fn up(&self) {
        self.add(1);
    }

    /// Adds so many.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::SeqCst);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// How often the waits of a kind have ended by themselves, and otherwise.
#[derive(Debug, Default)]
pub struct Waits {
    /// What was waited for has come.
    pub done: Count,
    /// The wait has failed, or was unwound.
    pub ended: Count,
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub struct Books {
    /// Closures that were given to a group or to `spawn`, and those that are gone.
    pub closures: Count,
    pub closures_gone: Count,
    /// Fibres that have begun, and ended.
    pub begun: Count,
    pub ended: Count,
    /// Values that were made to be sent, and what has become of them.
    pub parcels: Count,
    pub received: Count,
    pub returned: Count,
    pub unsent: Count,
    pub lost: Count,
    /// Sends that have succeeded; sums of the numbers that were sent and received.
    pub sent: Count,
    pub sum_sent: Count,
    pub sum_received: Count,
    /// Results, errors and payloads of panics that fibres have made; those that somebody has had,
    /// and those that a group has dropped.
    pub slips: Count,
    pub had: Count,
    pub dropped: Count,
    /// How often the mutex was had to the end.
    pub locked: Count,
    /// Bytes of the pipe.
    pub written: Count,
    pub read: Count,
    /// How waits have ended, by kind.
    pub waits: [Waits; KINDS],
}

impl Books {
    /// Checks that everything adds up, when all fibres have ended.
    pub fn close(&self) {
        assert_eq!(self.closures.get(), self.closures_gone.get(), "closures");
        assert_eq!(self.begun.get(), self.ended.get(), "fibres");
        let fates = [&self.received, &self.returned, &self.unsent, &self.lost];
        let fates = fates.map(Count::get);
        assert_eq!(
            self.parcels.get(),
            fates.iter().sum::<u64>(),
            "parcels: {fates:?}"
        );
        assert_eq!(
            self.sent.get(),
            self.received.get(),
            "what was sent is received"
        );
        assert_eq!(
            self.sum_sent.get(),
            self.sum_received.get(),
            "the same values"
        );
        let slips = self.had.get() + self.dropped.get();
        assert_eq!(self.slips.get(), slips, "results, errors and payloads");
    }
}

/// What has become of a value that was made to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nobody has received it.
    Unsent,
    /// A receiver has it.
    Received,
    /// A call that failed has given it back.
    Returned,
    /// It was sent for one receiver, which may have left.
    ForOne,
}

/// A value to be sent.
#[derive(Debug)]
pub struct Parcel {
    books: Arc<Books>,
    number: u64,
    fate: Fate,
    alive: bool,
}

impl Parcel {
    /// Makes one with a number of its own.
    pub fn new(books: &Arc<Books>) -> Self {
        let number = books.parcels.0.fetch_add(1, Ordering::SeqCst);
        Self {
            books: Arc::clone(books),
            number,
            fate: Fate::Unsent,
            alive: true,
        }
    }

    /// Its number, for [`sent`](Self::sent).
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Notes that a send of this number has succeeded.
    pub fn sent(books: &Books, number: u64) {
        books.sent.up();
        books.sum_sent.add(number);
    }

    /// The receiver has it.
    pub fn receive(mut self) {
        self.books.sum_received.add(self.number);
        self.fate = Fate::Received;
    }

    /// It came back.
    pub fn take_back(mut self) {
        self.fate = Fate::Returned;
    }

    /// It is for one receiver, which may leave after it was sent.
    pub fn for_one(mut self) -> Self {
        self.fate = Fate::ForOne;
        self
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if !std::mem::replace(&mut self.alive, false) {
            die(format_args!("parcel {} was dropped twice", self.number));
        }
        let count = match self.fate {
            Fate::Unsent => &self.books.unsent,
            Fate::Received => &self.books.received,
            Fate::Returned => &self.books.returned,
            Fate::ForOne => &self.books.lost,
        };
        count.up();
    }
}

/// What a fibre ends with: its result, its error, or its panic's payload.
#[derive(Debug)]
pub struct Slip {
    books: Arc<Books>,
    /// The number of its fibre within the round.
    pub number: usize,
    had: bool,
    alive: bool,
}

impl Slip {
    /// One of a fibre with this number.
    pub fn new(books: &Arc<Books>, number: usize) -> Self {
        books.slips.up();
        Self {
            books: Arc::clone(books),
            number,
            had: false,
            alive: true,
        }
    }

    /// Notes that somebody has it.
    pub fn take(mut self) {
        self.had = true;
    }
}

impl Drop for Slip {
    fn drop(&mut self) {
        if !std::mem::replace(&mut self.alive, false) {
            die(format_args!(
                "the slip of fibre {} was dropped twice",
                self.number
            ));
        }
        match self.had {
            true => self.books.had.up(),
            false => self.books.dropped.up(),
        }
    }
}

/// Counts a closure: made, and gone, whether or not it has been called.
#[derive(Debug)]
pub struct Closure(Arc<Books>);

impl Closure {
    /// Counts one.
    pub fn new(books: &Arc<Books>) -> Self {
        books.closures.up();
        Self(Arc::clone(books))
    }

    /// Counts a run of its fibre.
    pub fn run(&self) -> Run {
        self.0.begun.up();
        Run(Arc::clone(&self.0))
    }
}

impl Drop for Closure {
    fn drop(&mut self) {
        self.0.closures_gone.up();
    }
}

/// Counts a run of a fibre, from its begin to its end.
#[derive(Debug)]
pub struct Run(Arc<Books>);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.ended.up();
    }
}
