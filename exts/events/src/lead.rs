//! A processor's lead: which of its fibres takes events from its queue.
//!
//! A processor has several *members*, fibres that stay on it. One of them *holds the lead*: it
//! takes events and runs their handlers on its own stack, so an event costs no fibre. Handlers may
//! block, and then so does the holder. So another member, the *standby*, lies behind it in the
//! processor's ready queue. All members of a processor run on one kernel thread; hence, if the
//! standby runs while the holder is in a handler, that handler has left the processor to others.
//! Then the standby takes the lead, and calls another one to stand by. The old holder finds that
//! when its handler has returned: it finishes its colour, and is *spare*.
//!
//! So a handler that blocks costs a stack for as long as it does, and one that does not costs a
//! load and a comparison. The standby rests while the holder does, and is called when that has
//! work.
//!
//! # Memory ordering
//!
//! Only the members touch the words of a lead, so they are of one thread, and all accesses are
//! relaxed. Others only ring the wake event.

use fibre_core::Limit;
use fibre_core::internal::ShortLock;
use fibre_core::sync::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use fibre_sync::AutoEvent;
use std::sync::Arc;

/// How many spare members a processor keeps.
const SPARES: usize = 4;

/// What the holder does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Takes events, or runs a handler. It suspends in handlers only.
    Works,
    /// Lets other fibres run, and comes back by itself.
    Yields,
    /// Waits for the wake event.
    Rests,
}

/// One fibre of a processor.
pub(crate) struct Member {
    pub(crate) number: u64,
    /// Rung when it is to stand by.
    wake_event: AutoEvent,
}

/// Members that do not hold the lead.
#[derive(Default)]
struct Bench {
    standby: Option<Arc<Member>>,
    spares: Vec<Arc<Member>>,
    has_ended: bool,
}

/// The lead of one processor.
pub(crate) struct Lead {
    /// Rung when there may be something to run.
    pub(crate) wake_event: AutoEvent,
    holder: AtomicU64,
    phase: AtomicU8,
    /// Whether the standby is in the ready queue.
    stands_by: AtomicBool,
    bench: ShortLock<Bench>,
    /// The number of the next member.
    next: AtomicU64,
}

/// What a member that runs is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Hold the lead.
    Serve,
    /// Stay behind the holder.
    Yield,
    /// Wait until called.
    Rest,
}

impl Lead {
    /// A lead that nobody holds.
    pub(crate) fn new() -> Self {
        Self {
            wake_event: AutoEvent::new(),
            holder: AtomicU64::new(0),
            phase: AtomicU8::new(Phase::Works as u8),
            stands_by: AtomicBool::new(false),
            bench: ShortLock::new(Bench::default()),
            next: AtomicU64::new(1),
        }
    }

    /// A further member.
    pub(crate) fn member(&self) -> Arc<Member> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let wake_event = AutoEvent::new();
        Arc::new(Member { number, wake_event })
    }

    /// Whether a member holds the lead.
    pub(crate) fn is_held_by(&self, member: &Member) -> bool {
        self.holder.load(Ordering::Relaxed) == member.number
    }

    /// Says what the holder, which calls this, does next.
    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// What a member is to do that runs, and is the standby or the first.
    pub(crate) fn order(&self, member: &Member) -> Order {
        let phase = self.phase.load(Ordering::Relaxed);
        if phase == Phase::Yields as u8 {
            Order::Yield
        } else if phase == Phase::Rests as u8 {
            self.stands_by.store(false, Ordering::Relaxed);
            Order::Rest
        } else {
            self.holder.store(member.number, Ordering::Relaxed);
            self.bench.lock().standby = None;
            self.stands_by.store(false, Ordering::Relaxed);
            Order::Serve
        }
    }

    /// Whether a standby is in the ready queue.
    pub(crate) fn has_standby(&self) -> bool {
        self.stands_by.load(Ordering::Relaxed)
    }

    /// Calls a member to stand by, unless one does. Returns a new member that needs a fibre, which
    /// stands by as soon as it has one.
    pub(crate) fn call_standby(&self) -> Option<Arc<Member>> {
        if self.has_standby() {
            return None;
        }
        let mut bench = self.bench.lock();
        let known = bench.standby.take().or_else(|| bench.spares.pop());
        let is_new = known.is_none();
        let member = known.unwrap_or_else(|| self.member());
        bench.standby = Some(Arc::clone(&member));
        drop(bench);
        self.stands_by.store(true, Ordering::Relaxed);
        if is_new {
            return Some(member);
        }
        member.wake_event.set();
        None
    }

    /// Says that a new member got no fibre.
    pub(crate) fn dismiss_standby(&self) {
        self.bench.lock().standby = None;
        self.stands_by.store(false, Ordering::Relaxed);
    }

    /// Makes a member spare that has lost the lead. Returns `false` if it is to end.
    pub(crate) fn leave(&self, member: &Arc<Member>) -> bool {
        let mut bench = self.bench.lock();
        let is_kept = !bench.has_ended && bench.spares.len() < SPARES;
        if is_kept {
            bench.spares.push(Arc::clone(member));
        }
        is_kept
    }

    /// Wakes all members to their end.
    pub(crate) fn end(&self) {
        let mut bench = self.bench.lock();
        bench.has_ended = true;
        let standby = bench.standby.take();
        let spares = std::mem::take(&mut bench.spares);
        drop(bench);
        self.wake_event.set();
        for member in standby.iter().chain(&spares) {
            member.wake_event.set();
        }
    }

    /// Whether members are to end.
    pub(crate) fn has_ended(&self) -> bool {
        self.bench.lock().has_ended
    }
}

impl Member {
    /// Waits until it is called to stand by. `false`: its cluster cancels what has not ended.
    /// Blocks the fibre.
    #[must_use]
    pub(crate) fn rest(&self) -> bool {
        self.wake_event.wait_within(Limit::Cancellation).is_ok()
    }
}
