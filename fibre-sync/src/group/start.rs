//! Fibres that say when they are ready, with a value.
//!
//! A starting fibre and its caller share a [`Slot`]: silent at first, then ready with a value,
//! which the caller takes; or the fibre is over, or the caller has left, whichever comes first. The
//! caller looks under the lock of the member list. A fibre wakes those that wait there after it has
//! changed the slot: so the caller misses nothing.

use super::{EndOnDrop, FibreError, Group, Outcome, Shared};
use crate::members::{Failure, Members};
use fibre_core::internal::{ShortLock, drop_quietly};
use fibre_core::{CancelToken, Cancelled};
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The right of a starting fibre to say that it is ready; see [`Group::start`].
#[must_use = "whoever starts the fibre waits for it"]
pub struct Ready<'scope, R> {
    /// What the caller looks at.
    slot: Arc<Slot<R>>,
    /// Wakes it.
    tell: Box<dyn FnOnce() + Send + 'scope>,
}

impl<R> fmt::Debug for Ready<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").finish_non_exhaustive()
    }
}

impl<R> Ready<'_, R> {
    /// Says that the fibre is ready: [`Group::start`] returns the value. If it has been left by
    /// then, the value is dropped. Blocks nothing.
    pub fn send(self, value: R) {
        if let Err(late) = self.slot.fill(value) {
            return drop(late);
        }
        (self.tell)();
    }
}

/// Why a fibre has not become ready: the error of [`Group::start`].
#[derive(Debug)]
pub enum StartError<T, E> {
    /// It has returned an error before, or panicked.
    Failed(FibreError<E>),
    /// It has returned this value without saying that it was ready.
    Ended(T),
    /// The group has failed, or was cancelled.
    Cancelled,
}

impl<T, E> StartError<T, E> {
    /// The error that the fibre has returned.
    pub fn into_error(self) -> Option<E> {
        match self {
            Self::Failed(error) => error.into_error(),
            Self::Ended(_) | Self::Cancelled => None,
        }
    }

    /// What a fibre has ended with that was not ready.
    fn of(outcome: Outcome<T, E>) -> Self {
        match outcome {
            Ok(Ok(value)) => Self::Ended(value),
            Ok(Err(error)) => Self::Failed(error),
            Err(_) => Self::Cancelled,
        }
    }
}

impl<T, E: fmt::Display> fmt::Display for StartError<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Ended(_) => f.write_str("the fibre has ended without saying that it was ready"),
            Self::Cancelled => f.write_str("the group ended before the fibre was ready"),
        }
    }
}

impl<T: fmt::Debug, E: Error + 'static> Error for StartError<T, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(FibreError::Failed(error)) => Some(error),
            _ => None,
        }
    }
}

/// The fibre's own error, what [`Cancelled`] is, or one of the kind `Other`.
impl<T> From<StartError<T, Self>> for io::Error {
    fn from(error: StartError<T, Self>) -> Self {
        match error {
            StartError::Failed(FibreError::Failed(error)) => error,
            StartError::Cancelled => Cancelled.into(),
            error => Self::other(error.to_string()),
        }
    }
}

/// How far a start has come.
enum Step<R> {
    /// The fibre has said nothing yet.
    Silent,
    /// It is ready, and the caller has not heard.
    Ready(R),
    /// The caller has heard.
    Heard,
    /// The fibre has ended before it was ready.
    Over,
    /// The caller has left before it heard.
    Left,
}

/// What the fibre and its caller share.
struct Slot<R>(ShortLock<Step<R>>);

impl<R> Slot<R> {
    /// Says that the fibre is ready; gives the value back if nobody will hear.
    fn fill(&self, value: R) -> Result<(), R> {
        let mut step = self.0.lock();
        match *step {
            Step::Silent => {
                *step = Step::Ready(value);
                Ok(())
            }
            _ => Err(value),
        }
    }

    /// Takes the value, for the caller.
    fn take(&self) -> Option<R> {
        let mut step = self.0.lock();
        match std::mem::replace(&mut *step, Step::Heard) {
            Step::Ready(value) => Some(value),
            before => {
                *step = before;
                None
            }
        }
    }

    /// Notes the end of the fibre. Returns how far the start has come: `Over`, `Left`, or the fibre
    /// was ready.
    fn end(&self) -> End {
        let mut step = self.0.lock();
        match *step {
            Step::Silent => {
                *step = Step::Over;
                End::Early
            }
            Step::Left => End::Left,
            _ => End::Ready,
        }
    }

    /// Notes that the caller has left. `Some`: it has not heard, and the fibre is to end.
    fn leave(&self) -> Option<Step<R>> {
        let mut step = self.0.lock();
        let waits = matches!(*step, Step::Silent | Step::Ready(_));
        waits.then(|| std::mem::replace(&mut *step, Step::Left))
    }
}

/// When a fibre has ended.
enum End {
    /// Before it was ready.
    Early,
    /// After its caller had left.
    Left,
    /// After it was ready.
    Ready,
}

/// Cancels a fibre that its caller does not wait for any more.
struct LeaveOnDrop<'a, R, S> {
    /// What both share.
    slot: &'a Slot<R>,
    /// How the fibre has ended before it was ready.
    early: &'a ShortLock<Option<S>>,
    /// The fibre's token.
    token: CancelToken,
}

impl<R, S> Drop for LeaveOnDrop<'_, R, S> {
    fn drop(&mut self) {
        if let Some(unheard) = self.slot.leave() {
            self.token.cancel();
            drop_quietly(unheard);
        }
        // It may have ended just before the caller has left.
        let unheard = self.early.lock().take();
        drop_quietly(unheard);
    }
}

impl<'scope, T, E> Group<'scope, '_, T, E> {
    /// Starts a fibre, and waits until it says that it is ready, with a value: the address that it
    /// listens at, say. Blocks the fibre (or thread) until then, or until the fibre ends, or the
    /// group has failed; and while the group is at its limit of fibres.
    ///
    /// **Until it is ready, its failure is the caller's**: an error, a panic, or an end without
    /// having said so is returned here, and ends nobody else. After that, it is a fibre of the
    /// group as any other; in the order of starts, its result comes when it has ended. If the
    /// caller leaves the call before, as a time-out around it is over, the fibre is cancelled, and
    /// an error that it returns then is dropped. So is the outcome of one that has ended just
    /// before the caller leaves.
    ///
    /// ```
    /// use fibre::net::{TcpListener, TcpStream};
    /// use std::io::Write;
    ///
    /// fibre::group(|group| {
    ///     let address = group.start(|ready| {
    ///         let listener = TcpListener::bind("127.0.0.1:0")?; // its error is `start`'s
    ///         ready.send(listener.local_addr()?);
    ///         let (mut client, _) = listener.accept()?;
    ///         client.write_all(b"hello")
    ///     })?;
    ///     TcpStream::connect(address).map(drop)
    /// })?;
    /// # Ok::<(), fibre::GroupError<std::io::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StartError`]. If the group has failed, or its rest was [ended](Self::first), the closure
    /// is dropped.
    ///
    /// # Panics
    ///
    /// If a fibre cannot be started, as [`spawn`](fibre_core::spawn()).
    pub fn start<R, F>(&self, f: F) -> Result<R, StartError<T, E>>
    where
        F: FnOnce(Ready<'scope, R>) -> Result<T, E> + Send + 'scope,
        R: Send + 'scope,
        T: Send + 'scope,
        E: Send + 'scope,
    {
        self.start_by(f, |shared, outcome| {
            shared.finish(outcome, Members::keep_unasked);
        })
    }

    /// [`start`](Self::start), with what is done when a fibre ends that was ready.
    pub(super) fn start_by<V, R, F>(
        &self,
        f: F,
        finish: fn(&Shared<T, E>, Outcome<V, E>),
    ) -> Result<R, StartError<V, E>>
    where
        F: FnOnce(Ready<'scope, R>) -> Result<V, E> + Send + 'scope,
        R: Send + 'scope,
        V: Send + 'scope,
        T: Send + 'scope,
        E: Send + 'scope,
    {
        if self.shared.members.enter(false).is_none() {
            return Err(StartError::Cancelled);
        }
        let slot = Arc::new(Slot(ShortLock::new(Step::Silent)));
        let early = Arc::new(ShortLock::new(None));
        let members = Arc::clone(&self.shared.members);
        let ready = Ready {
            slot: Arc::clone(&slot),
            tell: Box::new(move || members.tell()),
        };
        let token = self.shared.token.child();
        let (ends, told) = (Arc::clone(&slot), Arc::clone(&early));
        self.launch(&token, move |shared| {
            let end = EndOnDrop(&shared.members);
            let outcome = shared.call(|| f(ready));
            match (ends.end(), outcome) {
                (End::Early, outcome) => {
                    let outcome = outcome.inspect_err(|failure| shared.fail_alike(failure));
                    *told.lock() = Some(StartError::of(outcome));
                }
                // It was asked to end.
                (End::Left, Ok(Err(FibreError::Failed(error)))) => drop_quietly(error),
                (End::Left, Err(Failure::Cancelled)) => {}
                (_, outcome) => finish(&shared, outcome),
            }
            // The count tells the caller.
            drop(end);
        });
        let leaves = LeaveOnDrop {
            slot: &slot,
            early: &early,
            token,
        };
        let heard = || {
            let error = || early.lock().take();
            slot.take().map(Ok).or_else(|| error().map(Err))
        };
        let heard = self.shared.members.wait_for(heard);
        drop(leaves);
        heard.unwrap_or(Err(StartError::Cancelled))
    }
}
