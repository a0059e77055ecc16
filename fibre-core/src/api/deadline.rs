//! Tasks that need a fibre of the runtime's own: the deadline of a token, and blocking calls that
//! may be abandoned.

use crate::api::spawn::Builder;
use crate::blocking::blocking;
use crate::fibre::cancel_group::{CancelGroup, Part};
use crate::park::cancel::{CancelToken, sleep_within};
use crate::park::cancellation_point;
use crate::park::grace::graceful;
use crate::park::timeout::TimedOut;
use crate::wait::limit::Limit;
use std::io;
use std::panic::resume_unwind;
use std::time::{Duration, Instant};

impl CancelToken {
    /// Cancels the token at this moment, with [`TimedOut`] as the [cause](Self::cause). A fibre of
    /// the caller's cluster, or of the default one, sleeps until then, or until the token is
    /// cancelled. Blocks nothing.
    ///
    /// ```
    /// use fibre::{Builder, CancelToken};
    /// use std::time::{Duration, Instant};
    ///
    /// let token = CancelToken::new();
    /// token.cancel_at(Instant::now() + Duration::from_millis(2))?;
    /// let sleeps = || fibre::sleep_within(Duration::from_secs(3600));
    /// let sleeper = Builder::new().cancel_token(&token).spawn(sleeps)?;
    /// assert!(sleeper.join().unwrap().is_err());
    /// assert!(token.cause().unwrap().is::<fibre::TimedOut>());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// That of a fibre that cannot be spawned.
    pub fn cancel_at(&self, moment: Instant) -> io::Result<()> {
        let token = self.clone();
        let cancels = move || {
            if sleep_within(moment).is_ok() {
                token.cancel_because(TimedOut::<()>::default());
            }
        };
        let builder = Builder::new().name("deadline").cancel_token(self);
        builder.spawn(cancels).map(drop)
    }

    /// Cancels the token with grace: fibres that are in a [`graceful`](crate::graceful()) stretch
    /// are cancelled when that ends, or when the time has passed, whichever comes first. All others
    /// are cancelled at once, and so are those that begin later; the token and its children are
    /// cancelled, and whoever watches them is told. After another call, the earlier moment counts;
    /// a [`cancel`](Self::cancel) spares nobody any more. Blocks nothing.
    ///
    /// A fibre of the caller's cluster, or of the default one, sleeps until then, or until no
    /// stretch is left. If its cluster stops, the time is over when that spares nobody any more.
    ///
    /// ```
    /// use fibre::{Builder, CancelToken, channel::bounded};
    /// use std::time::Duration;
    ///
    /// let token = CancelToken::new();
    /// let (begun, has_begun) = bounded(1);
    /// let slow = Builder::new().cancel_token(&token).spawn(move || {
    ///     fibre::graceful(|| {
    ///         begun.send(()).unwrap();
    ///         fibre::sleep_within(Duration::from_secs(3600)) // too long
    ///     })
    /// })?;
    /// has_begun.recv().unwrap();
    /// token.cancel_within(Duration::from_millis(5))?;
    /// assert_eq!(slow.join().unwrap(), Ok(Err(fibre::Cancelled)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// That of a fibre that cannot be spawned. Nobody has been cancelled then.
    pub fn cancel_within(&self, grace: Duration) -> io::Result<()> {
        let limit = Instant::now().checked_add(grace);
        if let Some(limit) = limit {
            let token = self.clone();
            let cancels = move || {
                // Also if the sleep ends early, as the fibre's own cluster stops: those that are
                // spared may be in another one, and nobody else would end them. In that case it
                // lasts as long as stretches of its cluster may.
                let _ = graceful(|| sleep_within(limit));
                token.as_group().cancel_at_limit(limit);
            };
            let outer = Some(self.group());
            let over = Self::of_group(CancelGroup::new_part(outer, Part::Limiting));
            let builder = Builder::new().name("grace").cancel_token(&over);
            builder.spawn(cancels)?;
        }
        self.as_group().cancel_with_grace(limit);
        Ok(())
    }
}

/// [`blocking`], for a closure that may be left to itself: when the [`Limit`] comes, or a
/// [`timeout`](crate::timeout()) around the call is over, the call ends. `f` goes on, on its thread
/// of the pool, and its result is dropped. Blocks the fibre, or the thread if the caller is not a
/// fibre.
///
/// ```
/// use std::time::Duration;
///
/// let short = Duration::from_millis(2);
/// let slow = || std::thread::sleep(Duration::from_millis(50));
/// let error = fibre::blocking_within(short, slow).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
/// assert_eq!(fibre::blocking_within(Duration::from_secs(60), || 6 * 7)?, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// `TimedOut`; the error of a cancelled fibre; that of a fibre that cannot be spawned.
///
/// # Panics
///
/// With the panic of `f`.
pub fn blocking_within<F, R>(limit: impl Into<Limit>, f: F) -> io::Result<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    cancellation_point()?;
    match Builder::new().spawn(|| blocking(f))?.join_within(limit) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(payload)) => resume_unwind(payload),
        Err(_detached) => {
            cancellation_point()?;
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}
