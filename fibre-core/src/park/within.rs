//! The common part of all calls that wait within a limit: how they begin, and what they fail with.
//!
//! Such a call is a thin shim for each kind of limit, around one shared function. Most use
//! [`within`]. Calls that show their caller's place in the source make its two steps themselves, as
//! a closure has a place of its own.

use crate::park::{cancellation_point, is_cancelled};
use crate::wait::limit::{Limit, WaitError};

/// What a call within a limit begins with: a cancellation point, if the limit is nothing but that.
///
/// # Errors
///
/// [`WaitError::Cancelled`].
#[inline]
pub fn begin_within(limit: impl Into<Limit>) -> Result<Limit, WaitError> {
    let limit = limit.into();
    if limit == Limit::Cancellation {
        cancellation_point()?;
    }
    Ok(limit)
}

/// Makes a call within a limit. `None` says that the limit came first.
///
/// # Errors
///
/// What has come: the time, or the fibre's cancellation.
#[inline]
pub fn within<T>(
    limit: impl Into<Limit>,
    call: impl FnOnce(Limit) -> Option<T>,
) -> Result<T, WaitError> {
    let limit = begin_within(limit)?;
    call(limit).ok_or_else(|| given_up(limit))
}

/// Why a call has waited in vain: its limit has come. A fibre that was cancelled by now is told so,
/// even if the time was over first.
#[cold]
#[must_use]
pub fn given_up(limit: Limit) -> WaitError {
    match limit == Limit::Cancellation || is_cancelled() {
        true => WaitError::Cancelled,
        false => WaitError::TimedOut,
    }
}
