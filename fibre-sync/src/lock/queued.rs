//! Locks whose waiters block, in a list.
//!
//! Who unlocks frees the word and wakes the one that has waited longest, who competes with whoever
//! comes by (*blocking with barging*, thesis section 3.3): a running fibre that needs the lock need not
//! wait for a sleeping one to wake up. Who was woken in vain waits in front of the others, and
//! in the [`Hybrid`] it asks for the baton [`PATIENCE`] later: the next unlock does
//! not free the word but hands it over (as Go's mutex does, whose patience begins with the wait; then a lock
//! that a thousand wait for is a baton, because all of them have waited for long). A round of those behind it
//! get it in the same way. A [`Baton`] is always handed over.
//!
//! Who waits marks the word before it sleeps; a woken one that finds the lock taken marks it again.
//! So the holder of a lock that somebody waits for always finds the mark, except while a woken one is on
//! its way, who then is the one to mark it.
//!
//! An unlock wakes one, so that a busy lock has one who competes for it and not a herd; but two if it was a woken one
//! that found the lock free, so that all who wait are soon awake when there is no need to wait. (With one
//! at a time, few run for long and many wait for long.) If a processor has nothing to do, one of *its*
//! fibres is woken, if it is among the first few; and one of the caller's processor if the lock is hot
//! ([`heat`](super::heat)).
//!
//! A fibre that finds what it locks free would never leave its processor, and those it woke there would
//! starve; so locking is a point at which it lets them run from time to time
//! ([`yield_point`]).

use super::attempt::attempt;
use super::raw_lock::RawLock;
use super::word::{ListGuard, LockWord};
use crate::contention::{Contended, Ending};
use crate::wait_list::{Place, Spot, wait_under};
use fibre_core::sync::{has_passed, planted};
use fibre_core::{
    Awaited, Limit, Outcome, WaitKind, others_rest, resume_first, resume_in_place, waits_at_rest,
    waits_here, yield_point,
};
use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// How long a waiter of a [`Hybrid`] lets others go first once it has been woken in vain.
const PATIENCE: Duration = Duration::from_millis(1);

/// How many are handed the lock in a row once one of them has run out of patience: those behind it
/// have waited for as long, and each would otherwise be woken in vain for a millisecond of its own.
const ROUND: u32 = 64;

/// For how many one counts whom another processor has to take over: nobody has the lock meanwhile.
const FAR: u32 = 4;

/// How many of those who have waited longest are looked at for one that is best woken.
const DEPTH: usize = 8;

/// What a waiter is woken with: the word is free, come and get it.
const FREED: u32 = 0;
/// What a waiter is woken with: the word is yours.
const HANDED: u32 = 1;

/// What becomes of a lock that somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// It is freed.
    Never,
    /// It is freed, unless the first one has waited for long.
    Late,
    /// It is handed over.
    Always,
    /// It is handed over, and the processor goes with it.
    InPlace,
}

/// A place in the spectrum. See the table in [`lock`](crate::lock).
pub trait Manner: Send + Sync + 'static {
    /// What it is called in benchmarks.
    const NAME: &'static str;
    /// Whether who finds the lock taken tries for a moment before it blocks.
    const SPINS: bool;
    /// What becomes of a lock that somebody waits for.
    const HAND_OVER: HandOver;
}

/// Declares a manner and its lock.
macro_rules! manner {
    ($(#[$doc:meta])* $lock:ident, $manner:ident, $name:literal, $spins:literal, $hand_over:ident) => {
        #[doc = concat!("The manner of a [`", stringify!($lock), "`] lock.")]
        #[derive(Debug, Clone, Copy)]
        pub enum $manner {}

        impl Manner for $manner {
            const NAME: &'static str = $name;
            const SPINS: bool = $spins;
            const HAND_OVER: HandOver = HandOver::$hand_over;
        }

        $(#[$doc])*
        pub type $lock = Queued<$manner>;
    };
}

manner!(
    /// Blocking with barging: who finds it taken blocks, and an unlock frees it and wakes one.
    Barging,
    BargingManner,
    "barging",
    false,
    Never
);
manner!(
    /// As [`Barging`], but tries for a moment before it blocks.
    SpinThenBlock,
    SpinThenBlockManner,
    "spin-block",
    true,
    Never
);
manner!(
    /// As [`SpinThenBlock`], but who was woken in vain a millisecond ago is handed the lock.
    Hybrid,
    HybridManner,
    "hybrid",
    true,
    Late
);
manner!(
    /// Baton passing: an unlock hands it to the one that has waited longest. Fair, and slow when
    /// contended: nobody has the lock while the next one wakes up.
    Baton,
    BatonManner,
    "baton",
    false,
    Always
);
manner!(
    /// Combine and exchange: an unlock hands the lock over, and lets the next one run at once on this processor, if
    /// it may; whoever unlocked is queued. So the lock's data stay in one processor's caches, and
    /// an unlock is a yield.
    Exchange,
    ExchangeManner,
    "exchange",
    false,
    InPlace
);

/// A lock with a list of waiters, in some manner. All zeros when free.
#[repr(transparent)]
pub struct Queued<M: Manner> {
    word: LockWord,
    _manner: PhantomData<M>,
}

impl<M: Manner> Default for Queued<M> {
    fn default() -> Self {
        Self {
            word: LockWord::new(),
            _manner: PhantomData,
        }
    }
}

impl<M: Manner> fmt::Debug for Queued<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(M::NAME).field(&self.word).finish()
    }
}

#[cfg(loom)]
impl<M: Manner> fibre_core::sync::EndOfFrame for Queued<M> {
    fn end_of_frame(&mut self) {
        self.word.end_of_frame();
    }
}

// SAFETY: `LockWord` gives `HELD` to one at a time; see there for the last touch.
unsafe impl<M: Manner> RawLock for Queued<M> {
    #[cfg(not(loom))]
    const FREE: Self = Self {
        word: LockWord::new(),
        _manner: PhantomData,
    };

    #[inline]
    fn try_lock(&self) -> bool {
        self.word.try_lock()
    }

    #[inline]
    #[track_caller]
    fn lock_within(&self, limit: Limit) -> bool {
        self.lock_for(|| Awaited::new(WaitKind::Mutex, self), limit)
    }

    #[inline]
    #[track_caller]
    fn lock_for(&self, awaited: impl FnOnce() -> Awaited, limit: Limit) -> bool {
        yield_point();
        self.word.try_lock() || self.lock_contended(awaited(), limit)
    }

    #[inline]
    unsafe fn unlock(&self) {
        if !self.word.unlock_alone() {
            self.unlock_contended(M::HAND_OVER == HandOver::InPlace);
        }
    }

    #[inline]
    unsafe fn unlock_to_wait(&self) {
        if !self.word.unlock_alone() {
            self.unlock_contended(false);
        }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.word.is_held()
    }
}

impl<M: Manner> Queued<M> {
    /// The same lock, used in another manner. All manners keep to one protocol, so each call may choose
    /// its own.
    #[inline]
    #[must_use]
    pub fn in_manner<N: Manner>(&self) -> &Queued<N> {
        // SAFETY: both are a `LockWord` and nothing else.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Waits for the lock, and counts it where waits are watched.
    #[cold]
    #[track_caller]
    fn lock_contended(&self, awaited: Awaited, limit: Limit) -> bool {
        let contended = Contended::begin();
        let ending = self.await_lock(awaited, limit);
        contended.end(ending);
        ending != Ending::GaveUp
    }

    /// Waits for the lock.
    #[inline]
    fn await_lock(&self, awaited: Awaited, limit: Limit) -> Ending {
        if M::SPINS && attempt(&self.word, limit, || self.word.try_lock()) {
            return Ending::Taken;
        }
        let mut place = Place::Last;
        let mut since = None;
        let mut urgent = false;
        loop {
            // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
            let outcome = unsafe {
                wait_under(
                    Spot::new(awaited, place),
                    || self.word.list(),
                    |list| list.waiting(),
                    limit,
                    |list| !list.lock_or_announce(urgent, place == Place::First),
                    || (),
                    |_, _| (),
                )
            };
            match outcome {
                Outcome::NotParked => return Ending::Taken,
                Outcome::Woken(HANDED) => return Ending::HandedOver,
                Outcome::TimedOut | Outcome::Cancelled => return Ending::GaveUp,
                Outcome::Woken(_freed) => place = Place::First,
            }
            if M::HAND_OVER == HandOver::Late {
                urgent = has_passed(PATIENCE, *since.get_or_insert_with(Instant::now));
            }
            let woken = || self.word.try_lock_woken();
            if M::SPINS && !urgent && attempt(&self.word, limit, woken) {
                return Ending::Taken;
            }
        }
    }

    /// Frees the word, or hands it over, and lets the one go on that has waited longest: `in_place` of
    /// the caller, or later.
    #[cold]
    fn unlock_contended(&self, in_place: bool) {
        let mut list = self.word.list();
        let round = match M::HAND_OVER {
            HandOver::Never => 0,
            HandOver::Late => list.round(ROUND),
            HandOver::Always | HandOver::InPlace => 1,
        };
        if round == 0 {
            return self.free(list);
        }
        let Some(first) = list.waiting().claim_first(HANDED) else {
            return list.free();
        };
        let cost = match list.waiting().first_is(waits_here) {
            true => 1,
            false => FAR,
        };
        let round = round.saturating_sub(cost);
        if planted("mutex: the waiter is resumed before the word is left") {
            first.resume();
            return list.hand_over(round);
        }
        if planted("mutex: what is handed over is free, too") {
            list.free();
        } else {
            list.hand_over(round);
        }
        match M::HAND_OVER {
            HandOver::InPlace if in_place => resume_in_place(first),
            // It has the lock, and should not wait behind those that want it.
            HandOver::Late => resume_first(first),
            HandOver::Never | HandOver::Always | HandOver::InPlace => first.resume(),
        }
        if planted("mutex: an unlock looks back") {
            let _ = self.is_locked();
        }
    }

    /// Frees the word, and wakes one or two.
    fn free(&self, mut list: ListGuard<'_>) {
        let waiting = list.waiting();
        let first = if M::SPINS && self.word.heat().is_hot() {
            waiting.claim_favoured(FREED, DEPTH, waits_here)
        } else if others_rest() {
            waiting.claim_favoured(FREED, DEPTH, waits_at_rest)
        } else {
            waiting.claim_first(FREED)
        };
        let second = if list.is_keen() {
            list.waiting().claim_first(FREED)
        } else {
            None
        };
        list.free();
        for one in first.into_iter().chain(second) {
            one.resume();
        }
        if planted("mutex: an unlock looks back") {
            let _ = self.is_locked();
        }
    }
}
