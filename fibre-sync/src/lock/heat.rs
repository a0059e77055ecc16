//! What a lock's turns are like: whether one processor should keep it for a while, and whether
//! handing it on is worth a switch.
//!
//! If a holder takes its lock again as soon as it has released it, a second processor gains
//! nothing. The two pass the cache lines of the lock and its data back and forth at each turn,
//! which takes longer than if one processor did all the turns. So a lock records when it was last
//! taken after a spin. If that happens again and again within [`OFTEN`], and the spins are short,
//! then its turns are short, too, and the lock is *hot*. It stays hot until no caller has spun for
//! it for [`LASTING`]. A caller that comes to a hot lock stays away for longer than a turn takes
//! (see [`attempt`](super::attempt)). Its unlocker wakes waiters of its own processor first. So a
//! hot lock stays with one processor for some ten microseconds, and then with another one. (Lock
//! cohorting, Dice, Marathe and Shavit, 2012, does the same with explicit local locks.)
//!
//! The opposite of a hot lock is a lock with *long turns*. A holder that waited for its turn
//! measures it (`fibre_core`'s `park/turn.rs`), if others wait when it ends.
//! [`queued`](super::queued) explains the consequences.
//!
//! # Memory ordering
//!
//! Hints only, written by the lock's holder: relaxed.

use fibre_core::sync::{AtomicU32, Ordering};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The longest time between two spins that counts as often.
const OFTEN: Duration = Duration::from_micros(3);
/// How long a lock stays hot when no caller spins for it.
const LASTING: Duration = Duration::from_micros(50);
/// How many times in a row a lock must be taken often to be hot.
const HOT: u32 = 4;

/// The shortest long turn: some switches.
const LONG: Duration = Duration::from_nanos(700);
/// The shortest turn that it is no use to yield for.
const VERY_LONG: Duration = Duration::from_micros(10);

/// How long a lock's turns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turns {
    /// Short, or not known.
    Short,
    /// Long enough for a switch of fibres after each.
    Long,
    /// Long enough to block at once: yielding would not outlast it.
    VeryLong,
}

/// What a lock remembers of its turns. The lowest bits count how many times in a row the lock was
/// taken often, or say that its turns are long; the others say when it was last taken after a spin,
/// in [`ticks`]. All zeros at first.
#[derive(Debug, Default)]
pub struct Heat(AtomicU32);

/// The bits of the count, which goes up to [`HOT`].
const TIMES: u32 = 0x07;
/// What stands in place of the count if turns are long, or very long.
const LONG_TURNS: u32 = 6;
const VERY_LONG_TURNS: u32 = 7;

/// The time since some moment, in units of 64 ns; it comes round after half a minute.
fn ticks() -> u32 {
    static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
    // The higher bits are cut off.
    (BEGINNING.elapsed().as_nanos() >> 6) as u32 & TICKS
}

/// The bits of what [`ticks`] returns.
const TICKS: u32 = u32::MAX / (TIMES + 1);

/// A duration in these units.
const fn in_ticks(time: Duration) -> u32 {
    (time.as_nanos() >> 6) as u32
}

fibre_core::end_of_frame!(Heat: 0);

impl Heat {
    fibre_core::const_outside_models! {
        /// The heat of a cold lock.
        pub const fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    /// Whether the lock is hot.
    pub fn is_hot(&self) -> bool {
        let noted = self.0.load(Ordering::Relaxed);
        noted & TIMES == HOT && age(noted, ticks()) < in_ticks(LASTING)
    }

    /// How long the lock's turns are.
    #[inline]
    pub fn turns(&self) -> Turns {
        turns(self.0.load(Ordering::Relaxed))
    }

    /// Whether the lock's turns may be long: otherwise, it has just been taken after short spins.
    #[inline]
    pub fn may_be_long(&self) -> bool {
        let times = self.0.load(Ordering::Relaxed) & TIMES;
        times == 0 || times > HOT
    }

    /// Records how long the turn was that ends.
    pub fn note_turn(&self, length: Duration) {
        let noted = self.0.load(Ordering::Relaxed);
        let (now, count) = match length {
            length if length >= VERY_LONG => (Turns::VeryLong, VERY_LONG_TURNS),
            length if length >= LONG => (Turns::Long, LONG_TURNS),
            _ => (Turns::Short, 0),
        };
        if now != turns(noted) {
            self.0.store(noted & !TIMES | count, Ordering::Relaxed);
        }
    }

    /// Records that the caller has just taken the lock after a spin, which was `short` or not.
    pub fn note(&self, short: bool) {
        self.note_at(ticks(), short);
    }

    /// [`note`](Self::note) at this moment.
    fn note_at(&self, now: u32, short: bool) {
        let noted = self.0.load(Ordering::Relaxed);
        let age = age(noted, now);
        let times = match noted & TIMES {
            long if long > HOT => long,
            times if short && age < in_ticks(OFTEN) => (times + 1).min(HOT),
            times if short && age < in_ticks(LASTING) => times,
            _ => 0,
        };
        self.0.store((now * (TIMES + 1)) | times, Ordering::Relaxed);
    }
}

/// What a record says of the turns.
#[inline]
fn turns(noted: u32) -> Turns {
    match noted & TIMES {
        VERY_LONG_TURNS => Turns::VeryLong,
        LONG_TURNS => Turns::Long,
        _ => Turns::Short,
    }
}

/// The time from a record until now.
fn age(noted: u32, now: u32) -> u32 {
    now.wrapping_sub(noted / (TIMES + 1)) & TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a lock is hot after so many spins that are so far apart.
    fn is_hot_after(spins: u32, apart: Duration, short: bool) -> bool {
        let heat = Heat::new();
        let now = ticks();
        for spin in (0..spins).rev() {
            heat.note_at(now.wrapping_sub(in_ticks(apart) * spin) & TICKS, short);
        }
        heat.is_hot()
    }

    #[test]
    fn short_turns_that_are_fought_for_make_it_hot() {
        let (often, seldom) = (Duration::from_micros(1), Duration::from_micros(10));
        assert!(is_hot_after(HOT + 1, often, true));
        assert!(!is_hot_after(HOT - 1, often, true), "not often enough yet");
        assert!(!is_hot_after(100, often, false), "its turns are long");
        assert!(!is_hot_after(100, seldom, true), "seldom fought for");
    }

    #[test]
    fn long_turns_are_known_until_they_are_short() {
        let heat = Heat::new();
        assert_eq!(heat.turns(), Turns::Short);
        for (length, known) in [
            (LONG, Turns::Long),
            (VERY_LONG, Turns::VeryLong),
            (VERY_LONG / 2, Turns::Long),
            (LONG / 2, Turns::Short),
            (VERY_LONG, Turns::VeryLong),
        ] {
            heat.note_turn(length);
            assert_eq!(heat.turns(), known, "{length:?}");
        }
        (0..10).for_each(|_| heat.note(true));
        assert!(
            !heat.is_hot() && heat.turns() == Turns::VeryLong,
            "whatever spins found"
        );
        heat.note_turn(Duration::ZERO);
        (0..10).for_each(|_| heat.note(true));
        assert!(heat.is_hot() && heat.turns() == Turns::Short);
        heat.note_turn(Duration::ZERO);
        assert!(heat.is_hot(), "its turns have always been short");
    }

    #[test]
    fn it_stays_hot_while_processors_take_turns_and_no_longer() {
        let heat = Heat::new();
        let micros = |micros| in_ticks(Duration::from_micros(micros));
        let mut now = ticks();
        for apart in [1; 8].into_iter().chain([20; 100]) {
            now = now.wrapping_add(micros(apart)) & TICKS;
            heat.note_at(now, true);
        }
        assert_eq!(heat.0.load(Ordering::Relaxed) & TIMES, HOT);
        heat.note_at(now.wrapping_add(micros(60)) & TICKS, true);
        assert_eq!(heat.0.load(Ordering::Relaxed) & TIMES, 0);
    }
}
