//! Trying again what no event tells of.
//!
//! Two calls of Unix sockets can find no room and are never told that there is some: `connect` to
//! a listener whose queue is full, and `sendto` from a socket that is not connected to the one
//! that is full. A blocking call waits inside the kernel for it. Here the fibre lets others run a
//! few times, as the one that makes room may be among them, and then sleeps between tries, from
//! 50 µs to 5 ms.
//!
//! Those who wait so have no order, and a busy thief of room can keep one of them out.

use crate::patience::{Clock, Patience};
use fibre_core::{Cancelled, sleep_cancellable, yield_cancellable};
use std::io;
use std::time::{Duration, Instant};

/// Tries before which others run.
const YIELDS: u32 = 4;

/// The first sleep.
const SHORTEST: Duration = Duration::from_micros(50);

/// The longest sleep.
const LONGEST: Duration = Duration::from_millis(5);

/// One call's tries.
#[derive(Debug)]
pub struct Retry<'a> {
    /// How long it may go on.
    clock: Clock<'a>,
    /// How often it has waited.
    waits: u32,
}

impl<'a> Retry<'a> {
    /// Of a call that has not been tried.
    pub fn new(patience: Patience<'a>) -> Self {
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

    /// [`wait`](Self::wait) that says `false` if its time is over.
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

    /// The pause, shorter than what is left.
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
