//! How accepting behaves when the process is out of descriptors.
//!
//! A connection that could not be accepted stays in the backlog, and an edge-triggered listener
//! gets no new edge for it. Trying again at once would spin, and waiting for an edge would hang. So
//! the error goes to the caller, and its *next* accept waits first: until this runtime closes a
//! descriptor, or, as foreign code may close one, for a time that doubles from 1 ms to 100 ms.

use crate::descriptor::table::stand_in;
use crate::timeout::{Clock, Timeout, earlier, origin};
use fibre_core::internal::Waiter;
use fibre_core::sync::Framed;
use fibre_core::{Cancelled, Left, Limit, WaitKind, WaitObject, cancellation_point, sleep_within};
use fibre_sync::{ListWait, Locked, Node, Place, WaitList};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The first pause.
const SHORTEST: Duration = Duration::from_millis(1);

/// How often the pause doubles at most: to 64 ms, and the last step is cut at 100.
const DOUBLINGS: u32 = 7;

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// The acceptors that wait for a descriptor.
static STARVED: Locked<WaitList> = Locked::new(WaitList::new());

/// How many acceptors wait: saves taking the lock when none does.
static STARVED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// What one listener remembers of the descriptors that it has not found.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// How often in a row it has found none.
    failures: AtomicU32,
    /// When the pause after the last failure ends, in nanoseconds since [`origin`]; for selections,
    /// which may begin and end many times during one pause.
    until: AtomicU64,
}

impl Backoff {
    /// Waits, if the last accept found no descriptor, but no longer than `timeout` allows. Blocks
    /// the fibre (or thread). `number` is the listener that the fibre is shown to wait for.
    ///
    /// # Errors
    ///
    /// When cancellation, or a time-out around the call, has ended the wait. A caller that tried
    /// then would find no descriptor again, and never hear of its end.
    pub(crate) fn pause(&self, number: u32, timeout: Timeout<'_>) -> Result<(), Cancelled> {
        let failures = self.failures.load(Ordering::Relaxed);
        if failures == 0 {
            return Ok(());
        }
        let end = earlier(
            Some(Instant::now() + pause_after(failures)),
            Clock::new(timeout).term().end,
        );
        if stand_in(number).is_some() {
            // Another host's descriptors, or another run's, say nothing about this one's.
            let rest = end.map_or(Duration::ZERO, |end| {
                end.saturating_duration_since(Instant::now())
            });
            return sleep_within(rest);
        }
        STARVED_COUNT.fetch_add(1, Ordering::SeqCst);
        let awaited = WaitObject::numbered(WaitKind::Io, number);
        let wait = ListWait::new(awaited, Limit::of(end));
        // SAFETY: the list is a static that nobody replaces.
        let _ = unsafe { wait.in_list(&STARVED, |list| list, |_| true) };
        STARVED_COUNT.fetch_sub(1, Ordering::SeqCst);
        // An acceptor that will not try passes on the descriptor that it may have been woken for.
        cancellation_point().inspect_err(|_| descriptor_freed())
    }

    /// Records that an accept found no descriptor.
    pub(crate) fn starved(&self) {
        let failures = self.failures.load(Ordering::Relaxed).saturating_add(1);
        self.failures.store(failures, Ordering::Relaxed);
        let until = origin().elapsed() + pause_after(failures);
        // Five centuries fit.
        self.until.store(until.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Records that an accept found a descriptor.
    pub(crate) fn fed(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// The pause that an accept of a selection begins with; see [`pause`](Self::pause).
    pub(crate) fn pause_of_arm(&self) -> Pause {
        let starved = self.failures.load(Ordering::Relaxed) > 0;
        let until = Duration::from_nanos(self.until.load(Ordering::Relaxed));
        Pause {
            until: Cell::new(starved.then(|| origin() + until)),
            node: Framed::new(Node::new()),
        }
    }
}

/// A pause of a selection's arm.
#[derive(Debug)]
pub(crate) struct Pause {
    /// When it ends; `None` if it has.
    until: Cell<Option<Instant>>,
    /// The place among the acceptors that wait for a descriptor.
    node: Framed<Node>,
}

impl Pause {
    /// When it ends; `None` if it has been seen to.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until.get()
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        let until = self.until.get().filter(|&until| Instant::now() < until);
        self.until.set(until);
        until.is_none()
    }

    /// Begins anew, if an accept has found no descriptor.
    pub(crate) fn renew(&self, backoff: &Backoff) {
        self.until.set(backoff.pause_of_arm().until.get());
    }

    /// Ends it, as there may be a descriptor.
    pub(crate) fn end(&self) {
        self.until.set(None);
    }

    /// Enters the line of those that wait for a descriptor.
    ///
    /// # Safety
    ///
    /// As for [`Arm::enter`](fibre_core::Arm::enter).
    pub(crate) unsafe fn enter(&self, waiter: &Waiter) {
        STARVED_COUNT.fetch_add(1, Ordering::SeqCst);
        // SAFETY: passed on; the list is used under this lock only.
        unsafe { STARVED.lock().enter(&self.node, waiter, Place::Last) };
    }

    /// Leaves the line.
    ///
    /// # Safety
    ///
    /// As for [`Arm::leave`](fibre_core::Arm::leave).
    pub(crate) unsafe fn leave(&self) -> Left {
        STARVED_COUNT.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: it has entered this list.
        unsafe { STARVED.lock().leave(&self.node) }
    }
}

/// How long to wait after so many failures (at least one).
fn pause_after(failures: u32) -> Duration {
    (SHORTEST * (1 << (failures - 1).min(DOUBLINGS))).min(MAX_PAUSE)
}

/// Called after this runtime has closed a descriptor: lets one acceptor try.
pub(crate) fn descriptor_freed() {
    if STARVED_COUNT.load(Ordering::SeqCst) != 0 {
        let first = STARVED.lock().claim_first(0);
        if let Some(first) = first {
            first.resume();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use fibre_core::internal::Outcome;
    use fibre_core::{Cluster, JoinHandle, yield_now};

    /// An acceptor that pauses for the longest time.
    fn starved_acceptor() -> JoinHandle<()> {
        let backoff = Backoff {
            failures: AtomicU32::new(DOUBLINGS + 1),
            until: AtomicU64::new(0),
        };
        fibre_core::spawn(move || {
            let _ = backoff.pause(0, Timeout::Endless);
        })
    }

    /// An acceptor without a longest pause: it waits for a descriptor until it is woken.
    fn endless_acceptor() -> JoinHandle<Outcome> {
        fibre_core::spawn(|| {
            STARVED_COUNT.fetch_add(1, Ordering::SeqCst);
            let wait = ListWait::new(WaitObject::numbered(WaitKind::Io, 1), Limit::None);
            // SAFETY: the list is a static that nobody replaces.
            let woken = unsafe { wait.in_list(&STARVED, |list| list, |_| true) };
            STARVED_COUNT.fetch_sub(1, Ordering::SeqCst);
            woken
        })
    }

    /// One of two acceptors is woken for a descriptor, and cancelled before it can try: then the
    /// other one is woken. All run on one processor, so the acceptor does not run between wake-up
    /// and cancellation.
    #[test]
    fn a_cancelled_acceptor_passes_the_descriptor_on() {
        let builder = Cluster::builder().processors(1);
        let cluster = builder.max_spare_processors(0).build().unwrap();
        let test = cluster.spawn(|| {
            for _ in 0..5 {
                let (first, second) = (starved_acceptor(), endless_acceptor());
                // Other tests close descriptors, too, and wake one of them then.
                let wait = || !first.is_finished() && !second.is_finished();
                while STARVED_COUNT.load(Ordering::SeqCst) < 2 && wait() {
                    yield_now();
                }
                descriptor_freed();
                first.cancel();
                first.join().unwrap();
                let outcome = second.join_timeout(Duration::from_secs(20));
                let woken = outcome.unwrap_or_else(|_| panic!("nobody wakes the other one"));
                assert_eq!(woken.unwrap(), Outcome::Woken(0));
            }
        });
        test.join().unwrap();
        cluster.stop();
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses = [1, 2, 3, 7, 8, 9, u32::MAX].map(pause_after);
        let milliseconds = [1, 2, 4, 64, 100, 100, 100].map(Duration::from_millis);
        assert_eq!(pauses, milliseconds);
    }

    #[test]
    fn failures_are_counted_and_forgotten() {
        let backoff = Backoff::default();
        let failures = || backoff.failures.load(Ordering::Relaxed);
        for count in 1..=3 {
            backoff.starved();
            assert_eq!(failures(), count);
        }
        backoff.fed();
        assert_eq!(failures(), 0);
        backoff.failures.store(u32::MAX, Ordering::Relaxed);
        backoff.starved();
        assert_eq!(failures(), u32::MAX);
    }
}
