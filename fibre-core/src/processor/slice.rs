//! When a fibre has run for long enough that never blocks.
//!
//! A fibre that only takes locks which are free keeps its processor for ever: the
//! others starve, and so do timers and descriptors. So calls that could block count
//! (`yield_point`), and every so many of them the clock is read. How many is adapted to
//! their pace, since reading it costs more than a lock that is free.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a fibre may go on. Much longer than a switch takes, and about as long as waking
/// another processor: who was woken by an unlock waits no longer than that for its turn.
const SLICE: Duration = Duration::from_micros(20);

/// How often the clock should be read.
const CHECK_PERIOD: Duration = Duration::from_micros(5);

/// Points between two readings, at most: bounds how late a change of pace is noticed.
const LONGEST: u32 = 256;

/// See the module text.
#[derive(Debug)]
pub struct Slice {
    /// Points left until the clock is read.
    left: Cell<u32>,
    /// Points between two readings.
    interval: Cell<u32>,
    /// Whether the clock has been read since the fibre began to run.
    timed: Cell<bool>,
    /// When it was read first, and last, since then.
    began: Cell<Instant>,
    checked: Cell<Instant>,
}

impl Slice {
    /// The slice of a fibre that begins to run.
    pub fn new(now: Instant) -> Self {
        Self {
            left: Cell::new(0),
            interval: Cell::new(1),
            timed: Cell::new(false),
            began: Cell::new(now),
            checked: Cell::new(now),
        }
    }

    /// Another fibre begins to run. Reads no clock: its slice counts from the first reading.
    #[inline]
    pub fn restart(&self) {
        self.left.set(self.interval.get() - 1);
        self.timed.set(false);
    }

    /// Counts a point; `true`: it is time to read the clock.
    #[inline]
    pub fn count(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        left == 0
    }

    /// Whether the slice is over now that the clock has been read.
    pub fn is_over_at(&self, now: Instant) -> bool {
        if self.timed.replace(true) {
            self.adapt(now - self.checked.get());
        } else {
            self.began.set(now);
        }
        self.checked.set(now);
        self.left.set(self.interval.get() - 1);
        now - self.began.get() >= SLICE
    }

    /// Sets how many points lie between two readings.
    fn adapt(&self, elapsed: Duration) {
        let wanted = CHECK_PERIOD.as_nanos() * u128::from(self.interval.get());
        let points = wanted / elapsed.as_nanos().max(1);
        let interval = u32::try_from(points).map_or(LONGEST, |points| points.clamp(1, LONGEST));
        self.interval.set(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fibre that comes by a point at each step of the clock, and begins anew when its
    /// slice is over.
    struct Run {
        now: Instant,
        slice: Slice,
    }

    impl Run {
        fn new() -> Self {
            let now = Instant::now();
            let slice = Slice::new(now);
            Self { now, slice }
        }

        /// So many points, so far apart; returns how often the clock was read meanwhile,
        /// and how many slices ended.
        fn go(&mut self, points: u32, pace: Duration) -> (u32, u32) {
            let (mut readings, mut ends) = (0, 0);
            for _ in 0..points {
                self.now += pace;
                if self.slice.count() {
                    readings += 1;
                    if self.slice.is_over_at(self.now) {
                        ends += 1;
                        self.slice.restart();
                    }
                }
            }
            (readings, ends)
        }
    }

    #[test]
    fn the_clock_is_read_as_often_as_the_pace_asks_for() {
        for (pace, points, expected) in [
            (Duration::from_micros(30), 100, (100, 50)),
            (Duration::from_micros(1), 1000, (200, 40)),
            (Duration::from_nanos(10), 25_600, (100, 11)),
        ] {
            let mut run = Run::new();
            run.go(20_000, pace); // adapts
            assert_eq!(run.go(points, pace), expected, "{pace:?}");
        }
    }

    #[test]
    fn a_slower_pace_is_noticed() {
        let mut run = Run::new();
        run.go(10_000, Duration::from_nanos(10));
        let (readings, _) = run.go(2000, Duration::from_micros(100));
        assert!(readings >= 2000 - 2 * LONGEST, "{readings}");
    }

    #[test]
    fn a_fibre_that_begins_to_run_has_its_slice_before_it() {
        let mut run = Run::new();
        run.go(1000, Duration::from_micros(1));
        run.slice.restart();
        run.now += Duration::from_secs(1);
        assert_eq!(run.go(15, Duration::from_micros(1)).1, 0);
    }
}
