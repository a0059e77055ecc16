//! Groups of fibres that succeed or fail together; `errors` has the errors of a failed group,
//! `arms` the arms that its body may select. `gather` has the waits for several results, and
//! `partial` what they return in time. `supervisor` is about groups that keep going when a fibre
//! fails, `restarts` and `start` about how fibres begin.
//!
//! A group is a [`scope`], a [`CancelToken`] that all of its fibres have, and a
//! [members](crate::members::Members) of them: how many run, what they have returned, and what the
//! first failure was. The first failure cancels the token; whatever comes later is a consequence,
//! and is dropped. A group within a time-out, or in a fibre with a token, passes both on: its
//! fibres begin in the scopes around the group's call ([`ScopeSet`]), and its token is a child of
//! the fibre's.
//!
//! A group ends in three steps. The body returns, fails, or is unwound. The caller then waits for
//! the fibres. Meanwhile it notices the end of the time and its own cancellation, and passes either
//! on as a failure. Last, the scope waits for the remaining fibres without limits, as they borrow
//! from the caller. A group that has settled has what its body wants, so neither is a failure of it
//! any more.

mod arms;
mod errors;
mod gather;
mod partial;
mod restarts;
mod start;
mod supervisor;

pub use self::arms::{EndArm, NextArm};
pub use self::errors::{FibreError, GroupError};
pub use self::partial::{Partial, PartialCause};
pub use self::restarts::Restarts;
pub use self::start::{Ready, StartError};
pub use self::supervisor::{Supervisor, SupervisorBuilder};

use crate::members::{Failure, Members, Unfinished};
use fibre_core::internal::{
    Ended, ScopeSet, Unwind, child_of_caller, is_shielded, tell_of_unseen_panic,
};
use fibre_core::{Builder, CancelToken, Cancelled, Limit, Scope, is_cancelled, scope};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls `body`, which can start fibres in a group; returns when all of them have ended. The fibres
/// may borrow what outlives this call. Blocks the fibre, or the thread if the caller is not a
/// fibre.
///
/// **The first error cancels the other fibres**, whether a fibre or the body returns it, and so
/// does a panic. It is the error of the group. Cancelled fibres end as [`CancelToken`] says: their
/// calls that can fail do, and in a [`cancellable`](GroupBuilder::cancellable) group, the others
/// are unwound. The body is not cancelled by the failure of a fibre: [`next`](Group::next) returns
/// `None`, and [`spawn`](Group::spawn) starts no more.
///
/// A group within a `fibre::timeout` or another group has the outer limit, too, and is cancelled
/// with it, as are its fibres. A `fibre::shield` around the call keeps both from the group.
///
/// ```
/// let words = ["a", "bc", "def"];
/// let total = fibre::group(|group| {
///     for word in words {
///         group.spawn(move || match word.len() {
///             0 => Err("an empty word"),
///             length => Ok(length),
///         });
///     }
///     Ok(group.results().sum::<usize>())
/// });
/// assert_eq!(total, Ok(6));
/// ```
///
/// # Errors
///
/// [`GroupError`]: the first error, the end of the time, or cancellation. A result that comes after
/// the end of the time is too late, and the group has timed out.
///
/// # Panics
///
/// With the panic of `body`, or the first one of a fibre.
#[doc(alias(
    "JoinSet",
    "errgroup",
    "nursery",
    "TaskGroup",
    "structured concurrency"
))]
pub fn group<'env, T, E, R>(
    body: impl for<'scope> FnOnce(&Group<'scope, 'env, T, E>) -> Result<R, E>,
) -> Result<R, GroupError<E>>
where
    T: Send,
    E: Send,
{
    Group::builder().run(body)
}

/// The settings of a group; made by [`Group::builder`].
#[doc(alias("JoinSet", "errgroup"))]
#[derive(Debug, Clone, Default)]
pub struct GroupBuilder {
    /// The most fibres at once.
    limit: Option<usize>,
    /// When its time is over.
    deadline: Option<Instant>,
    /// Whether cancellation unwinds.
    cancellable: bool,
    /// A token that cancels it.
    token: Option<CancelToken>,
}

impl GroupBuilder {
    /// At most so many fibres at once: [`spawn`](Group::spawn) waits while there are. Default: any
    /// number. Zero counts as one.
    #[must_use]
    pub fn limit(mut self, most: usize) -> Self {
        self.limit = Some(most.max(1));
        self
    }

    /// The time from now on for the body and all fibres, as with `fibre::timeout`. If it ends in a
    /// call that cannot fail, in a program built with `panic = "abort"`, the process ends with a
    /// message that says why. Default: as much as the caller has.
    #[must_use]
    pub fn timeout(self, duration: Duration) -> Self {
        match Instant::now().checked_add(duration) {
            Some(deadline) => self.deadline(deadline),
            None => self,
        }
    }

    /// Like [`timeout`](Self::timeout), but until this moment; the earliest one counts.
    #[must_use]
    pub fn deadline(mut self, instant: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(instant, |other| other.min(instant)));
        self
    }

    /// Whether cancellation of the group also ends those calls of its fibres and body that cannot
    /// fail, as with `fibre::cancellable`; [`run`](Self::run) panics if the program is built with
    /// `panic = "abort"`. Default: no, unless the caller is in such a group or call.
    #[must_use]
    pub fn cancellable(mut self, yes: bool) -> Self {
        self.cancellable = yes;
        self
    }

    /// Cancels the group's fibres together with a token. The body is the caller's: it is cancelled
    /// with the calling fibre only, and goes on. Default: with that of the calling fibre, if it has
    /// one.
    #[must_use]
    pub fn cancel_token(mut self, token: &CancelToken) -> Self {
        self.token = Some(token.clone());
        self
    }

    /// Makes the group and calls `body`, as [`group`].
    ///
    /// ```
    /// use fibre::{Group, GroupError};
    /// use std::time::Duration;
    ///
    /// let builder = Group::builder().limit(2).timeout(Duration::from_millis(5));
    /// let ended = builder.run(|group| {
    ///     group.spawn(|| Ok(fibre::sleep(Duration::from_secs(3600))));
    ///     Ok::<_, ()>(group.results().count())
    /// });
    /// assert_eq!(ended, Err(GroupError::TimedOut));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`group`].
    ///
    /// # Panics
    ///
    /// As [`group`].
    pub fn run<'env, T, E, R>(
        self,
        body: impl for<'scope> FnOnce(&Group<'scope, 'env, T, E>) -> Result<R, E>,
    ) -> Result<R, GroupError<E>>
    where
        T: Send,
        E: Send,
    {
        // In a shield, the fibres do not notice either what the caller does not.
        let of_caller = || match is_shielded() {
            true => None,
            false => child_of_caller(),
        };
        let child = self.token.map(|outer| outer.child());
        let token = child.or_else(of_caller).unwrap_or_default();
        let shared = Shared {
            members: Arc::new(Members::new(self.limit.unwrap_or(usize::MAX))),
            inherited: ScopeSet::with(self.deadline, self.cancellable),
            token,
        };
        let returned = scope(|scope| {
            let group = Group {
                scope,
                shared: shared.clone(),
            };
            let cancels = CancelOnDrop(&group.shared.token);
            let returned = group.call(body);
            group.shared.wait_for_all();
            std::mem::forget(cancels);
            returned
        });
        shared.outcome(returned)
    }
}

/// Cancels a group: one that has failed, or one with a body that unwinds.
struct CancelOnDrop<'a>(&'a CancelToken);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What a fibre has returned, or how it has failed. The outer error is that of the whole group: the
/// end of its time, or cancellation.
type Outcome<R, E> = Result<Result<R, FibreError<E>>, Failure<E>>;

/// What a group and its fibres share.
struct Shared<T, E> {
    /// The fibres.
    members: Arc<Members<T, E>>,
    /// The scopes that the fibres begin in.
    inherited: ScopeSet,
    /// What cancels them.
    token: CancelToken,
}

impl<T, E> Clone for Shared<T, E> {
    fn clone(&self) -> Self {
        Self {
            members: Arc::clone(&self.members),
            inherited: self.inherited,
            token: self.token.clone(),
        }
    }
}

/// A function that notes a failure, and returns one that does not count.
type Fail<T, E> = fn(&Members<T, E>, Failure<E>) -> Option<Failure<E>>;

/// Drops a failure that the caller of the group will not get. A panic is told of all the same.
fn forget_failure<E>(failure: Option<Failure<E>>) {
    if let Some(Failure::Panicked(payload)) = &failure {
        tell_of_unseen_panic(&**payload);
    }
    drop(failure);
}

impl<T, E> Shared<T, E> {
    /// Notes the failure of a fibre, unless the group has failed or settled, and cancels the group.
    fn fail(&self, failure: Failure<E>) {
        self.fail_by(failure, Members::fail);
    }

    /// Notes a failure of the body, or one that was asked for, unless the group has failed, and
    /// cancels the group.
    fn fail_body(&self, failure: Failure<E>) {
        self.fail_by(failure, Members::fail_body);
    }

    /// Notes a failure, and cancels the group. An error that is but a consequence of the time's
    /// end, or of cancellation from outside, counts as that.
    fn fail_by(&self, failure: Failure<E>, fail: Fail<T, E>) {
        // Also if the destructor of a value panics that is dropped here. A group that is cancelled
        // with grace is left its grace.
        let is_new = !self.token.is_cancelled();
        let _cancels = is_new.then(|| CancelOnDrop(&self.token));
        let is_cancelled = || self.token.is_cancelled() && !self.members.is_settled();
        let instead = match failure {
            Failure::Error(_) | Failure::Cancelled if self.is_over() => Some(Failure::TimedOut),
            Failure::Error(_) if is_cancelled() => Some(Failure::Cancelled),
            _ => None,
        };
        let mut panics = Unwind::none();
        match instead {
            Some(instead) => {
                panics.note(|| forget_failure(fail(&self.members, instead)));
                panics.note(|| drop(failure));
            }
            None => panics.note(|| forget_failure(fail(&self.members, failure))),
        }
        panics.go_on_if_none_does();
    }

    /// What becomes of a group that has ended, and of what its body has returned. What nobody gets
    /// is dropped, each value by itself, as a second panic of a destructor would end the process.
    fn outcome<R>(&self, returned: Option<R>) -> Result<R, GroupError<E>> {
        let mut panics = Unwind::none();
        panics.note(|| self.members.drop_results());
        let mut returned = returned;
        let mut failure = self.members.take_failure();
        if failure.is_some() {
            panics.note_drops(returned.take());
        }
        if let Some(Failure::Panicked(payload)) = failure {
            resume_unwind(payload);
        }
        if panics.is_any() {
            panics.note_drops(failure.take());
            panics.note_drops(returned.take());
            panics.go_on();
        }
        match (failure, returned) {
            (Some(Failure::Error(error)), _) => Err(GroupError::Failed(error)),
            (Some(Failure::TimedOut), _) => {
                // A time-out around may have ended calls of the fibres only. It is to know.
                let _ = is_cancelled();
                Err(GroupError::TimedOut)
            }
            (None, Some(value)) => Ok(value),
            (Some(Failure::Cancelled | Failure::Panicked(_)) | None, _) => {
                Err(GroupError::Cancelled)
            }
        }
    }

    /// Whether the time is over.
    fn is_over(&self) -> bool {
        let deadline = self.inherited.deadline();
        deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Waits until no fibre is left, or the time is over, or the caller is cancelled, which it
    /// passes on.
    fn wait_for_all(&self) {
        let limit = Limit::of(self.inherited.deadline());
        if self.members.wait_for_all(limit) == Err(Unfinished) {
            self.fail(Failure::Cancelled);
            // The caller may have been cancelled with grace, but only by a token of its own.
            let token = CancelToken::of_caller();
            if !token.is_some_and(|token| token.is_cancelled()) {
                self.token.cancel();
            }
        }
    }

    /// Runs a fibre's closure to its end, and enters that in the member list.
    fn run<R>(self, f: impl FnOnce() -> Result<R, E>, entered: impl FnOnce(&Members<T, E>, R)) {
        let end = EndOnDrop(&self.members);
        self.finish(self.call(f), entered);
        drop(end);
    }

    /// Enters how a fibre has ended. A failure of its own is one of the group.
    fn finish<R>(&self, outcome: Outcome<R, E>, entered: impl FnOnce(&Members<T, E>, R)) {
        match outcome {
            Ok(Ok(value)) => entered(&self.members, value),
            Ok(Err(error)) => self.fail(error.into()),
            Err(failure) => self.fail(failure),
        }
    }

    /// Calls a fibre's closure.
    fn call<R>(&self, f: impl FnOnce() -> Result<R, E>) -> Outcome<R, E> {
        match catch_unwind(AssertUnwindSafe(|| self.inherited.call(f))) {
            // It may be what became of a call that the time's end has ended.
            Ok(Ok(Ok(_))) if self.is_over() => Err(Failure::TimedOut),
            Ok(Ok(Ok(value))) => Ok(Ok(value)),
            Ok(Ok(Err(error))) => Ok(Err(FibreError::Failed(error))),
            Ok(Err(Ended::TimedOut)) => Err(Failure::TimedOut),
            Ok(Err(Ended::Cancelled)) => Err(Failure::Cancelled),
            // Its cluster stops, and unwinds what waits.
            Err(payload) if payload.is::<Cancelled>() => Err(Failure::Cancelled),
            Err(payload) => Ok(Err(FibreError::Panicked(payload))),
        }
    }

    /// Notes the end of the time, or cancellation, also for the group.
    fn fail_alike(&self, failure: &Failure<E>) {
        match failure {
            Failure::TimedOut => self.fail(Failure::TimedOut),
            _ => self.fail(Failure::Cancelled),
        }
    }

    /// Whether an error that comes now is but a consequence: of the group's end, or its time's.
    fn is_ending(&self) -> bool {
        self.token.is_cancelled() || self.is_over()
    }
}

impl<E> From<FibreError<E>> for Failure<E> {
    fn from(error: FibreError<E>) -> Self {
        match error {
            FibreError::Failed(error) => Self::Error(error),
            FibreError::Panicked(payload) => Self::Panicked(payload),
        }
    }
}

/// Counts a fibre down.
struct EndOnDrop<'a, T, E>(&'a Members<T, E>);

impl<T, E> Drop for EndOnDrop<'_, T, E> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

/// The fibres of a [`group`]: starts them, and takes their results.
pub struct Group<'scope, 'env: 'scope, T, E> {
    /// What waits for the fibres.
    scope: &'scope Scope<'scope, 'env>,
    /// What they share.
    shared: Shared<T, E>,
}

impl<T, E> fmt::Debug for Group<'_, '_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}

/// The same group, for its fibres to have.
impl<T, E> Clone for Group<'_, '_, T, E> {
    fn clone(&self) -> Self {
        Self {
            scope: self.scope,
            shared: self.shared.clone(),
        }
    }
}

impl Group<'_, '_, (), ()> {
    /// A builder: limits, and what cancels the group.
    #[must_use]
    pub fn builder() -> GroupBuilder {
        GroupBuilder::default()
    }
}

impl<'scope, 'env, T, E> Group<'scope, 'env, T, E> {
    /// Calls the body within the group's limits. `None`: it failed, or was unwound to here.
    fn call<R>(&self, body: impl FnOnce(&Self) -> Result<R, E>) -> Option<R> {
        match self.shared.inherited.call(|| body(self)) {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => self.shared.fail_body(Failure::Error(error)),
            Err(Ended::TimedOut) => self.shared.fail_body(Failure::TimedOut),
            Err(Ended::Cancelled) => self.shared.fail_body(Failure::Cancelled),
        }
        None
    }

    /// Starts a fibre; [`next`](Self::next) and its kin return its result. In a group that has
    /// failed, or has [ended](Self::first) its rest, it drops `f` instead.
    ///
    /// Blocks the fibre (or thread) while the group is at its limit of fibres. So in a group with a
    /// limit, its fibres should not start others.
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
        let Some(number) = self.shared.members.enter(true) else {
            return;
        };
        let keep = move |members: &Members<T, E>, value| members.keep(number, value);
        self.launch(&self.shared.token, move |shared| shared.run(f, keep));
    }

    /// Starts a fibre without a result: for a group of any number of connections, say. Otherwise as
    /// [`spawn`](Self::spawn).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let served = AtomicU32::new(0);
    /// let ended: Result<(), fibre::GroupError<std::io::Error>> = fibre::group(|group| {
    ///     for _ in 0..10 {
    ///         group.run(|| {
    ///             served.fetch_add(1, Ordering::Relaxed);
    ///             Ok(())
    ///         });
    ///     }
    ///     group.results().for_each(|()| unreachable!("there are no results"));
    ///     Ok(())
    /// });
    /// assert!(ended.is_ok() && served.into_inner() == 10);
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
        if self.shared.members.enter(false).is_some() {
            self.launch(&self.shared.token, move |shared| shared.run(f, |_, ()| ()));
        }
    }

    /// Starts a fibre that has been entered in the member list; `run` counts it down.
    fn launch(&self, token: &CancelToken, run: impl FnOnce(Shared<T, E>) + Send + 'scope)
    where
        T: Send + 'scope,
        E: Send + 'scope,
    {
        let shared = self.shared.clone();
        let builder = Builder::new().cancel_token(token);
        let started = builder.spawn_scoped(self.scope, move || run(shared));
        if let Err(error) = started.map(drop) {
            self.cannot_start(&error);
        }
    }

    /// Unwind for a fibre that could not be started.
    #[cold]
    fn cannot_start(&self, error: &io::Error) -> ! {
        self.shared.members.ended();
        panic!("cannot spawn a fibre: {error}")
    }

    /// The next result, in the order fibres end. Blocks the fibre (or thread) until there is one.
    /// `None`: no fibre is left, or the group has failed.
    #[must_use = "the result is taken"]
    pub fn next(&self) -> Option<T> {
        self.shared.members.next()
    }

    /// The next result, in the order fibres were started; otherwise as [`next`](Self::next). A
    /// group uses one order or the other.
    #[must_use = "the result is taken"]
    pub fn next_in_order(&self) -> Option<T> {
        self.shared.members.next_in_order()
    }

    /// The results in the order fibres end.
    pub fn results(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.next())
    }

    /// The results in the order fibres were started.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let order = fibre::group(|group| {
    ///     for wait in [3, 1, 2] {
    ///         group.spawn(move || {
    ///             fibre::sleep(Duration::from_millis(wait));
    ///             Ok::<_, ()>(wait)
    ///         });
    ///     }
    ///     Ok(group.results_in_order().collect::<Vec<_>>())
    /// });
    /// assert_eq!(order.unwrap(), [3, 1, 2]);
    /// ```
    pub fn results_in_order(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.next_in_order())
    }

    /// How many fibres have been started and have not ended.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.members.running()
    }

    /// Cancels the group, unless it has failed: its fibres are cancelled, and it ends with
    /// [`GroupError::Cancelled`]. Blocks nothing.
    pub fn cancel(&self) {
        let _cancels = CancelOnDrop(&self.shared.token);
        self.shared.fail_body(Failure::Cancelled);
    }

    /// Whether the group has failed, so that its fibres have been cancelled.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.shared.members.has_failed()
    }

    /// The token that all fibres of the group have.
    #[must_use]
    pub fn token(&self) -> CancelToken {
        self.shared.token.clone()
    }
}
