//! Retrying calls whose success no event reports.
//!
//! Two calls of Unix sockets can find no room and get no event when there is room again: `connect`
//! to a listener whose queue is full, and `sendto` to a full socket from one that is not connected
//! to it. A blocking call waits for room inside the kernel. Here the fibre first yields a few
//! times, as the fibre that makes room may be among the others. Then it sleeps between tries, from
//! 50 µs to 5 ms.
//!
//! Fibres that wait so have no order, and a busy newcomer that takes the room can keep one of them
//! out.

use crate::timeout::{Clock, Timeout};
use fibre_core::internal::yield_cancellable;
use fibre_core::{Cancelled, sleep_cancellable};
use std::io;
use std::time::{Duration, Instant};

/// Before how many tries the fibre only yields.
const YIELDS: u32 = 4;

/// The first sleep.
const SHORTEST: Duration = Duration::from_micros(50);

/// The longest sleep.
const LONGEST: Duration = Duration::from_millis(5);

/// One call's tries.
#[derive(Debug)]
pub struct Retry<'a> {
    /// How long the call may go on.
    clock: Clock<'a>,
    /// How often the call has waited.
    waits: u32,
}

impl<'a> Retry<'a> {
    /// The tries of a call that has not been tried yet.
    pub fn new(patience: Timeout<'a>) -> Self {
        Self {
            clock: Clock::new(patience),
            waits: 0,
        }
    }

    /// Waits until the next try. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// `TimedOut`; `ECANCELED` if the fibre has been cancelled.
    pub fn wait(&mut self) -> io::Result<()> {
        if self.wait_once()? {
            Ok(())
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }

    /// [`wait`](Self::wait), but returns `false` if its time is over.
    ///
    /// # Errors
    ///
    /// If the fibre has been cancelled.
    pub fn wait_once(&mut self) -> Result<bool, Cancelled> {
        let now = Instant::now();
        let end = self.clock.term().end;
        if end.is_some_and(|end| end <= now) {
            return Ok(false);
        }
        let left = end.map_or(LONGEST, |end| end - now);
        self.pause(left)?;
        self.waits = self.waits.saturating_add(1);
        Ok(true)
    }

    /// Yields or sleeps, no longer than the time left.
    fn pause(&self, left: Duration) -> Result<(), Cancelled> {
        match self.waits.checked_sub(YIELDS) {
            None => yield_cancellable(),
            Some(sleeps) => {
                let pause = SHORTEST * (1 << sleeps.min(10));
                sleep_cancellable(pause.min(LONGEST).min(left))
            }
        }
    }
}
