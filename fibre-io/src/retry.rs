//! What calls do around tries, besides waiting at a gate: they let other fibres run, or pause.
//!
//! Two calls on Unix sockets get no event when there is room again: `connect` to a listener with a
//! full queue, and `sendto` to a full socket from an unconnected one. A blocking call waits for
//! room inside the kernel. Here the fibre first yields a few times, as another fibre of its
//! processor may make room. Then it sleeps between tries, from 50 µs to 5 ms.
//!
//! Fibres that wait in this way have no order, and busy newcomers that take the room can starve one
//! of them.

use crate::config::yields_before_read;
use crate::gate::single::Turn;
use fibre_core::internal::{yield_cancellable, yield_point_cancellable};
use fibre_core::{Cancelled, sleep_within};
use std::time::{Duration, Instant};

/// Before how many tries the fibre only yields.
const YIELDS: u32 = 4;

/// The first sleep.
const SHORTEST: Duration = Duration::from_micros(50);

/// The longest sleep.
const MAX_PAUSE: Duration = Duration::from_millis(5);

/// Lets other fibres run before a read; where reads do not yield, once the slice is used up.
///
/// # Errors
///
/// If the fibre has been cancelled.
// Always: each read that finds something comes here.
#[inline(always)]
pub(crate) fn make_way() -> Result<(), Cancelled> {
    if yields_before_read() {
        yield_cancellable()
    } else {
        yield_point_cancellable()
    }
}

/// Pauses until the next try, no longer than the turn lasts; `pauses` counts. Returns `false` if
/// the turn is over. Blocks the fibre (or thread).
///
/// # Errors
///
/// If the fibre has been cancelled.
pub(crate) fn pause(turn: &mut Turn<'_>, pauses: &mut u32) -> Result<bool, Cancelled> {
    let now = Instant::now();
    let end = turn.end();
    if end.is_some_and(|end| end <= now) {
        return Ok(false);
    }
    match pauses.checked_sub(YIELDS) {
        None => yield_cancellable()?,
        Some(sleeps) => {
            let pause = SHORTEST * (1 << sleeps.min(10));
            let left = end.map_or(MAX_PAUSE, |end| end - now);
            sleep_within(pause.min(MAX_PAUSE).min(left))?;
        }
    }
    *pauses = pauses.saturating_add(1);
    Ok(true)
}
