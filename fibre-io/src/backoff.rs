//! What accepting does when the process is out of descriptors.
//!
//! The connection that could not be accepted stays in the backlog, and an
//! edge-triggered listener gets no new edge for it. Trying again at once would spin,
//! waiting for an edge would hang. So the error goes to the caller, and its *next*
//! accept waits first: until a descriptor of ours is closed, or for a time that
//! doubles from 1 ms to 100 ms, in case somebody else's is.

use crate::patience::{Clock, Patience, earlier};
use fibre_core::{Awaited, Limit, WaitKind, is_cancelled};
use fibre_sync::{Locked, WaitList, wait};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The first pause.
const SHORTEST: Duration = Duration::from_millis(1);

/// Doublings of it, at most: 64 ms, and the last step is cut at 100.
const DOUBLINGS: u32 = 7;

/// The longest pause.
const LONGEST: Duration = Duration::from_millis(100);

/// Acceptors that wait for a descriptor.
static STARVED: Locked<WaitList> = Locked::new(WaitList::new());

/// How many they are: spares the lock whenever nobody waits.
static STARVED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// How often in a row one listener has found no descriptor.
#[derive(Debug, Default)]
pub struct Backoff(AtomicU32);

impl Backoff {
    /// Waits, if the last accept found no descriptor, but no longer than `patience` allows.
    /// Blocks the fibre (or thread). It is seen to wait for the listener, whose number this is.
    pub fn pause(&self, number: u32, patience: Patience<'_>) {
        let failures = self.0.load(Ordering::Relaxed);
        if failures == 0 {
            return;
        }
        let pause = (SHORTEST * (1 << (failures - 1).min(DOUBLINGS))).min(LONGEST);
        STARVED_COUNT.fetch_add(1, Ordering::SeqCst);
        let end = earlier(
            Some(Instant::now() + pause),
            Clock::new(patience).term().end,
        );
        let limit = Limit::of(end);
        let awaited = Awaited::numbered(WaitKind::Io, number);
        // SAFETY: the list is a static that nobody replaces.
        let _ = unsafe { wait(awaited, &STARVED, |list| list, limit, |_| true, || ()) };
        STARVED_COUNT.fetch_sub(1, Ordering::SeqCst);
        if is_cancelled() {
            // Who will not try passes on what it may have been woken for.
            descriptor_freed();
        }
    }

    /// Notes that there was no descriptor.
    pub fn starved(&self) {
        let failures = self.0.load(Ordering::Relaxed);
        self.0.store(failures.saturating_add(1), Ordering::Relaxed);
    }

    /// Notes that there was one.
    pub fn fed(&self) {
        if self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

/// Called after a descriptor of ours has been closed: lets one acceptor try.
pub fn descriptor_freed() {
    if STARVED_COUNT.load(Ordering::SeqCst) != 0 {
        let first = STARVED.lock().claim_first(0);
        if let Some(first) = first {
            first.resume();
        }
    }
}
