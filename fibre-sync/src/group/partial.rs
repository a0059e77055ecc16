//! Fewer results than were asked for.

use fibre_core::{Cancelled, WaitError};
use std::error::Error;
use std::fmt;
use std::io;

/// Fewer results than were asked for: what there is, and why it is no more. The error of
/// [`Group::quorum`](crate::Group::quorum) and its kin.
///
/// ```
/// use fibre::PartialCause;
/// use std::time::Duration;
///
/// let there = fibre::group(|group| {
///     group.spawn(|| Ok::<_, fibre::Cancelled>(1));
///     group.spawn(|| fibre::sleep_within(Duration::from_secs(3600)).map(|()| 2));
///     # while group.running() > 1 { fibre::yield_now(); }
///     let partial = group.results_within(Duration::from_millis(5)).unwrap_err();
///     assert_eq!(partial.cause(), PartialCause::TimedOut);
///     Ok(partial.into_results())
/// });
/// assert_eq!(there, Ok(vec![1]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial<T> {
    /// What there is.
    pub(super) results: Vec<T>,
    /// Why it is no more.
    pub(super) cause: PartialCause,
}

/// Why there are fewer results than were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartialCause {
    /// So few fibres are left that they cannot return as many.
    TooFew,
    /// The time of the call is over.
    TimedOut,
    /// The caller has been cancelled, or the group has failed; also, its own time, or a time-out
    /// around it, is over.
    Cancelled,
}

impl From<WaitError> for PartialCause {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::TimedOut => Self::TimedOut,
            WaitError::Cancelled => Self::Cancelled,
        }
    }
}

impl<T> Partial<T> {
    /// What there is, in the order fibres ended.
    #[must_use]
    pub fn results(&self) -> &[T] {
        &self.results
    }

    /// What there is, as a value.
    #[must_use]
    pub fn into_results(self) -> Vec<T> {
        self.results
    }

    /// Why it is no more.
    #[must_use]
    pub fn cause(&self) -> PartialCause {
        self.cause
    }
}

/// Of a [`Supervisor`](crate::Supervisor): its results may be failures.
impl<T, E> Partial<Result<T, E>> {
    /// How fibres have failed, in the order they did.
    ///
    /// ```
    /// use fibre::{Group, GroupError};
    ///
    /// let answer = Group::builder().keep_going().run(|group| {
    ///     group.spawn(|| Err::<u32, _>("no route".to_owned()));
    ///     group.spawn(|| Err("refused".to_owned()));
    ///     group.first().map_err(|all| {
    ///         let mut reasons: Vec<_> = all.failures().map(ToString::to_string).collect();
    ///         reasons.sort();
    ///         reasons.join("; ")
    ///     })
    /// });
    /// assert_eq!(answer, Err(GroupError::Failed("no route; refused".to_owned())));
    /// ```
    pub fn failures(&self) -> impl Iterator<Item = &E> {
        self.results
            .iter()
            .filter_map(|result| result.as_ref().err())
    }
}

impl<T> fmt::Display for Partial<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.cause {
            PartialCause::TooFew => "too few fibres are left for the others",
            PartialCause::TimedOut => "the time was over before the others came",
            PartialCause::Cancelled => "the wait for the others was cancelled",
        };
        match self.results.len() {
            1 => write!(f, "there is one result: {why}"),
            count => write!(f, "there are {count} results: {why}"),
        }
    }
}

impl<T: fmt::Debug> Error for Partial<T> {}

/// As an [`io::Error`] it is `TimedOut`, what [`Cancelled`] is, or of the kind `Other`.
impl<T> From<Partial<T>> for io::Error {
    fn from(partial: Partial<T>) -> Self {
        match partial.cause {
            PartialCause::TooFew => Self::other(partial.to_string()),
            PartialCause::TimedOut => Self::new(io::ErrorKind::TimedOut, partial.to_string()),
            PartialCause::Cancelled => Cancelled.into(),
        }
    }
}
