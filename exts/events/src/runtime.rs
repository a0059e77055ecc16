//! What all processors share: the scheduler, their leads, and whether they go on.

use crate::colour::Colour;
use crate::handler::Event;
use crate::lead::Lead;
use crate::scheduler::{Calls, Scheduler};
use fibre_core::Cluster;
use fibre_core::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::any::Any;
use std::sync::Arc;

/// What is called with the payload of a handler's panic.
pub(crate) type PanicHook = Box<dyn Fn(&(dyn Any + Send)) + Send + Sync>;

/// Counts of one processor.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counts {
    pub(crate) thefts: AtomicU64,
    pub(crate) stolen_events: AtomicU64,
    /// The time that was stolen, in nanoseconds, as it was estimated.
    pub(crate) stolen_time: AtomicU64,
    /// The time that thefts took, in nanoseconds.
    pub(crate) theft_time: AtomicU64,
    pub(crate) panicked: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) ran: AtomicU64,
}

/// What all processors share.
pub(crate) struct Runtime {
    pub(crate) scheduler: Scheduler<Event>,
    pub(crate) leads: Box<[Lead]>,
    pub(crate) counts: Box<[Counts]>,
    pub(crate) cluster: Cluster,
    /// Whether handlers' penalties count.
    pub(crate) penalties: bool,
    pub(crate) on_panic: Option<PanicHook>,
    /// No more events are accepted.
    pub(crate) is_stopping: AtomicBool,
    /// What is pending is dropped, and not run.
    pub(crate) drops: AtomicBool,
    /// Events that came after the stop, or that nobody was left to run.
    pub(crate) refused: AtomicU64,
    /// Everything has run.
    pub(crate) is_over: AtomicBool,
    /// Lets the members begin.
    pub(crate) opened: fibre_sync::Event,
    /// Handlers that have released their colours, and will want them back from a member.
    pub(crate) released: AtomicUsize,
    /// Members and watchers that have not ended.
    pub(crate) alive: AtomicUsize,
    /// Set when all of them have, or have been left behind by their cluster.
    pub(crate) ended: fibre_sync::Event,
}

/// A fibre that the end of the runtime waits for, until this is dropped.
pub(crate) struct Life(Arc<Runtime>);

impl Life {
    /// Begins one.
    pub(crate) fn begin(runtime: &Arc<Runtime>) -> Self {
        runtime.alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(runtime))
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let last = self.0.alive.fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            self.0.ended.set();
        }
    }
}

impl Runtime {
    /// Posts an event. Returns whether it was accepted.
    pub(crate) fn post(&self, colour: Colour, mut event: Event) -> bool {
        event.weigh(self.penalties);
        let posted = self.scheduler.post(colour, event);
        self.after_post(posted)
    }

    /// What follows a post: somebody is woken, or the event dropped.
    pub(crate) fn after_post(&self, posted: Result<Calls, Event>) -> bool {
        match posted {
            Ok(calls) => {
                self.follow(calls);
                true
            }
            Err(event) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                drop(event);
                false
            }
        }
    }

    /// Wakes whom the scheduler has named.
    pub(crate) fn follow(&self, calls: Calls) {
        for processor in [calls.owner, calls.thief].into_iter().flatten() {
            self.leads[processor].wake_event.set();
        }
    }

    /// Begins to stop: no events are accepted from now on.
    pub(crate) fn stop(&self, drops: bool) {
        self.drops.fetch_or(drops, Ordering::Relaxed);
        self.scheduler.close();
        self.is_stopping.store(true, Ordering::Release);
        for lead in &self.leads {
            lead.wake_event.set();
        }
    }

    /// Ends all members if the stop has begun and everything has run. Returns whether that is so.
    pub(crate) fn end_if_quiet(&self) -> bool {
        if self.is_over.load(Ordering::Acquire) {
            return true;
        }
        if !self.is_stopping.load(Ordering::Acquire) || !self.scheduler.is_quiet() {
            return false;
        }
        if !self.is_over.swap(true, Ordering::AcqRel) {
            for lead in &self.leads {
                lead.end();
            }
        }
        true
    }

    /// Ends what a cluster has left behind that has been stopped: what is pending is dropped, and
    /// counted, and nobody waits any more.
    pub(crate) fn end_with_cluster(&self) {
        self.is_over.store(true, Ordering::Release);
        let pending = self.scheduler.take_all();
        self.refused
            .fetch_add(pending.len() as u64, Ordering::Relaxed);
        drop(pending);
        self.ended.set();
    }

    /// Adds up one of the counts.
    pub(crate) fn sum(&self, count: impl Fn(&Counts) -> &AtomicU64) -> u64 {
        let counts = self.counts.iter();
        counts.map(|one| count(one).load(Ordering::Relaxed)).sum()
    }
}
