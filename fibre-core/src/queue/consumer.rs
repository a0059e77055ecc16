//! Decides who may consume: the owner, cheaply, or a thief.
//!
//! One thread, the owner, consumes all the time; others, the thieves, now and then. So the
//! lock is biased towards the owner, in three modes:
//!
//! * `PRIVATE`: the owner goes in and out with plain stores to `inside`. No thief may consume.
//! * `REVOKED`: a thief wants to, but it is not known that the owner has noticed.
//! * `SHARED`: every consumer takes the lock `taken` by a read-modify-write.
//!
//! A thief always takes `taken` first. In the private mode it then revokes: it writes
//! `REVOKED`, has every running thread of the process execute a memory barrier
//! (`membarrier`, a system call), and writes `SHARED`. From then on an owner that goes in
//! sees that the mode is not private, and takes the lock, too; one that went in before is
//! seen in `inside`. The thief looks there for a short spin and gives up if the owner
//! stays: it may have lost its CPU. The owner makes the mode private again after
//! [`CALM`] turns in a row that no thief came between. Without the barrier the mode is
//! always shared; should it be refused once it was there, the mode stays `REVOKED` until
//! the owner comes by the lock, which proves that it has noticed.
//!
//! No consumer waits: one that is refused has better things to do than to spin on a holder that may
//! have lost its CPU.
//!
//! Source: Dice, Moir, Scherer, "Quickly reacquirable locks" (2003); Dice, Huang, Yang,
//! "Asymmetric Dekker synchronization" (2001).
//!
//! # Memory ordering
//!
//! `inside` and `mode` are Dekker's: owner and thief each write one and then read the other. The
//! owner's [`light_barrier`] and the thief's [`HeavyBarrier`] stand between; as a pair they order
//! as two sequentially consistent fences would, which is what the model runs. `taken` is taken with
//! acquire and given back with release; `inside` is cleared with release and read with acquire: so
//! consumers see each other's work.

use crate::sync::{
    AtomicBool, AtomicU8, AtomicU32, HeavyBarrier, Ordering, SPIN_LIMIT, light_barrier, spin_hint,
};

/// The owner uses `inside` alone.
const PRIVATE: u8 = 0;
/// The owner may not have noticed that it has to take the lock.
const REVOKED: u8 = 1;
/// Every consumer takes the lock.
const SHARED: u8 = 2;

/// Turns of the owner without a thief, after which the mode is private again: by then the
/// read-modify-writes that each mode change saves have paid for the next barrier.
#[cfg(not(loom))]
const CALM: u32 = 256;
/// In a model, each turn more only repeats states.
#[cfg(loom)]
const CALM: u32 = 2;

/// The lock. See the module text.
#[derive(Debug)]
pub struct ConsumerLock {
    /// Whether the owner consumes by the private mode. Written by the owner only.
    inside: AtomicBool,
    /// `PRIVATE`, `REVOKED` or `SHARED`. Written by the holder of `taken`.
    mode: AtomicU8,
    /// Whether a consumer holds the lock.
    taken: AtomicBool,
    /// The owner's turns since a thief came. Written by the holder of `taken`.
    calm: AtomicU32,
    /// The barrier by which thieves revoke, if there is one.
    barrier: Option<HeavyBarrier>,
}

impl ConsumerLock {
    /// A free lock, always shared if there is no `barrier`.
    pub fn new(barrier: Option<HeavyBarrier>) -> Self {
        let mode = if barrier.is_some() { PRIVATE } else { SHARED };
        Self {
            inside: AtomicBool::new(false),
            mode: AtomicU8::new(mode),
            taken: AtomicBool::new(false),
            calm: AtomicU32::new(0),
            barrier,
        }
    }

    /// Does `consume` as the owner, unless a thief consumes.
    ///
    /// # Safety
    ///
    /// One owner: calls follow each other.
    #[inline]
    pub unsafe fn own<R>(&self, consume: impl Fn() -> R) -> Option<R> {
        self.inside.store(true, Ordering::Relaxed);
        light_barrier();
        let private = self.mode.load(Ordering::Relaxed) == PRIVATE;
        let done = private.then(&consume);
        self.inside.store(false, Ordering::Release);
        if private {
            done
        } else {
            self.own_shared(consume)
        }
    }

    /// The part of [`own`](Self::own) in the other modes.
    fn own_shared<R>(&self, consume: impl Fn() -> R) -> Option<R> {
        let done = self.take_turn(|| {
            let calm = self.calm.load(Ordering::Relaxed).saturating_add(1);
            self.calm.store(calm, Ordering::Relaxed);
            let mode = if calm >= CALM && self.barrier.is_some() {
                PRIVATE
            } else {
                SHARED
            };
            self.mode.store(mode, Ordering::Relaxed);
            Some(consume())
        });
        done.flatten()
    }

    /// Does `consume` as a thief, unless another consumer does.
    pub fn steal<R>(&self, consume: impl Fn() -> R) -> Option<R> {
        let done = self.take_turn(|| {
            self.calm.store(0, Ordering::Relaxed);
            if self.mode.load(Ordering::Relaxed) == PRIVATE {
                self.revoke();
            }
            self.owner_is_out().then(&consume)
        });
        done.flatten()
    }

    /// Does `turn` with the lock, if it is free.
    #[inline]
    fn take_turn<R>(&self, turn: impl Fn() -> R) -> Option<R> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        let done = turn();
        self.taken.store(false, Ordering::Release);
        Some(done)
    }

    /// Makes the owner take the lock from now on.
    #[cold]
    fn revoke(&self) {
        self.mode.store(REVOKED, Ordering::Relaxed);
        if self.barrier.is_some_and(|barrier| barrier().is_ok()) {
            self.mode.store(SHARED, Ordering::Relaxed);
        }
    }

    /// Whether the owner takes the lock before it goes in, and is not inside without.
    fn owner_is_out(&self) -> bool {
        self.mode.load(Ordering::Relaxed) == SHARED
            && (0..SPIN_LIMIT).any(|_| {
                let out = !self.inside.load(Ordering::Acquire);
                if !out {
                    spin_hint();
                }
                out
            })
    }
}
