//! What holds one signal at most: it goes from hand to hand, so it is neither lost nor doubled.

use super::course::{Row, row, run};
use super::subject::{Manner, Role, Subject, dwell};
use crate::support::Random;
use fibre::sync::{AutoEvent, BinarySemaphore, Notify};
use std::sync::atomic::{AtomicBool, Ordering};

/// Something that holds one signal.
trait Single: Send + Sync + 'static {
    /// An object that has its signal.
    fn full() -> Self;
    /// Takes the signal, in a manner.
    fn take(&self, manner: Manner) -> bool;
    /// Puts it back.
    fn put(&self);
}

/// Implements [`Single`] for what says `bool` where waiting can be in vain.
macro_rules! single {
    ($type:ty, $full:expr, $put:ident, $wait:ident, $try:ident, $timeout:ident, $within:ident) => {
        impl Single for $type {
            fn full() -> Self {
                $full
            }

            fn take(&self, manner: Manner) -> bool {
                match manner {
                    Manner::Forever => {
                        self.$wait();
                        true
                    }
                    Manner::Try => self.$try(),
                    Manner::Timeout(timeout) => self.$timeout(timeout),
                    Manner::Within(limit) => self.$within(limit).is_ok(),
                }
            }

            fn put(&self) {
                self.$put();
            }
        }
    };
}

single!(
    BinarySemaphore,
    BinarySemaphore::new(true),
    release,
    acquire,
    try_acquire,
    acquire_timeout,
    acquire_within
);

single!(
    AutoEvent,
    {
        let event = Self::new();
        event.set();
        event
    },
    set,
    wait,
    try_wait,
    wait_timeout,
    wait_within
);

single!(
    Notify,
    {
        let notify = Self::new();
        notify.notify_one();
        notify
    },
    notify_one,
    wait,
    try_wait,
    wait_timeout,
    wait_within
);

/// A signal that goes from hand to hand.
struct Circulating<S> {
    signal: S,
    /// Whether somebody has it.
    taken: AtomicBool,
    turns: usize,
}

impl<S: Single> Subject for Circulating<S> {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            signal: S::full(),
            taken: AtomicBool::new(false),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::new("take and put", self.turns)]
    }

    fn turn(&self, _: usize, manner: Manner, random: &mut Random) -> bool {
        if !self.signal.take(manner) {
            return false;
        }
        assert!(!self.taken.swap(true, Ordering::SeqCst), "two have it");
        dwell(random);
        self.taken.store(false, Ordering::SeqCst);
        self.signal.put();
        true
    }

    fn check(&self) {
        assert!(self.signal.take(Manner::Try), "it was lost");
        assert!(!self.signal.take(Manner::Try), "there are two");
    }
}

/// All kinds.
const ROWS: &[Row] = &[
    row::<Circulating<BinarySemaphore>>("binary semaphore"),
    row::<Circulating<AutoEvent>>("event that resets itself"),
    row::<Circulating<Notify>>("notifications of one"),
];

#[test]
fn single_signals() {
    run(ROWS);
}
