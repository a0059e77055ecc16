//! When the memory of a burst goes back to the kernel.
//!
//! Each level records its smallest number of stacks since its last look: so many were not needed in
//! that time. A part of them goes on to the next level, and a larger part if they are many. So a
//! burst's memory is gone after seconds, while a pause of a tenth of a second costs little.
//! Processors look when they are serviced, and wake up from idling for it while there is something
//! to look at.

use std::time::Duration;

/// The time between two looks.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// The most stacks that go at one look: about half a millisecond's work.
const MOST: usize = 1024;

/// The fewest stacks that go, unless there are fewer.
const FEWEST: usize = 64;

/// How many stacks should go, when so many have not been needed.
pub(super) fn stale(idle: usize) -> usize {
    (idle / 4).clamp(FEWEST, MOST).min(idle)
}
