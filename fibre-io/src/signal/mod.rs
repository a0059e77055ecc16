//! Signals as values: a fibre waits for them like for anything else.
//!
//! `signalfd` gets only signals that *every* thread of the process blocks, and all children inherit
//! that block. So this module uses a handler instead (`handler`); any thread that does not block
//! the signal may run it. Processors block all signals that are not faults, so the handler
//! interrupts no fibre: usually the main thread runs it. `number` has signals by number and name.

mod handler;
mod number;

pub use number::*;

use crate::funnel::{Direction, Left};
use crate::source::Source;
use crate::source::arm::SourceArm;
use crate::timeout::{Timeout, none_if_late, none_if_late_within};
use fibre_core::internal::Waiter;
use fibre_core::{Arm, Entered, Left as LeftArm, Limit};
use handler::{Watched, news};
use rustix::io::Errno;
use std::io;
use std::time::{Duration, Instant};

/// Signals that come from now on, one after the other.
///
/// While it lives, these signals do not have their default effect. Several arrivals of one signal
/// that have not been taken count as one, as in the kernel. Each of several objects gets the same
/// signal; several fibres that wait in one object share what comes.
///
/// When the last one for a signal is dropped, the signal's earlier effect is restored, unless
/// another library has installed a handler since; a signal that is still on its way then has that
/// effect. A handler that was there before is called in any case.
///
/// ```
/// use fibre::signal::{SIGUSR1, SIGUSR2, Signals};
///
/// let signals = Signals::new([SIGUSR1, SIGUSR2])?;
/// rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR2)?;
/// let fibre = fibre::spawn(move || signals.wait());
/// assert_eq!(fibre.join().unwrap()?, SIGUSR2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias("ctrl_c", "signal.Notify", "sigwait"))]
#[derive(Debug)]
pub struct Signals {
    /// The signals, in the order of looking at them.
    watched: Vec<Watched>,
    /// A duplicate of the handler's eventfd.
    source: Source,
}

impl Signals {
    /// Begins to listen. Blocks nothing.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for signals that cannot be waited for: faults like SIGSEGV, SIGABRT, SIGKILL,
    /// SIGSTOP, and the C library's own. When there is no descriptor left.
    pub fn new(signals: impl IntoIterator<Item = Signal>) -> io::Result<Self> {
        let source = Source::from_nonblocking(news()?.try_clone_to_owned()?)?;
        let watched = signals.into_iter().map(Watched::new);
        let watched = watched.collect::<io::Result<_>>()?;
        Ok(Self { watched, source })
    }

    /// Waits for one of the signals. Blocks the fibre, or the thread if the caller is not a fibre.
    ///
    /// # Errors
    ///
    /// `ECANCELED` if the fibre has been cancelled, or is while it waits; `ConnectionAborted`
    /// after [`close`](Self::close).
    pub fn wait(&self) -> io::Result<Signal> {
        self.wait_with_timeout(Timeout::Endless)
    }

    /// [`wait`](Self::wait) for `timeout` at most: then `None`.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait).
    pub fn wait_timeout(&self, timeout: Duration) -> io::Result<Option<Signal>> {
        none_if_late(self.wait_with_timeout(Timeout::within(timeout)))
    }

    /// [`wait`](Self::wait) until `deadline` at most: then `None`. A past one looks once.
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait).
    pub fn wait_until(&self, deadline: Instant) -> io::Result<Option<Signal>> {
        none_if_late(self.wait_with_timeout(Timeout::Until(deadline)))
    }

    /// [`wait`](Self::wait) until the [`Limit`] comes; if that is a time, `None` then.
    ///
    /// ```
    /// use fibre::signal::{SIGUSR1, Signals};
    /// use std::time::Duration;
    ///
    /// let signals = Signals::new([SIGUSR1])?;
    /// assert_eq!(signals.wait_within(Duration::from_millis(1))?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`wait`](Self::wait); within [`Limit::None`] it does not notice cancellation.
    pub fn wait_within(&self, limit: impl Into<Limit>) -> io::Result<Option<Signal>> {
        none_if_late_within(limit, |timeout| self.wait_with_timeout(timeout))
    }

    /// One of the signals, if one has come. Blocks nothing.
    #[must_use]
    pub fn try_wait(&self) -> Option<Signal> {
        let mut watched = self.watched.iter();
        watched.find(|one| one.take()).map(|one| one.signal)
    }

    /// The signals that come, one after the other, until the fibre is cancelled or
    /// [`close`](Self::close) is called.
    pub fn forever(&self) -> Forever<'_> {
        Forever(self)
    }

    /// Makes all calls that wait, and all later ones, fail with `ConnectionAborted`. Blocks
    /// nothing.
    pub fn close(&self) {
        self.source.close();
    }

    /// [`wait`](Self::wait) as an arm of `select!`. If another arm is chosen, the signal has not
    /// been taken.
    ///
    /// ```
    /// use fibre::signal::{SIGUSR1, Signals};
    /// use fibre::{channel::unbounded, select};
    ///
    /// let (_jobs, from_jobs) = unbounded::<u32>();
    /// let signals = Signals::new([SIGUSR1])?;
    /// rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR1)?;
    /// select! {
    ///     job = from_jobs.recv_arm() => unreachable!("nobody sends {job:?}"),
    ///     signal = signals.wait_arm() => assert_eq!(signal?, SIGUSR1),
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wait_arm(&self) -> SignalArm<'_> {
        SignalArm {
            signals: self,
            arm: SourceArm::new(&self.source, Direction::Read),
        }
    }

    /// [`try_wait`](Self::try_wait), for the funnel.
    fn take(&self) -> Result<(Signal, Left), Errno> {
        let taken = self.try_wait().ok_or(Errno::AGAIN)?;
        Ok((taken, Left::More))
    }

    /// The common part. The eventfd is never read: each write to it is an event.
    fn wait_with_timeout(&self, timeout: Timeout<'_>) -> io::Result<Signal> {
        self.source.io(Direction::Read, timeout, |_| self.take())
    }
}

/// An arm of `select!` that waits for a signal; made by [`Signals::wait_arm`].
#[derive(Debug)]
#[must_use = "an arm waits in a selection only"]
pub struct SignalArm<'a> {
    /// The signals.
    signals: &'a Signals,
    /// The wait for news.
    arm: SourceArm<'a>,
}

impl Arm for SignalArm<'_> {
    type Output = io::Result<Signal>;

    fn attempt(&mut self) -> Option<io::Result<Signal>> {
        self.arm.attempt(|_| self.signals.take())
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        // SAFETY: passed on.
        unsafe { self.arm.enter(waiter) }
    }

    unsafe fn leave(&self, _: &Waiter) -> LeftArm {
        // SAFETY: passed on.
        unsafe { self.arm.leave() }
    }

    fn is_from_outside(&self) -> bool {
        true
    }

    fn woken(&mut self, token: u32) -> Option<io::Result<Signal>> {
        self.arm.woken(token, |_| self.signals.take())
    }
}

/// See [`Signals::forever`].
#[derive(Debug)]
pub struct Forever<'a>(&'a Signals);

impl Iterator for Forever<'_> {
    type Item = Signal;

    fn next(&mut self) -> Option<Signal> {
        self.0.wait().ok()
    }
}

impl<'a> IntoIterator for &'a Signals {
    type Item = Signal;
    type IntoIter = Forever<'a>;

    fn into_iter(self) -> Forever<'a> {
        self.forever()
    }
}

/// Waits for Ctrl-C (SIGINT). It does not end the process during the call; afterwards it does so
/// again. Blocks the fibre, or the thread if the caller is not a fibre. A program that also wants
/// the second one keeps [`Signals`].
///
/// ```no_run
/// fibre::signal::ctrl_c()?;
/// println!("good-bye");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// As for [`Signals::new`] and [`Signals::wait`].
pub fn ctrl_c() -> io::Result<()> {
    Signals::new([SIGINT])?.wait().map(drop)
}
