//! What can go wrong on a connection, and how often it did.

use std::collections::BTreeMap;

use rustix::io::Errno;

/// Why a connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// No socket, no port, no route: it never came to a connection.
    Unopened,
    /// Nobody listens.
    Refused,
    /// The server broke the connection off.
    Reset,
    /// The server closed before all answers had come, or while none was due.
    Closed,
    /// No answer in time.
    TimedOut,
    /// An invalid answer, or more of it than was asked for.
    Wrong,
}

impl Failure {
    /// All kinds, in the order of their numbers.
    const ALL: [Self; 6] = [
        Self::Unopened,
        Self::Refused,
        Self::Reset,
        Self::Closed,
        Self::TimedOut,
        Self::Wrong,
    ];

    /// What an error of an open socket means.
    pub(super) fn of(error: Errno) -> Self {
        match error {
            Errno::CONNREFUSED => Self::Refused,
            Errno::CONNRESET | Errno::PIPE => Self::Reset,
            Errno::TIMEDOUT => Self::TimedOut,
            _ => Self::Unopened,
        }
    }

    /// Its name in the summary.
    fn name(self) -> &'static str {
        match self {
            Self::Unopened => "unopened",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::TimedOut => "timed_out",
            Self::Wrong => "wrong",
        }
    }
}

/// How many connections failed, by reason.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures([u64; Failure::ALL.len()]);

impl Failures {
    /// Counts one.
    pub(super) fn count(&mut self, failure: Failure) {
        self.0[failure as usize] += 1;
    }

    /// The count of all failures.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds those of another part of the run.
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }

    /// The failures that happened, by name.
    pub(super) fn by_name(&self) -> BTreeMap<String, u64> {
        let pairs = Failure::ALL.iter().zip(self.0);
        pairs
            .filter(|&(_, count)| count > 0)
            .map(|(failure, count)| (failure.name().into(), count))
            .collect()
    }
}
