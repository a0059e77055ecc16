//! Groups that keep going when a fibre fails.
//!
//! Each fibre of such a group returns a result in any case: `Ok`, or how it has failed. So the
//! errors are items of its results, and the group as a whole fails by its body, its time and
//! cancellation only.

use super::gather::into_result;
use super::{
    EndOnDrop, FibreError, Group, GroupBuilder, GroupError, Outcome, Partial, Ready, Shared,
    StartError,
};
use crate::members::{Failure, Members};
use fibre_core::internal::drop_quietly;
use fibre_core::{CancelToken, Limit};
use std::fmt;
use std::ops::Deref;
use std::time::{Duration, Instant};

/// The settings of a group that keeps going when a fibre fails; made by
/// [`GroupBuilder::keep_going`].
#[derive(Debug, Clone)]
pub struct SupervisorBuilder(GroupBuilder);

impl GroupBuilder {
    /// A group that keeps going when a fibre fails or panics: a [`Supervisor`]. The errors are
    /// items of [`results`](Group::results).
    ///
    /// ```
    /// use fibre::Group;
    ///
    /// let (good, bad) = Group::builder().keep_going().run(|group| {
    ///     for text in ["1", "two", "39"] {
    ///         group.spawn(move || text.parse::<u32>());
    ///     }
    ///     let (good, bad): (Vec<_>, Vec<_>) = group.results().partition(Result::is_ok);
    ///     Ok((good.into_iter().flatten().sum::<u32>(), bad.len()))
    /// })?;
    /// assert_eq!((good, bad), (40, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn keep_going(self) -> SupervisorBuilder {
        SupervisorBuilder(self)
    }
}

impl SupervisorBuilder {
    /// As [`GroupBuilder::limit`].
    #[must_use]
    pub fn limit(self, most: usize) -> Self {
        Self(self.0.limit(most))
    }

    /// As [`GroupBuilder::timeout`].
    #[must_use]
    pub fn timeout(self, duration: Duration) -> Self {
        Self(self.0.timeout(duration))
    }

    /// As [`GroupBuilder::deadline`].
    #[must_use]
    pub fn deadline(self, instant: Instant) -> Self {
        Self(self.0.deadline(instant))
    }

    /// As [`GroupBuilder::cancellable`].
    #[must_use]
    pub fn cancellable(self, yes: bool) -> Self {
        Self(self.0.cancellable(yes))
    }

    /// As [`GroupBuilder::cancel_token`].
    #[must_use]
    pub fn cancel_token(self, token: &CancelToken) -> Self {
        Self(self.0.cancel_token(token))
    }

    /// Makes the group and calls `body`; returns when all fibres have ended. Blocks the fibre (or
    /// thread).
    ///
    /// ```
    /// use fibre::{FibreError, Group};
    ///
    /// let panics = Group::builder().keep_going().run(|group| {
    ///     group.spawn(|| Ok::<_, ()>(1));
    ///     group.spawn(|| std::panic::resume_unwind(Box::new("on purpose")));
    ///     let is_panic = |result: &Result<_, _>| matches!(result, Err(FibreError::Panicked(_)));
    ///     Ok(group.results().filter(is_panic).count())
    /// });
    /// assert_eq!(panics, Ok(1));
    /// ```
    ///
    /// # Errors
    ///
    /// [`GroupError`]: the error of `body`, the end of the time, or cancellation. Errors of fibres
    /// are results.
    ///
    /// # Panics
    ///
    /// With the panic of `body`.
    pub fn run<'env, T, E, R>(
        self,
        body: impl for<'scope> FnOnce(&Supervisor<'scope, 'env, T, E>) -> Result<R, E>,
    ) -> Result<R, GroupError<E>>
    where
        T: Send,
        E: Send,
    {
        self.0.run(|group| body(&Supervisor(group.clone())))
    }
}

/// The fibres of a group that [keeps going](GroupBuilder::keep_going): starts them, and takes their
/// results. It has the methods of a [`Group`]: its results say what the fibres have returned, or
/// how they have failed; those below start fibres, or look at what is in the results.
#[doc(alias("supervision", "SupervisorScope"))]
pub struct Supervisor<'scope, 'env: 'scope, T, E>(Group<'scope, 'env, Result<T, FibreError<E>>, E>);

impl<T, E> fmt::Debug for Supervisor<'_, '_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Supervisor").field(&self.0).finish()
    }
}

/// The same group, for its fibres to have.
impl<T, E> Clone for Supervisor<'_, '_, T, E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'scope, 'env, T, E> Deref for Supervisor<'scope, 'env, T, E> {
    type Target = Group<'scope, 'env, Result<T, FibreError<E>>, E>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// What a fibre's closure has returned, or how it has failed.
type Item<T, E> = Result<T, FibreError<E>>;

impl<T, E> Shared<Item<T, E>, E> {
    /// Runs a fibre's closure to its end; a failure of its own is an item, and ends nobody else.
    fn supervise<R>(
        self,
        f: impl FnOnce() -> Result<R, E>,
        entered: impl FnOnce(&Members<Item<T, E>, E>, Result<R, FibreError<E>>),
    ) {
        let end = EndOnDrop(&self.members);
        self.finish_supervised(self.call(f), entered);
        drop(end);
    }

    /// Enters how a fibre has ended.
    fn finish_supervised<R>(
        &self,
        outcome: Outcome<R, E>,
        entered: impl FnOnce(&Members<Item<T, E>, E>, Result<R, FibreError<E>>),
    ) {
        match outcome {
            Ok(Err(FibreError::Failed(error))) if self.is_ending() => {
                self.fail(Failure::Error(error));
            }
            Ok(result) => entered(&self.members, result),
            Err(failure) => self.fail(failure),
        }
    }
}

impl<'scope, T, E> Supervisor<'scope, '_, T, E> {
    /// Starts a fibre; its result is an item of [`results`](Group::results) and its kin, also if it
    /// fails or panics. Otherwise as [`Group::spawn`].
    ///
    /// # Panics
    ///
    /// If a fibre cannot be started, as [`spawn`](fibre_core::spawn()).
    pub fn spawn<F>(&self, f: F)
    where
        F: FnOnce() -> Result<T, E> + Send + 'scope,
        T: Send + 'scope,
        E: Send + 'scope,
    {
        if let Some(number) = self.0.shared.members.enter(true) {
            self.0.launch(&self.0.shared.token, move |shared| {
                shared.supervise(f, |members, result| members.keep(number, result));
            });
        }
    }

    /// Starts a fibre without a result: for any number of connections, say. If it fails or panics,
    /// that is an item all the same. Otherwise as [`Group::spawn`].
    ///
    /// ```
    /// use fibre::Group;
    ///
    /// let failed = Group::builder().keep_going().limit(10).run(|group| {
    ///     for connection in 0..100 {
    ///         group.run(move || match connection {
    ///             7 => Err("a bad request"),
    ///             _ => Ok(()),
    ///         });
    ///     }
    ///     let errors = group.results().map(|result: Result<(), _>| result.unwrap_err());
    ///     Ok(errors.map(|error| error.to_string()).collect::<Vec<_>>())
    /// });
    /// assert_eq!(failed.unwrap(), ["a bad request"]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn run<F>(&self, f: F)
    where
        F: FnOnce() -> Result<(), E> + Send + 'scope,
        T: Send + 'scope,
        E: Send + 'scope,
    {
        if self.0.shared.members.enter(false).is_some() {
            self.0.launch(&self.0.shared.token, move |shared| {
                shared.supervise(f, |members, result| {
                    let _ = result.map_err(|error| members.keep_unasked(Err(error)));
                });
            });
        }
    }

    /// Starts a fibre, and waits until it says that it is ready: as [`Group::start`], but what it
    /// returns after that is an item in any case.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn start<R, F>(&self, f: F) -> Result<R, StartError<T, E>>
    where
        F: FnOnce(Ready<'scope, R>) -> Result<T, E> + Send + 'scope,
        R: Send + 'scope,
        T: Send + 'scope,
        E: Send + 'scope,
    {
        self.0.start_by(f, |shared, outcome| {
            shared.finish_supervised(outcome, Members::keep_unasked);
        })
    }

    /// The first success; **it ends the rest**, as [`Group::first`] does. Fibres that have failed
    /// before are passed over. Blocks the fibre (or thread) until there is one, or no fibre is
    /// left.
    ///
    /// ```
    /// use fibre::Group;
    ///
    /// let answer = Group::builder().keep_going().run(|group| {
    ///     group.spawn(|| Err("no route"));
    ///     group.spawn(|| Ok("hello"));
    ///     group.first().map_err(|_all_failed| "nobody answers")
    /// });
    /// assert_eq!(answer, Ok("hello"));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Partial`], with how each of them has failed.
    pub fn first(&self) -> Result<T, Partial<Item<T, E>>> {
        let mut values = self.quorum(1)?;
        match values.pop() {
            Some(value) => Ok(value),
            None => unreachable!("a quorum of one has one"),
        }
    }

    /// The first `count` successes; **they end the rest**. Fibres that have failed before are
    /// passed over. Blocks the fibre (or thread) until the successes are there, or so few fibres
    /// are left that they cannot come: start the fibres before.
    ///
    /// # Errors
    ///
    /// [`Partial`], with the results that there are, also those that are failures. The rest has
    /// been ended then, too.
    pub fn quorum(&self, count: usize) -> Result<Vec<T>, Partial<Item<T, E>>> {
        self.quorum_within(count, Limit::None)
    }

    /// [`quorum`](Self::quorum) until the [`Limit`] comes; see [`Group::quorum_within`].
    ///
    /// ```
    /// use fibre::Group;
    /// use std::time::Duration;
    ///
    /// let slow = || Ok(fibre::sleep_within(Duration::from_secs(3600))?).map(|()| 3);
    /// let values = Group::builder().keep_going().run(|group| {
    ///     group.spawn(|| Ok::<_, std::io::Error>(1));
    ///     group.spawn(slow);
    ///     # while group.running() > 1 { fibre::yield_now(); }
    ///     let partial = group.quorum_within(2, Duration::from_millis(5)).unwrap_err();
    ///     Ok(partial.into_results().into_iter().flatten().collect::<Vec<_>>())
    /// })?;
    /// assert_eq!(values, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`quorum`](Self::quorum).
    pub fn quorum_within(
        &self,
        count: usize,
        limit: impl Into<Limit>,
    ) -> Result<Vec<T>, Partial<Item<T, E>>> {
        let limit = limit.into();
        let gathered = self.0.gather(Some(count), Result::is_ok, limit);
        let mut values = Vec::new();
        for item in into_result(gathered, limit)? {
            match item {
                Ok(value) => values.push(value),
                Err(failure) => drop_quietly(failure),
            }
        }
        Ok(values)
    }
}
