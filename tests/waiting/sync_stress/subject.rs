//! What an object under test has to offer, and the manners in which one can wait for it.

use crate::support::Random;
use fibre::Limit;
use std::time::{Duration, Instant};

/// How many actors each role has.
pub const ACTORS: usize = FIBRES + THREADS;
/// How many of them are fibres.
pub const FIBRES: usize = 6;
/// How many of them are plain threads.
pub const THREADS: usize = 2;

/// One thing that actors do, again and again.
#[derive(Debug, Clone, Copy)]
pub struct Role {
    /// What it is called in reports.
    pub name: &'static str,
    /// How often it is done in all.
    pub turns: usize,
    /// Whether that takes a [`Subject::finish`].
    pub needs_finish: bool,
}

impl Role {
    /// A role that comes to its end if all others do.
    pub fn new(name: &'static str, turns: usize) -> Self {
        Self {
            name,
            turns,
            needs_finish: false,
        }
    }

    /// A role that comes to its end after [`Subject::finish`].
    pub fn until_finish(name: &'static str, turns: usize) -> Self {
        Self {
            name,
            turns,
            needs_finish: true,
        }
    }
}

/// An object under test, of which a round makes one, with what must be true of it.
pub trait Subject: Send + Sync + 'static {
    /// A fresh one, about as busy as `turns` says.
    fn new(random: &mut Random, turns: usize) -> Self;

    /// Which actor does what. If each role is played by [`ACTORS`] at once, every turn comes to its
    /// end, once it is patient.
    fn roles(&self) -> Vec<Role>;

    /// One attempt at a turn of a role, in this manner; `false`: it was in vain.
    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool;

    /// Lets all go on that can still wait; when the roles that do not need it have ended.
    fn finish(&self) {}

    /// Panics unless all is as it must be when everybody is gone.
    fn check(&self);
}

/// How one waits.
#[derive(Debug, Clone, Copy)]
pub enum Manner {
    /// As long as it takes.
    Forever,
    /// Not at all.
    Try,
    /// For so long.
    Timeout(Duration),
    /// Until a moment, or until cancelled.
    Within(Limit),
}

impl Manner {
    /// Any manner.
    pub fn any(random: &mut Random) -> Self {
        let now = Instant::now();
        let (short, ago) = (moment(random), now.checked_sub(Duration::from_millis(1)));
        match random.below(16) {
            0 | 1 => Self::Try,
            2 => Self::Within(ago.unwrap_or(now).into()),
            3 | 4 => Self::Within((now + short).into()),
            5 => Self::Timeout(Duration::ZERO),
            6 => Self::Timeout(Duration::from_nanos(1)),
            7 | 8 => Self::Timeout(short),
            _ => Self::patient(random),
        }
    }

    /// A manner that ends by success, or because its fibre is cancelled.
    pub fn patient(random: &mut Random) -> Self {
        let hour = Duration::from_secs(3600);
        match random.below(8) {
            _ if fibre::is_cancelled() => Self::Forever,
            0 | 1 => Self::Within(Limit::Cancellation),
            2 => Self::Timeout(hour),
            3 => Self::Timeout(Duration::MAX),
            4 => Self::Within(Limit::Deadline(Instant::now() + hour)),
            _ => Self::Forever,
        }
    }

    /// Whether one who has waited in this manner since then may give up now.
    pub fn may_give_up(self, since: Instant) -> bool {
        let is_over = |deadline: Option<Instant>| {
            deadline.is_some_and(|deadline| deadline <= Instant::now()) || fibre::is_cancelled()
        };
        match self {
            Self::Forever => false,
            Self::Try => true,
            Self::Timeout(timeout) => is_over(since.checked_add(timeout)),
            Self::Within(limit) => is_over(limit.deadline()),
        }
    }
}

/// A short random time.
pub fn moment(random: &mut Random) -> Duration {
    Duration::from_micros(random.below(200) as u64)
}

/// Passes a random time with nothing, with work, or with letting others run.
pub fn dwell(random: &mut Random) {
    match random.below(8) {
        0 | 1 => fibre::yield_now(),
        2 => (0..random.below(300)).for_each(|_| std::hint::spin_loop()),
        3 => fibre::sleep(moment(random) / 4),
        _ => {}
    }
}

/// The like for one whom others wait for without blocking.
pub fn dwell_briefly(random: &mut Random) {
    if random.one_in(8) {
        fibre::yield_now();
    }
}
