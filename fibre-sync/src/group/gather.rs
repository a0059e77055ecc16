//! Waits for several results at once, which end the rest of the group.
//!
//! Such a call *settles* the group: it has what its body wants of it. The fibres that still run are
//! cancelled, and what becomes of them is no failure. The group's call returns when all have ended.

use super::{Group, Partial, PartialCause};
use crate::members::Gathered;
use fibre_core::Limit;
use fibre_core::internal::given_up;

impl<T, E> Group<'_, '_, T, E> {
    /// The first result; **it ends the rest**: fibres that still run are cancelled, and no more are
    /// started. Blocks the fibre (or thread) until there is one. `None`: no fibre is left, or the
    /// group has failed.
    ///
    /// An error that comes before the first result is the group's, and one that comes later is a
    /// consequence, which is dropped. The group's call returns when all fibres have ended, so they
    /// should notice their cancellation, or be [`cancellable`](crate::GroupBuilder::cancellable).
    /// What other fibres return nonetheless is not lost: [`next`](Self::next) has it.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let fastest = fibre::group(|group| {
    ///     for wait in [3600, 0, 7200] {
    ///         group.spawn(move || {
    ///             fibre::sleep_within(Duration::from_secs(wait))?;
    ///             Ok::<_, fibre::Cancelled>(wait)
    ///         });
    ///     }
    ///     Ok(group.first())
    /// });
    /// assert_eq!(fastest, Ok(Some(0)));
    /// ```
    #[must_use = "the result is taken"]
    pub fn first(&self) -> Option<T> {
        self.gather(Some(1), |_| true, Limit::None).0.pop()
    }

    /// **Ends the rest**, as [`first`](Self::first) does, for a body that has what it wants from
    /// [`next`](Self::next) or an arm: fibres that still run are cancelled, no more are started,
    /// and what becomes of them is no failure. Blocks nothing: the group's call waits for them.
    ///
    /// ```
    /// use fibre::{select, select::after};
    /// use std::time::Duration;
    ///
    /// let long = Duration::from_secs(3600);
    /// let answer = fibre::group(|group| {
    ///     group.spawn(|| Ok::<_, fibre::Cancelled>("here"));
    ///     group.spawn(|| fibre::sleep_within(long).map(|()| "late"));
    ///     let answer = select! {
    ///         answer = group.next_arm() => answer,
    ///         _ = after(long) => None,
    ///     };
    ///     group.end_rest(); // or the group would wait for the other fibre
    ///     Ok(answer)
    /// });
    /// assert_eq!(answer, Ok(Some("here")));
    /// ```
    pub fn end_rest(&self) {
        drop(self.gather(Some(0), |_| true, Limit::None));
    }

    /// The first `count` results; **they end the rest**, as [`first`](Self::first) does. Blocks the
    /// fibre (or thread) until they are there, or so few fibres are left that they cannot come:
    /// start the fibres before.
    ///
    /// ```
    /// let most = fibre::group(|group| {
    ///     for replica in 0..5 {
    ///         group.spawn(move || Ok::<_, ()>(replica));
    ///     }
    ///     Ok(group.quorum(3).unwrap().len())
    /// });
    /// assert_eq!(most, Ok(3));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Partial`], with the results that there are. The rest has been ended then, too.
    pub fn quorum(&self, count: usize) -> Result<Vec<T>, Partial<T>> {
        self.quorum_within(count, Limit::None)
    }

    /// [`quorum`](Self::quorum) until the [`Limit`] comes: what there is by then is in the error.
    /// The [time of the group](crate::GroupBuilder::timeout), or of a limit around it, is another
    /// one: its end is a failure of all.
    ///
    /// # Errors
    ///
    /// [`Partial`], with the results that there are. The rest has been ended then, too.
    pub fn quorum_within(
        &self,
        count: usize,
        limit: impl Into<Limit>,
    ) -> Result<Vec<T>, Partial<T>> {
        let limit = limit.into();
        into_result(self.gather(Some(count), |_| true, limit), limit)
    }

    /// All results, in the order fibres end; when the [`Limit`] comes, those that there are by
    /// then, and **the rest is ended**. Blocks the fibre (or thread) until no fibre of the group is
    /// left, or the limit comes.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let pages = fibre::group(|group| {
    ///     for wait in [0, 3600] {
    ///         group.spawn(move || {
    ///             fibre::sleep_within(Duration::from_secs(wait))?;
    ///             Ok::<_, fibre::Cancelled>(wait)
    ///         });
    ///     }
    ///     # while group.running() > 1 { fibre::yield_now(); }
    ///     let pages = group.results_within(Duration::from_millis(5));
    ///     Ok(pages.unwrap_or_else(fibre::Partial::into_results))
    /// });
    /// assert_eq!(pages, Ok(vec![0]));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Partial`], with the results that there are. The rest has been ended then.
    pub fn results_within(&self, limit: impl Into<Limit>) -> Result<Vec<T>, Partial<T>> {
        let limit = limit.into();
        into_result(self.gather(None, |_| true, limit), limit)
    }

    /// Waits for so many results that count, or for all, and ends the rest.
    pub(super) fn gather(
        &self,
        wanted: Option<usize>,
        counts: fn(&T) -> bool,
        limit: Limit,
    ) -> (Vec<T>, Gathered) {
        let gathered = self.shared.members.gather(wanted, counts, limit);
        self.shared.token.cancel();
        gathered
    }
}

/// What a gathering within this limit returns.
pub(super) fn into_result<T>(
    (results, end): (Vec<T>, Gathered),
    limit: Limit,
) -> Result<Vec<T>, Partial<T>> {
    let cause = match end {
        Gathered::Enough => return Ok(results),
        Gathered::TooFew => PartialCause::TooFew,
        Gathered::Failed => PartialCause::Cancelled,
        Gathered::Over => given_up(limit).into(),
    };
    Err(Partial { results, cause })
}
