//! What a connection is to ask for next, and when.
//!
//! In a *closed* loop a request is due when there is room for it: when the server is slow, less is
//! asked of it. In an *open* loop it is due at a time that was fixed before, whether or not earlier
//! ones have been answered. Its latency counts from that time, so that the wait of those that a
//! slow answer keeps from being sent is not left out (Tene's "coordinated omission").

use fastrand::Rng;

use crate::distribution::Distribution;

/// What a connection does.
#[derive(Debug)]
pub(crate) enum Work {
    /// It stores its own keys, one after the other, from this one.
    Preload {
        /// The next key.
        next: u32,
    },
    /// It asks and stores as it was planned.
    Mix {
        /// How many requests are left.
        left: u64,
        /// When they are due.
        pace: Pace,
    },
}

/// When requests are due.
#[derive(Debug)]
pub(crate) enum Pace {
    /// When there is room for them.
    Closed,
    /// At fixed times.
    Open(Schedule),
}

/// The times when requests are due.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// The next one, in nanoseconds.
    next: f64,
    /// The gap from one request to the next.
    gap: Distribution,
    /// What stretches gaps to the mean that the rate asks for.
    stretch: f64,
    /// What they follow from, apart from all else: the times are the same whatever the answers are.
    random: Rng,
}

impl Schedule {
    /// Times from `begin` on with gaps of this shape, and of this mean in nanoseconds.
    #[must_use]
    pub(crate) fn new(begin: u64, gap: Distribution, mean: f64, mut random: Rng) -> Self {
        let stretch = mean / gap.mean();
        // Connections do not begin together.
        let first = random.f64() * mean;
        Self {
            next: begin as f64 + first,
            gap,
            stretch,
            random,
        }
    }

    /// The next time.
    #[must_use]
    pub(crate) fn next(&self) -> u64 {
        self.next as u64
    }

    /// Goes on to the one after it.
    pub(crate) fn advance(&mut self) {
        self.next += self.gap.quantile(self.random.f64()) * self.stretch;
    }
}

impl Pace {
    /// When the next request is due, if that is known before there is room for it.
    #[must_use]
    pub(crate) fn next(&self) -> Option<u64> {
        match self {
            Self::Closed => None,
            Self::Open(schedule) => Some(schedule.next()),
        }
    }

    /// Takes the next request if it is due now, and says since when.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) -> Option<u64> {
        let Self::Open(schedule) = self else {
            return Some(now);
        };
        let due = schedule.next();
        (due <= now).then(|| {
            schedule.advance();
            due
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::ETC_GAP;
    use crate::random::stream;

    #[test]
    fn times_have_the_mean_that_was_asked_for() {
        for gap in [
            ETC_GAP,
            Distribution::Exponential(1.0),
            Distribution::Fixed(3.0),
        ] {
            let mut schedule = Schedule::new(1000, gap, 5e4, stream(1, 1));
            let first = schedule.next();
            assert!((1000..51_000).contains(&first));
            (0..100_000).for_each(|_| schedule.advance());
            let mean = (schedule.next() - first) as f64 / 1e5;
            assert!((mean / 5e4 - 1.0).abs() < 0.02, "{gap}: {mean}");
        }
    }

    #[test]
    fn an_open_loop_goes_by_its_times_and_a_closed_one_by_the_clock() {
        let schedule = Schedule::new(0, Distribution::Fixed(1.0), 100.0, stream(1, 1));
        let first = schedule.next();
        let mut open = Pace::Open(schedule);
        assert_eq!(open.take(first - 1), None);
        assert_eq!(open.take(1000), Some(first));
        assert_eq!(open.take(1000), Some(first + 100));
        assert_eq!(Pace::Closed.take(1000), Some(1000));
    }
}
