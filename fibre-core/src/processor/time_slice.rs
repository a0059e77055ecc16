//! The time slice: how long a fibre that never blocks runs before others do.
//!
//! A fibre that only takes free locks keeps its processor for ever: the others starve, and so do
//! timers and descriptors. So calls that could block are counted (`yield_point`), and after some of
//! them the processor reads the clock. Their number adapts to their pace, since reading the clock
//! costs more than a free lock. Each run learns it anew, beginning with few calls, or with some if
//! slices are long: a slow fibre must not inherit a fast one's interval. How long it may run is a
//! setting of its cluster.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How often the clock should be read.
const CHECK_PERIOD: Duration = Duration::from_micros(5);

/// The points up to the first reading of a run: a fibre that blocks more often reads no clock.
/// After a run with points far apart it is the first point, as reading is cheap then.
const FIRST: u32 = 3;

/// Where slices are long there are more points up to it: one for so much of a slice. So a fibre
/// with points as far apart reads the clock before its slice is over.
const PACE: Duration = Duration::from_millis(5);

/// How much longer an interval may be than the one before, and how long at most: bounds
/// how late a change of pace is noticed.
const GROWTH: u32 = 4;
const MAX_POINTS: u32 = 64;

/// How long fibres go on.
pub(super) struct Slices {
    /// How long the running fibre has gone on without a switch.
    pub(super) run: Slice,
    /// How long fibres have made way for others without letting all of them run.
    pub(super) way: Slice,
}

impl Slices {
    /// The slices of a processor that begins, each of this length; with `at_each_point`, it looks
    /// at each point whether a fibre's slice is over.
    pub(super) fn new(epoch: Instant, length: Duration, at_each_point: bool) -> Self {
        let mut run = Slice::new(epoch, length);
        if at_each_point {
            run.look_at_each_point();
        }
        Self {
            run,
            way: Slice::new(epoch, length),
        }
    }
}

/// The slice of the running fibre.
#[derive(Debug)]
pub(super) struct Slice {
    /// How long a fibre may go on.
    length: Duration,
    /// Points left until the clock is read.
    left: Cell<u32>,
    /// Points between the last two readings of this run; none before the first.
    interval: Cell<u32>,
    /// Points up to the first reading of a run after one with points that were not far apart.
    usual_first: u32,
    /// Points up to the first reading of the next run.
    first: Cell<u32>,
    /// The time of the first reading of the clock, and of the last, in this run.
    began: Cell<Instant>,
    checked: Cell<Instant>,
}

impl Slice {
    /// The slice of a fibre that begins to run, and may go on for `length`.
    pub(super) fn new(now: Instant, length: Duration) -> Self {
        let points = length.as_nanos() / PACE.as_nanos();
        let first =
            u32::try_from(points).map_or(MAX_POINTS, |points| points.clamp(FIRST, MAX_POINTS));
        Self {
            length,
            left: Cell::new(first - 1),
            interval: Cell::new(0),
            usual_first: first,
            first: Cell::new(first),
            began: Cell::new(now),
            checked: Cell::new(now),
        }
    }

    /// Has [`count`](Self::count) say at the first point of each run that it is time to look.
    fn look_at_each_point(&mut self) {
        self.usual_first = 1;
        self.first.set(1);
        self.restart();
    }

    /// Notes that another fibre begins to run. Reads no clock: its slice counts from the first
    /// reading.
    #[inline]
    pub(super) fn restart(&self) {
        self.left.set(self.first.get() - 1);
        self.interval.set(0);
    }

    /// Counts a point. `true`: it is time to read the clock.
    #[inline]
    pub(super) fn count(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        left == 0
    }

    /// Whether the slice is over now that the clock has been read.
    pub(super) fn is_over_at(&self, now: Instant) -> bool {
        let interval = self.interval.get();
        let next = if interval == 0 {
            self.began.set(now);
            1
        } else {
            let next = next_interval(interval, now - self.checked.get());
            self.first.set(if next == 1 { 1 } else { self.usual_first });
            next
        };
        self.checked.set(now);
        self.interval.set(next);
        self.left.set(next - 1);
        now - self.began.get() >= self.length
    }
}

/// How many points to let go by until the next reading, when `points` points `took` so long.
fn next_interval(points: u32, took: Duration) -> u32 {
    let wanted = CHECK_PERIOD.as_nanos() * u128::from(points) / took.as_nanos().max(1);
    let most = MAX_POINTS.min(points * GROWTH);
    u32::try_from(wanted).map_or(most, |wanted| wanted.clamp(1, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default slice.
    const SLICE: Duration = Duration::from_micros(20);

    /// A fibre that reaches a point at each step of the clock, and begins anew when its slice is
    /// over.
    struct Run {
        now: Instant,
        slice: Slice,
    }

    impl Run {
        fn new() -> Self {
            Self::of(SLICE)
        }

        /// A run with slices of this length.
        fn of(length: Duration) -> Self {
            let now = Instant::now();
            let slice = Slice::new(now, length);
            Self { now, slice }
        }

        /// Passes so many points, so far apart; returns how often the clock was read meanwhile, and
        /// how many slices ended.
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
        for (pace, points, readings) in [
            (Duration::from_micros(30), 1000, 900..=1000),
            (Duration::from_micros(1), 1000, 200..=350),
            (Duration::from_nanos(10), 100_000, 1560..=2000),
        ] {
            let (seen, ends) = Run::new().go(points, pace);
            assert!(readings.contains(&seen), "{pace:?}: {seen}");
            let time = pace * points;
            let fewest = time.as_micros() / (SLICE + 8 * pace + CHECK_PERIOD).as_micros();
            assert!(u128::from(ends) >= fewest, "{pace:?}: {ends} of {fewest}");
        }
    }

    #[test]
    fn slices_are_as_long_as_they_should_be() {
        for (length, most) in [(0, 340), (20, 45), (100, 10), (1000, 1)] {
            let mut run = Run::of(Duration::from_micros(length));
            let (_, ends) = run.go(1010, Duration::from_micros(1));
            let expected = most - most / 3..=most;
            assert!(expected.contains(&ends), "{length} µs: {ends}");
        }
    }

    /// The first point of each run looks.
    #[test]
    fn each_point_looks_where_a_director_decides() {
        let slices = Slices::new(Instant::now(), SLICE, true);
        for _ in 0..3 {
            assert!(slices.run.count() && !slices.run.count());
            slices.run.restart();
        }
        let plain = Slices::new(Instant::now(), SLICE, false);
        assert!(!plain.run.count() && !slices.way.count());
    }

    #[test]
    fn a_slower_pace_is_noticed() {
        let mut run = Run::new();
        run.go(10_000, Duration::from_nanos(10));
        let late = MAX_POINTS + FIRST;
        let (_, ends) = run.go(late, Duration::from_micros(100));
        assert!(ends >= 1);
    }

    #[test]
    fn a_fast_pace_is_not_inherited() {
        let mut run = Run::new();
        run.go(10_000, Duration::from_nanos(10));
        run.slice.restart();
        let (_, ends) = run.go(FIRST + 2, Duration::from_millis(1));
        assert!(ends >= 1);
    }

    /// A server that answers batches within long slices reads no clock for a short one.
    #[test]
    fn where_slices_are_long_short_runs_read_no_clock() {
        for (milliseconds, most) in [(1, FIRST), (20, 4), (100, 20), (1000, MAX_POINTS)] {
            let mut run = Run::of(Duration::from_millis(milliseconds));
            for _ in 0..100 {
                run.slice.restart();
                assert_eq!(run.go(most - 1, Duration::from_micros(1)), (0, 0));
            }
            assert_eq!(run.go(1, Duration::from_micros(1)).0, 1);
            // Points that are far apart are noticed all the same, and end the slice.
            let far = Duration::from_millis(milliseconds);
            assert_eq!(run.go(2, far).1, 1);
            run.slice.restart();
            assert_eq!(run.go(2, far).1, 1);
        }
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
