//! Tasks that need a fibre of the runtime's own: the deadline of a token, and blocking calls that
//! may be abandoned.

use crate::api::spawn::Builder;
use crate::blocking::blocking;
use crate::park::cancel::{CancelToken, sleep_within};
use crate::park::cancellation_point;
use crate::park::timeout::TimedOut;
use crate::wait::limit::Limit;
use std::io;
use std::panic::resume_unwind;
use std::time::Instant;

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
