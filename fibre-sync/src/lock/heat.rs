//! How hot a lock is: whether it does better with one processor for a while.
//!
//! A lock whose holder takes it again as soon as it has given it back gains nothing from a second
//! processor: the two pass the lock's cache line, and those of what it guards, to and fro at each turn, which
//! takes longer than if one of them did all the turns. So a lock notes when it was last taken by one who had
//! to spin for it. If that happens again and again within [`OFTEN`], and its turns are short ([`QUICK`]), it is
//! *hot*, until nobody has had to spin for [`LASTING`]. Who comes to a hot lock stays away from it for longer than
//! a turn takes (see [`attempt`](super::attempt)), and who unlocks it wakes those of its own processor
//! first. So a hot lock stays with one processor for some ten microseconds, and then with another
//! one. (Lock cohorting, Dice, Marathe and Shavit, 2012, does the same with explicit local locks.)
//!
//! # Memory ordering
//!
//! Hints only, written by the lock's holder: relaxed.

use fibre_core::sync::{AtomicU32, Ordering};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// It is taken often after a spin if the time in between is shorter.
const OFTEN: Duration = Duration::from_micros(3);
/// It has short turns if one takes less than this, with the time that the lock is free.
const QUICK: Duration = Duration::from_nanos(500);
/// How long it stays hot when nobody spins for it.
const LASTING: Duration = Duration::from_micros(50);
/// A lock is hot that was taken often so many times in a row.
const HOT: u32 = 4;

/// See the module text. All zeros at first.
#[derive(Debug, Default)]
pub struct Heat {
    /// How often it has been given back since it was last taken after a spin.
    turns: AtomicU32,
    /// How many times in a row it has been taken often, in the lowest bits; above them, when it was last
    /// taken after a spin, in [`ticks`].
    noted: AtomicU32,
}

/// The bits of the times in a row, of which [`HOT`] are the most.
const TIMES: u32 = 0x07;

/// The time since some moment, in units of 64 ns; it comes round after half a minute.
fn ticks() -> u32 {
    static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
    // What does not fit is cut off.
    (BEGINNING.elapsed().as_nanos() >> 6) as u32 & TICKS
}

/// The bits of what [`ticks`] returns.
const TICKS: u32 = u32::MAX / (TIMES + 1);

/// A length of time in these units.
const fn in_ticks(time: Duration) -> u32 {
    (time.as_nanos() >> 6) as u32
}

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for Heat {
    fn end_of_frame(&mut self) {
        self.turns.end_of_frame();
        self.noted.end_of_frame();
    }
}

impl Heat {
    /// A cold lock's.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            turns: AtomicU32::new(0),
            noted: AtomicU32::new(0),
        }
    }

    /// Whether the lock is hot.
    pub fn is_hot(&self) -> bool {
        let noted = self.noted.load(Ordering::Relaxed);
        noted & TIMES >= HOT && age(noted, ticks()) < in_ticks(LASTING)
    }

    /// It is about to be given back. The holder only, so that this need not be a read-modify-write.
    #[inline]
    pub fn count_turn(&self) {
        let turns = self.turns.load(Ordering::Relaxed);
        self.turns.store(turns.wrapping_add(1), Ordering::Relaxed);
    }

    /// It has just been taken after a spin, by the caller.
    pub fn note(&self) {
        self.note_at(ticks());
    }

    /// [`note`](Self::note) at this moment.
    fn note_at(&self, now: u32) {
        let turns = self.turns.load(Ordering::Relaxed).max(1);
        let noted = self.noted.load(Ordering::Relaxed);
        let age = age(noted, now);
        let quick = age / turns < in_ticks(QUICK);
        let times = match noted & TIMES {
            times if quick && age < in_ticks(OFTEN) => (times + 1).min(HOT),
            times if quick && age < in_ticks(LASTING) => times,
            _ => 0,
        };
        self.turns.store(0, Ordering::Relaxed);
        self.noted
            .store((now * (TIMES + 1)) | times, Ordering::Relaxed);
    }
}

/// The time from what was noted until now.
fn age(noted: u32, now: u32) -> u32 {
    now.wrapping_sub(noted / (TIMES + 1)) & TICKS
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Gives it back so often, and takes it after a spin then.
    fn turns(heat: &Heat, turns: u32, now: u32) {
        (0..turns).for_each(|_| heat.count_turn());
        heat.note_at(now);
    }

    /// A lock that is given back `turns` times between two spins, which are so far apart, `spins` times.
    fn is_hot_after(turns_each: u32, apart: Duration, spins: u32) -> bool {
        let heat = Heat::new();
        let now = ticks();
        for spin in (0..spins).rev() {
            turns(
                &heat,
                turns_each,
                now.wrapping_sub(in_ticks(apart) * spin) & TICKS,
            );
        }
        heat.is_hot()
    }

    #[test]
    fn short_turns_that_are_fought_for_make_it_hot() {
        let (often, seldom) = (Duration::from_micros(1), Duration::from_micros(10));
        assert!(is_hot_after(10, often, HOT + 1));
        assert!(!is_hot_after(10, often, HOT - 1), "not often enough yet");
        assert!(!is_hot_after(1, often, 100), "its turns are long");
        assert!(!is_hot_after(100, seldom, 100), "seldom fought for");
    }

    #[test]
    fn it_stays_hot_while_processors_take_turns_and_no_longer() {
        let heat = Heat::new();
        let micros = |micros| in_ticks(Duration::from_micros(micros));
        let mut now = ticks();
        for (apart, given_back) in [(1, 10); 8].into_iter().chain([(20, 200); 100]) {
            now = now.wrapping_add(micros(apart)) & TICKS;
            turns(&heat, given_back, now);
        }
        assert_eq!(heat.noted.load(Ordering::Relaxed) & TIMES, HOT);
        turns(&heat, 600, now.wrapping_add(micros(60)) & TICKS);
        assert_eq!(heat.noted.load(Ordering::Relaxed) & TIMES, 0);
    }
}
