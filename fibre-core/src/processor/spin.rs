//! Whether a processor spins before it goes to sleep.
//!
//! Being woken costs the waker a system call and the sleeper some microseconds, so two fibres on
//! two processors that wake each other in turn would do little else. A processor spins if its last
//! sleep was ended by a push or an event, and so soon that spinning would have been cheaper.
//! Meanwhile it asks for events, too. After a failed spin it skips exponentially more sleeps before
//! spinning again: the kernel may have put both threads on one CPU, and a thread that spins there
//! keeps off the very thread it waits for. A spin also ends as soon as there is work that no push
//! announces: a deadline, a request, work at another processor. A spin that an event ends has
//! failed, too: a processor that asks all the time gets events one by one, and one that sleeps gets
//! them by the dozen.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The longest sleep that may have been better spun through, in spins: one, and what being woken
/// takes in a bad case, such as a virtual machine with a halted CPU.
const SHORT: u32 = 3;

/// Looks between two readings of the clock, and between two questions for events.
const LOOKS: u32 = 32;

/// Short sleeps between two failed spins, at most.
const MAX_PENALTY: u32 = 255;

/// Decides about spinning.
#[derive(Debug)]
pub(crate) struct Spin {
    /// The longest spin.
    longest: Duration,
    /// Whether the last sleep calls for a spin.
    wanted: Cell<bool>,
    /// How many short sleeps to let go by before the next spin.
    wait: Cell<u32>,
    /// How many those were after the last failed spin.
    penalty: Cell<u32>,
}

impl Spin {
    /// Spins of at most this length; none at all if it is zero.
    pub(crate) fn new(longest: Duration) -> Self {
        Self {
            longest,
            wanted: Cell::new(false),
            wait: Cell::new(0),
            penalty: Cell::new(0),
        }
    }

    /// Looks for a moment whether `found`, if the last sleep says so. `limit` returns a moment when
    /// there is something else to do. `look` gets the time, delivers events, which are worth no
    /// spin, and says whether to go on.
    #[inline]
    pub(crate) fn until(
        &self,
        found: impl Fn() -> bool,
        limit: impl FnOnce(Instant) -> Option<Instant>,
        look: impl Fn(Instant) -> bool,
    ) -> bool {
        self.wanted.get() && self.spin(found, limit, look)
    }

    /// [`until`](Self::until) where the last sleep says so.
    #[inline(never)]
    fn spin(
        &self,
        found: impl Fn() -> bool,
        limit: impl FnOnce(Instant) -> Option<Instant>,
        look: impl Fn(Instant) -> bool,
    ) -> bool {
        let began = Instant::now();
        let longest = began.checked_add(self.longest);
        let end = limit(began).into_iter().chain(longest).min();
        let mut now = began;
        let mut goes_on = true;
        while goes_on && end.is_none_or(|end| now < end) {
            for _ in 0..LOOKS {
                if found() {
                    self.penalty.set(0);
                    return true;
                }
                std::hint::spin_loop();
            }
            now = Instant::now();
            goes_on = look(now);
            if found() {
                self.give_up();
                return true;
            }
        }
        self.give_up();
        false
    }

    /// Notes a failed spin: ever more short sleeps go by before the next one.
    fn give_up(&self) {
        self.wanted.set(false);
        let penalty = (2 * self.penalty.get() + 1).min(MAX_PENALTY);
        self.penalty.set(penalty);
        self.wait.set(penalty);
    }

    /// Learns from a sleep: its length, and whether a push or an event has ended it.
    pub(crate) fn slept(&self, duration: Duration, by_others: bool) {
        let short = by_others && duration < self.longest.saturating_mul(SHORT);
        let wait = self.wait.get();
        self.wanted.set(short && wait == 0);
        if short {
            self.wait.set(wait.saturating_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_SPIN: Duration = Duration::from_micros(20);

    /// How often the spin looks before it gives up.
    fn looks(spin: &Spin) -> u32 {
        let looks = Cell::new(0);
        let found = spin.until(
            || {
                looks.set(looks.get() + 1);
                false
            },
            |_| None,
            |_| true,
        );
        assert!(!found);
        looks.get()
    }

    #[test]
    fn only_a_short_sleep_that_others_ended_calls_for_a_spin() {
        let spin = Spin::new(MAX_SPIN);
        let (short, long) = (MAX_SPIN, MAX_SPIN * SHORT);
        for (duration, by_others, spins) in [
            (short, false, false),
            (long, true, false),
            (short, true, true),
        ] {
            spin.slept(duration, by_others);
            assert_eq!(looks(&spin) > 0, spins, "{duration:?}, {by_others}");
        }
    }

    #[test]
    fn a_spin_of_no_length_is_none() {
        let spin = Spin::new(Duration::ZERO);
        spin.slept(Duration::ZERO, true);
        assert_eq!(looks(&spin), 0);
    }

    #[test]
    fn spins_in_vain_become_rare() {
        let spin = Spin::new(MAX_SPIN);
        let spins = (0..300).filter(|_| {
            spin.slept(MAX_SPIN / 2, true);
            looks(&spin) > 0
        });
        // After 1, 3, 7, … sleeps more: 1 + 2 + 4 + … + 128 are 255.
        assert_eq!(spins.count(), 8);
        (0..256).for_each(|_| spin.slept(MAX_SPIN / 2, true));
        assert!(spin.until(|| true, |_| None, |_| true));
        assert!(looks(&spin) > 0);
        spin.slept(MAX_SPIN / 2, true);
        spin.slept(MAX_SPIN / 2, true);
        assert!(looks(&spin) > 0, "success is rewarded");
    }

    #[test]
    fn events_are_worth_no_spin() {
        let spin = Spin::new(MAX_SPIN);
        let found = Cell::new(false);
        spin.slept(MAX_SPIN / 2, true);
        assert!(spin.until(
            || found.get(),
            |_| None,
            |_| {
                found.set(true);
                true
            }
        ));
        spin.slept(MAX_SPIN / 2, true);
        assert_eq!(looks(&spin), 0);
    }

    #[test]
    fn it_spins_in_vain_once_and_with_success_again() {
        let spin = Spin::new(MAX_SPIN);
        spin.slept(MAX_SPIN / 2, true);
        assert!(spin.until(|| true, |_| None, |_| true));
        assert!(spin.until(|| true, |_| None, |_| true));
        assert!(looks(&spin) > 0);
        assert_eq!(looks(&spin), 0);
    }

    /// A spin of any length ends for a deadline, and when a look says so; and it may be learnt
    /// from.
    #[test]
    fn a_spin_without_end_looks_at_other_things() {
        for longest in [
            Duration::MAX,
            Duration::from_secs(u64::MAX),
            Duration::from_secs(3600),
        ] {
            let spin = Spin::new(longest);
            spin.slept(Duration::from_secs(1), true);
            let soon = |began: Instant| Some(began + Duration::from_micros(10));
            assert!(!spin.until(|| false, soon, |_| true), "{longest:?}");
            spin.slept(Duration::from_secs(1), true);
            spin.slept(Duration::from_secs(1), true);
            let looks = Cell::new(0);
            let some = |_| looks.replace(looks.get() + 1) < 3;
            assert!(!spin.until(|| false, |_| None, some), "{longest:?}");
            assert_eq!(looks.get(), 4);
        }
    }
}
