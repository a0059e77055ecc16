//! The end of a child process, as an arm of selections.

use super::child::{Child, MAX_PAUSE, Process};
use crate::funnel::{Direction, Left};
use crate::source::arm::SourceArm;
use fibre_core::internal::Waiter;
use fibre_core::{Arm, Entered, Left as LeftArm};
use rustix::io::Errno;
use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// An arm of `select!` that waits for the end of a child; made by [`Child::wait_arm`].
#[derive(Debug)]
#[must_use = "an arm waits in a selection only"]
pub struct ChildArm<'a> {
    /// The process.
    process: &'a Process,
    /// How it has ended, if that is known.
    ended: &'a mut Option<ExitStatus>,
    /// The wait for it, if the kernel has a descriptor for that.
    arm: Option<SourceArm<'a>>,
    /// Without one: the pause before the next look, and when that is.
    pause: (Duration, Option<Instant>),
}

impl Child {
    /// [`wait`](Self::wait) as an arm of `select!`. It does not close the child's standard input,
    /// as the selection may be writing to it.
    ///
    /// ```
    /// use fibre::process::Command;
    /// use fibre::{select, select::after};
    /// use std::time::Duration;
    ///
    /// let mut child = Command::new("true").spawn()?;
    /// let status = select! {
    ///     status = child.wait_arm() => status?,
    ///     _ = after(Duration::from_secs(10)) => panic!("it does nothing, and takes long"),
    /// };
    /// assert!(status.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wait_arm(&mut self) -> ChildArm<'_> {
        let pidfd = self.process.pidfd.as_ref();
        ChildArm {
            process: &self.process,
            ended: &mut self.ended,
            arm: pidfd.map(|pidfd| SourceArm::new(pidfd, Direction::Read)),
            pause: (Duration::from_millis(1), None),
        }
    }
}

impl ChildArm<'_> {
    /// Completes the arm by `look`, which looks for the end of this process.
    fn complete(
        &mut self,
        look: impl FnOnce(&SourceArm<'_>, &Process) -> Option<io::Result<ExitStatus>>,
    ) -> Option<io::Result<ExitStatus>> {
        if let Some(ended) = *self.ended {
            return Some(Ok(ended));
        }
        let found = match &self.arm {
            Some(arm) => look(arm, self.process)?,
            None => match self.process.status() {
                Ok(None) => {
                    self.put_off();
                    return None;
                }
                Ok(Some(ended)) => Ok(ended),
                Err(errno) => Err(errno.into()),
            },
        };
        if let Ok(ended) = found {
            *self.ended = Some(ended);
        }
        Some(found)
    }

    /// Sets the time of the next look.
    fn put_off(&mut self) {
        let (pause, next) = &mut self.pause;
        let now = Instant::now();
        if next.is_none_or(|next| next <= now) {
            *next = Some(now + *pause);
            *pause = (*pause * 2).min(MAX_PAUSE);
        }
    }
}

/// How a process has ended, for the funnel.
fn end_of(process: &Process) -> Result<(ExitStatus, Left), Errno> {
    Ok((process.status()?.ok_or(Errno::AGAIN)?, Left::More))
}

impl Arm for ChildArm<'_> {
    type Output = io::Result<ExitStatus>;

    fn attempt(&mut self) -> Option<io::Result<ExitStatus>> {
        self.complete(|arm, process| arm.attempt(|_| end_of(process)))
    }

    fn due(&self) -> Option<Instant> {
        self.pause.1
    }

    unsafe fn enter(&self, waiter: &Waiter) -> Entered {
        match &self.arm {
            // SAFETY: passed on.
            Some(arm) => unsafe { arm.enter(waiter) },
            None => Entered::Waits,
        }
    }

    unsafe fn leave(&self, _: &Waiter) -> LeftArm {
        match &self.arm {
            // SAFETY: passed on.
            Some(arm) => unsafe { arm.leave() },
            None => LeftArm::Elsewhere,
        }
    }

    fn is_from_outside(&self) -> bool {
        true
    }

    fn woken(&mut self, token: u32) -> Option<io::Result<ExitStatus>> {
        self.complete(|arm, process| arm.woken(token, |_| end_of(process)))
    }
}
