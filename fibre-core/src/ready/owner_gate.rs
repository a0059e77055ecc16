//! Access to data of a processor's own thread. That thread pays nothing for it. A *rescuer* may
//! take fibres from there while one fibre keeps the thread busy.
//!
//! The owner touches it in two ways:
//!
//! * *between fibres*: its word `running` is null meanwhile;
//! * *within a fibre*, for instance one that wakes another: the owner notes by a plain store that
//!   it is `inside`.
//!
//! The rescuer notes in `state` that it wants to be alone, and makes every running thread of the
//! process execute a memory barrier (`membarrier`). Then it looks: if the owner runs a fibre and is
//! not inside, the rescuer has exclusive access until [`OwnerGate::give_back`]. Otherwise it gives
//! up, and the owner notices nothing.
//!
//! The owner looks at `state` at each access. It must do so anyway, because that word also says
//! whether the simple rules hold. If there is a rescuer, the owner waits for it. So without a
//! rescuer, the gate costs the owner two plain stores for each access within a fibre, and nothing
//! between two fibres.
//!
//! Invariants:
//!
//! 1. While the rescuer is alone, `running` names the fibre that keeps the owner, or that fibre has
//!    left its stack meanwhile and the owner waits.
//! 2. The rules, once there, stay.
//!
//! Source: Dice, Huang, Yang, "Asymmetric Dekker synchronization" (2001).
//!
//! # Memory ordering
//!
//! `running` or `inside`, and `state`, are Dekker's: owner and rescuer each write one and then read
//! the other, with [`light_barrier`] and [`HeavyBarrier`] between. The owner clears `inside` with
//! release, and makes `running` a fibre's with release; the rescuer loads both with acquire. So it
//! sees all that the owner did, the stacks that were left included. The rescuer clears its bit with
//! release, and the owner sees that with acquire.

use crate::sync::{
    AtomicBool, AtomicPtr, AtomicU8, Backoff, HeavyBarrier, Ordering, light_barrier, planted,
};
use std::ptr::NonNull;

/// A bit of `state`: the simple rules will not do.
const RULES: u8 = 1;
/// A bit of `state`: a rescuer has access, or is about to.
const HELD: u8 = 2;

/// The gate of one processor.
#[derive(Debug)]
pub struct OwnerGate {
    /// A set of the bits above.
    state: AtomicU8,
    /// Whether the owner, within a fibre, has access. Written by the owner only.
    inside: AtomicBool,
}

impl OwnerGate {
    /// A gate without a rescuer; `plain`: the owner may go by the simple rules.
    #[must_use]
    pub fn new(plain: bool) -> Self {
        Self {
            state: AtomicU8::new(if plain { 0 } else { RULES }),
            inside: AtomicBool::new(false),
        }
    }

    /// Whether the simple rules will do, and there is no rescuer.
    #[inline]
    pub fn is_single_level(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0
    }

    /// Ends the simple rules. Any thread.
    #[inline]
    pub fn end_single_level(&self) {
        if self.state.load(Ordering::Relaxed) & RULES == 0 {
            self.state.fetch_or(RULES, Ordering::Relaxed);
        }
    }

    /// Whether a rescuer has access, or is about to.
    #[inline]
    fn is_held(&self) -> bool {
        self.state.load(Ordering::Acquire) & HELD != 0
    }

    /// Called by the owner within a fibre, before an access by the simple rules. The owner then
    /// asks [`is_single_level`](Self::is_single_level) whether it may go on, and calls
    /// [`leave`](Self::leave) either way.
    #[inline]
    pub fn begin(&self) {
        if !planted("owner gate: not said to be inside") {
            self.inside.store(true, Ordering::Relaxed);
        }
        light_barrier();
    }

    /// Ends what [`begin`](Self::begin) or [`enter`](Self::enter) began.
    #[inline]
    pub fn leave(&self) {
        self.inside.store(false, Ordering::Release);
    }

    /// Called by the owner before an access by whatever rules there are: waits for a rescuer first.
    /// Followed by [`leave`](Self::leave).
    #[inline]
    pub fn enter(&self) {
        self.begin();
        while self.is_held() {
            self.leave();
            self.wait();
            self.begin();
        }
    }

    /// Called by the owner between two fibres, before its first access since the last one that is
    /// not plain: waits for a rescuer.
    #[inline]
    pub fn pass(&self) {
        if self.is_held() {
            self.wait();
        }
    }

    /// Waits until the rescuer has left.
    #[cold]
    fn wait(&self) {
        let mut backoff = Backoff::new();
        while self.is_held() {
            backoff.wait();
        }
    }

    /// Tries to have all to itself: returns what the owner runs, until
    /// [`give_back`](Self::give_back). `None`: the owner is between two fibres, or inside. There is
    /// one rescuer at a time, and it keeps `running` alive.
    #[must_use]
    pub fn hold<T>(&self, running: &AtomicPtr<T>, barrier: HeavyBarrier) -> Option<NonNull<T>> {
        if running.load(Ordering::Relaxed).is_null() {
            return None;
        }
        self.state.fetch_or(HELD, Ordering::Relaxed);
        let seen = planted("owner gate: no barrier") || barrier().is_ok();
        let runs = NonNull::new(running.load(Ordering::Acquire));
        let alone = seen && !self.inside.load(Ordering::Acquire);
        let kept_by = runs.filter(|_| alone);
        if kept_by.is_none() {
            self.give_back();
        }
        kept_by
    }

    /// Ends what [`hold`](Self::hold) began.
    pub fn give_back(&self) {
        self.state.fetch_and(!HELD, Ordering::Release);
    }
}
