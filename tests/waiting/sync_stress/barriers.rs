//! Barriers: nobody goes on before all have come, and all do when they have.

use super::subject::{ACTORS, Manner, Role, Subject};
use crate::support::Random;
use fibre::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A barrier for some of the actors.
pub struct Parties {
    barrier: Barrier,
    rounds: usize,
    /// Arrivals that have begun and were not taken back.
    begun: AtomicUsize,
    /// How many have gone on, and who of them led.
    gone_on: AtomicUsize,
    led: AtomicUsize,
}

impl Subject for Parties {
    fn new(random: &mut Random, turns: usize) -> Self {
        let parties = 1 + random.below(ACTORS);
        Self {
            barrier: Barrier::new(parties),
            rounds: turns.div_ceil(parties),
            begun: AtomicUsize::new(0),
            gone_on: AtomicUsize::new(0),
            led: AtomicUsize::new(0),
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::new("come", self.rounds * self.barrier.parties())]
    }

    fn turn(&self, _: usize, manner: Manner, _: &mut Random) -> bool {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let gone_on = match manner {
            Manner::Forever => Some(self.barrier.wait()),
            Manner::Try => self.barrier.try_wait(),
            Manner::Timeout(timeout) => self.barrier.wait_timeout(timeout),
            Manner::Within(limit) => self.barrier.wait_within(limit).ok(),
        };
        let Some(result) = gone_on else {
            self.begun.fetch_sub(1, Ordering::SeqCst);
            return false;
        };
        self.led
            .fetch_add(usize::from(result.is_leader()), Ordering::SeqCst);
        let gone_on = 1 + self.gone_on.fetch_add(1, Ordering::SeqCst);
        let must_have_come = gone_on.next_multiple_of(self.barrier.parties());
        assert!(self.begun.load(Ordering::SeqCst) >= must_have_come);
        true
    }

    fn check(&self) {
        assert_eq!(self.barrier.waiting(), 0);
        assert_eq!(self.led.load(Ordering::SeqCst), self.rounds);
    }
}
