//! Whether a processor spins before it goes to sleep.
//!
//! Being woken costs the waker a system call and the sleeper some microseconds, so two
//! fibres on two processors that wake each other in turn would do little else. A
//! processor spins if its last sleep was ended by a push, and so soon that spinning would
//! have been cheaper. In vain it does so once: then it sleeps first again. So it never
//! spends more on spinning than on sleeping, and one that has nothing to do spins once.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The longest spin, and the longest sleep that it would have been better to spin
/// through: about as long as falling asleep and being woken take in a bad case.
const LONGEST: Duration = Duration::from_micros(20);

/// Looks between two readings of the clock.
const LOOKS: u32 = 32;

/// See the module text.
#[derive(Debug, Default)]
pub struct Spin(Cell<bool>);

impl Spin {
    /// Looks for a moment whether `found`, if the last sleep says so.
    pub fn until(&self, found: impl Fn() -> bool) -> bool {
        if !self.0.get() {
            return false;
        }
        let began = Instant::now();
        while began.elapsed() < LONGEST {
            for _ in 0..LOOKS {
                if found() {
                    return true;
                }
                std::hint::spin_loop();
            }
        }
        self.0.set(false);
        false
    }

    /// Learns from a sleep: how long it was, and whether a push has ended it.
    pub fn slept(&self, duration: Duration, by_push: bool) {
        self.0.set(by_push && duration < LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often it looks before it gives up.
    fn looks(spin: &Spin) -> u32 {
        let looks = Cell::new(0);
        let found = spin.until(|| {
            looks.set(looks.get() + 1);
            false
        });
        assert!(!found);
        looks.get()
    }

    #[test]
    fn only_a_short_sleep_that_a_push_ended_calls_for_a_spin() {
        let spin = Spin::default();
        let (short, long) = (LONGEST / 2, LONGEST);
        for (duration, by_push, spins) in [
            (short, false, false),
            (long, true, false),
            (short, true, true),
        ] {
            spin.slept(duration, by_push);
            assert_eq!(looks(&spin) > 0, spins, "{duration:?}, {by_push}");
        }
    }

    #[test]
    fn it_spins_in_vain_once_and_with_success_again() {
        let spin = Spin::default();
        spin.slept(LONGEST / 2, true);
        assert!(spin.until(|| true));
        assert!(spin.until(|| true));
        assert!(looks(&spin) > 0);
        assert_eq!(looks(&spin), 0);
    }
}
