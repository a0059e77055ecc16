//! Permissions for the caller itself, who waits for them.

use crate::entry::{Lines, enter, try_enter, withdraw};
use crate::ticket::{Granted, Ticket, Waiting};
use crate::wants::{Permitted, Wants};
use fibre_core::{Limit, WaitError, shield};
use fibre_sync::Event;
use std::sync::Arc;
use std::time::Duration;

/// A caller that waits for permissions.
struct Caller {
    ticket: Ticket,
    /// Set when they are there.
    granted: Event,
}

impl Waiting<'_> for Caller {
    fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    fn start(self: Arc<Self>, _: &mut Granted<'_>) {
        self.granted.set();
    }
}

/// Waits until all that is wanted is there, and returns the guards. Blocks the fibre, or the thread
/// if the caller is not a fibre. It stands in line with tasks, and notices neither
/// cancellation nor the end of a `fibre::timeout`.
///
/// It is for what lives outside of tasks, as a loop that serves a connection. **Do not call it with
/// a guard in your hands**: a caller that waits for one permission while it has another one may
/// wait for ever. A [`finish`](crate::finish()) is how a task goes on with what it has.
///
/// ```
/// use fibre_tasks::{Shared, acquire};
///
/// let (from, to) = (Shared::new(10), Shared::new(0));
/// {
///     let (mut from, mut to) = acquire((from.full(), to.full()));
///     *to += std::mem::take(&mut *from);
/// }
/// assert_eq!(*acquire(to.read()), 10);
/// ```
///
/// # Panics
///
/// If the same object is wanted twice.
#[inline]
pub fn acquire<W: Wants<'static>>(wants: W) -> W::Guards {
    match try_acquire(wants) {
        Ok(guards) => guards,
        Err(wants) => {
            let _ = wait(&wants, Limit::None);
            wants.grant(Permitted::assume())
        }
    }
}

/// [`acquire`](acquire()), for `timeout` at most, or until the caller is cancelled: then `None`.
/// The caller has left the lines then, and those behind it move up. A `timeout` of zero, and a
/// cancelled caller, try once.
///
/// ```
/// use fibre_tasks::{Shared, acquire, acquire_timeout};
/// use std::time::Duration;
///
/// let shared = Shared::new(1);
/// let held = acquire(shared.full());
/// let timeout = Duration::from_millis(1);
/// assert!(acquire_timeout(shared.read(), timeout).is_none());
/// drop(held);
/// assert!(acquire_timeout(shared.read(), timeout).is_some_and(|shared| *shared == 1));
/// ```
///
/// # Panics
///
/// If the same object is wanted twice.
pub fn acquire_timeout<W: Wants<'static>>(wants: W, timeout: Duration) -> Option<W::Guards> {
    acquire_within(wants, timeout).ok()
}

/// [`acquire`](acquire()), within a limit: a time, a deadline, or the caller's cancellation.
///
/// # Errors
///
/// Why it has given up. The caller has left the lines, and those behind it move up.
///
/// # Panics
///
/// If the same object is wanted twice.
pub fn acquire_within<W: Wants<'static>>(
    wants: W,
    limit: impl Into<Limit>,
) -> Result<W::Guards, WaitError> {
    match try_acquire(wants) {
        Ok(guards) => Ok(guards),
        Err(wants) => {
            wait(&wants, limit.into())?;
            Ok(wants.grant(Permitted::assume()))
        }
    }
}

/// The guards, if all that is wanted is there and nobody waits for any of it. Blocks nothing.
///
/// # Errors
///
/// The wants.
///
/// # Panics
///
/// If the same object is wanted twice.
#[inline]
pub fn try_acquire<W: Wants<'static>>(wants: W) -> Result<W::Guards, W> {
    if is_granted_at_once(&wants) {
        Ok(wants.grant(Permitted::assume()))
    } else {
        Err(wants)
    }
}

/// Whether the caller has come by all that is wanted, without waiting.
#[inline]
pub(crate) fn is_granted_at_once<'s, W: Wants<'s>>(wants: &W) -> bool {
    let mut lines = Lines::new();
    wants.lines(&mut lines);
    try_enter(&mut lines)
}

/// Waits in the lines. On success the caller has come by all that is wanted.
#[cold]
fn wait<W: Wants<'static>>(wants: &W, limit: Limit) -> Result<(), WaitError> {
    let caller = Arc::new(Caller {
        ticket: Ticket::new(),
        granted: Event::new(),
    });
    let request: Arc<dyn Waiting<'static>> = caller.clone();
    let mut lines = Lines::new();
    wants.lines(&mut lines);
    if enter(&mut lines, &request) {
        return Ok(());
    }
    // The lines are left by limits and by grants, not by unwinding.
    let waited = match limit == Limit::None {
        true => shield(|| caller.granted.wait_within(limit)),
        false => caller.granted.wait_within(limit),
    };
    if waited.is_err() && !withdraw(&mut lines, &request) {
        // All is there after all, and whoever has seen to that sets the event now.
        return Ok(());
    }
    waited
}
