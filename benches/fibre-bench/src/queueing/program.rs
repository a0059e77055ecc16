//! Algorithm 1 of the thesis as numbers.

use std::fmt;
use std::time::Duration;

/// Locks, and the lengths of both loops. The number of threads is a parameter of each model, since
/// every curve runs over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Program {
    /// L, the locks. Each iteration takes one at random.
    locks: usize,
    /// t_cs, how long an iteration has its lock.
    critical: Duration,
    /// t_ncs, how long it runs before that, without a lock.
    outside: Duration,
}

/// A program that no model applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It has no lock to choose.
    NoLock,
    /// Its critical section takes no time, so nothing limits it.
    EmptySection,
}

impl Program {
    /// The program with `locks` locks, a critical section of the length `critical`, and the time
    /// `outside` of any lock. The latter may be zero.
    ///
    /// # Errors
    ///
    /// [`Refused`] if there is no lock, or if the critical section takes no time.
    pub fn new(locks: usize, critical: Duration, outside: Duration) -> Result<Self, Refused> {
        if locks == 0 {
            return Err(Refused::NoLock);
        }
        if critical.is_zero() {
            return Err(Refused::EmptySection);
        }
        Ok(Self {
            locks,
            critical,
            outside,
        })
    }

    /// L, the number of locks.
    #[must_use]
    pub fn locks(&self) -> usize {
        self.locks
    }

    /// t_cs, the length of the critical section.
    #[must_use]
    pub fn critical(&self) -> Duration {
        self.critical
    }

    /// t_ncs, the time outside of it.
    #[must_use]
    pub fn outside(&self) -> Duration {
        self.outside
    }

    /// t_cs + t_ncs: how long an iteration takes that waits for nobody.
    #[must_use]
    pub fn cycle(&self) -> Duration {
        self.critical.saturating_add(self.outside)
    }

    /// The utilisation that any number of threads stays below: L · (t_cs + t_ncs) / t_cs, where
    /// every lock is always taken. Source: thesis, equation 6.9.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.locks as f64 * self.cycle().div_duration_f64(self.critical)
    }

    /// The utilisation at this throughput, in iterations per second. Source: thesis, equation 6.8.
    #[must_use]
    pub fn utilisation(&self, throughput: f64) -> f64 {
        throughput * self.cycle().as_secs_f64()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLock => "a program needs at least one lock",
            Self::EmptySection => "the critical section has to take some time",
        })
    }
}

impl std::error::Error for Refused {}
