//! How a task of asynchronous code waits at a gate: the funnel's steps, with a return instead of a
//! wait.
//!
//! A task that waits has a node in the gate's list, like a fibre that waits there, in an allocation
//! that it shares with its waker ([`TaskWait`]). An event wakes the waiter that has waited longest,
//! which uses it up or passes it on. So a turn that is dropped after it was woken passes the event
//! on.
//!
//! A poll never leaves the stack of a fibre: its caller may hold locks of std, and another fibre
//! that wants one would block the thread. Instead of letting others run in between, a stream that
//! is always ready reports now and then that it is not, and wakes its task at once.

use crate::funnel::Left;
use crate::gate::single::Gate;
use crate::gate::word::Snapshot;
use fibre_core::internal::TaskWait;
use fibre_core::sync::planted;
use fibre_sync::Node;
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// How many calls in a row may succeed before the task lets others run.
const MOST_AT_ONCE: u8 = 64;

/// One direction of a descriptor, as a task's turn asks it.
pub trait Pollee {
    /// Its gate.
    fn gate(&self) -> &'static Gate;

    /// Whether events are sure to come.
    fn is_told(&self) -> bool;

    /// Makes sure that events come, the present state among them.
    ///
    /// # Errors
    ///
    /// If the descriptor cannot be registered.
    fn register(&self) -> io::Result<()>;

    /// The error of a call on a descriptor that has been closed.
    fn closed(&self) -> io::Error;
}

/// The turns of one task in one direction of a descriptor. Dropped before the descriptor is.
#[derive(Default)]
pub struct TaskTurn {
    /// The wait, and the gate with it in its list, or with it there until a waker took it out.
    wait: Option<(Arc<TaskWait<Node>>, &'static Gate)>,
    /// How many calls have succeeded since the task last waited.
    at_once: u8,
}

impl TaskTurn {
    /// Makes a non-blocking call if it may succeed, and returns the outcome. Otherwise wakes the
    /// task when it may. Blocks nothing.
    pub fn poll<T>(
        &mut self,
        pollee: &impl Pollee,
        waker: &Waker,
        mut operation: impl FnMut() -> Result<(T, Left), Errno>,
    ) -> Poll<io::Result<T>> {
        if self.waits(waker) {
            return Poll::Pending;
        }
        if self.at_once == MOST_AT_ONCE {
            self.at_once = 0;
            waker.wake_by_ref();
            return Poll::Pending;
        }
        let gate = pollee.gate();
        loop {
            let seen = gate.snapshot();
            if seen.is_closed() {
                return Poll::Ready(Err(pollee.closed()));
            }
            // The first call of all is made, as the descriptor may not be registered yet.
            if seen.is_ready() || !pollee.is_told() {
                match operation() {
                    Ok((value, left)) => {
                        match left {
                            Left::More => gate.pass_on(),
                            Left::Nothing => gate.took_rest(seen),
                        }
                        self.at_once += 1;
                        return Poll::Ready(Ok(value));
                    }
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => {
                        gate.drained(seen, true);
                        pollee.register()?;
                    }
                    Err(errno) => {
                        gate.pass_on();
                        return Poll::Ready(Err(errno.into()));
                    }
                }
            }
            self.at_once = 0;
            if self.enter(gate, seen, waker) {
                return Poll::Pending;
            }
        }
    }

    /// Enters the gate's list, unless an event has come since `sequence_cursor`. Returns whether it
    /// did.
    fn enter(&mut self, gate: &'static Gate, seen: Snapshot, waker: &Waker) -> bool {
        let wait = TaskWait::new(Node::new());
        // Nobody has resumed it yet.
        let _ = wait.register(waker);
        wait.begin();
        // SAFETY: node and waiter lie in an allocation that stays until the turn has left, or the
        // winner has resumed it.
        let entered = unsafe { gate.enter(wait.extra(), wait.waiter(), seen) };
        if entered {
            self.wait = Some((wait, gate));
        } else {
            // SAFETY: it has entered no list.
            unsafe { wait.end() };
        }
        entered
    }

    /// Whether the task waits, and has not been resumed since; then this waker is called.
    fn waits(&mut self, waker: &Waker) -> bool {
        let waits = self
            .wait
            .as_ref()
            .is_some_and(|(wait, _)| !wait.register(waker));
        if !waits {
            // A waker has taken it out of the list. Its event is used, or passed on, below.
            self.wait = None;
        }
        waits
    }

    /// Ends the wait, if there is one. An event that has ended it is passed on.
    fn leave(&mut self) {
        let Some((wait, gate)) = self.wait.take() else {
            return;
        };
        // SAFETY: it has entered this gate.
        if unsafe { gate.leave(wait.extra()) } {
            if !planted("task: a dropped task keeps its event") {
                gate.pass_on();
            }
        } else {
            // SAFETY: taken out just now, under the lock that wakers claim it under.
            unsafe { wait.end() };
        }
    }
}

impl Drop for TaskTurn {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for TaskTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskTurn")
            .field("waits", &self.wait.is_some())
            .finish_non_exhaustive()
    }
}
