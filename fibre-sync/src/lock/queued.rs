//! Locks with waiters that block, in a list.
//!
//! The unlocker frees the word and wakes the waiter that has waited longest, which competes with
//! newcomers (*blocking with barging*, thesis section 3.3): a running fibre that needs the lock
//! need not wait until a sleeping one has woken up. A waiter that was woken for nothing waits in
//! front of the others, and in the [`Hybrid`] it asks for the baton [`PATIENCE`] later. Then the
//! next unlock does not free the word but hands it over. (Go's mutex does the same, but counts that
//! time from the beginning of the wait; so a lock with a thousand waiters is a baton, because all
//! of them have waited for long.) A round of the waiters behind it gets the lock in the same way. A
//! [`Baton`](super::Baton) is always handed over.
//!
//! A waiter marks the word before it sleeps, and a woken one that finds the lock taken marks it
//! again. So the holder of a lock with waiters always finds the mark, except while a woken waiter
//! is on its way; that waiter will then mark it.
//!
//! An unlock wakes one waiter, so that a busy lock has one competitor and not a thundering herd. It
//! wakes two if the holder was woken and found the lock free: all waiters are then soon awake when
//! there is no need to wait. (With one at a time, few run for long and many wait for long.) If a
//! processor has nothing to do, the unlocker wakes one of *its* fibres, if one is among the first
//! few. If the lock is hot ([`heat`](super::heat)), it wakes one of its own processor's.
//!
//! # Long turns
//!
//! Say turns take longer than some switches, and as long as the fibres' work between turns. A freed
//! lock then lies unused: its unlocker goes on with other work, and the woken waiter is queued
//! behind a fibre that does so, too. So if turns are long ([`Turns`]), an unlock hands the lock to
//! a waiter of its own processor, and the processor with it, as an [`Exchange`](super::Exchange)
//! would. The unlocker is queued. So one processor has the lock, turn by turn, for all of its
//! waiters, and the others do other work meanwhile. Then it is another processor's turn. Long turns
//! are no reason to hand the lock to a waiter of another processor: a fibre may keep that processor
//! busy, and then nobody would have the lock.
//!
//! A fibre that finds every lock free would never leave its processor, and the fibres it woke there
//! would starve. So when it locks, it lets them run from time to time ([`yield_point`]).

use super::attempt::attempt;
use super::heat::Turns;
use super::raw_lock::RawLock;
use super::word::{ListGuard, LockWord};
use crate::contention::{Contended, Ending};
use crate::faults;
use crate::wait_list::{ListWait, Place};
use fibre_core::internal::{Affinity, Outcome, Turn, WakeMode, yield_point};
use fibre_core::sync::{has_passed, planted};
use fibre_core::{Limit, WaitKind, WaitObject};
use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// How long a waiter of a [`Hybrid`] lets others go first after it has been woken for nothing.
const PATIENCE: Duration = Duration::from_millis(1);

/// How many waiters are handed the lock in a row once one has waited too long. Those behind it have
/// waited for as long, and each would otherwise be woken for nothing for a millisecond of its own.
const ROUND: u32 = 64;

/// How much of a round one waiter of another processor uses up: the lock is unused while that
/// processor takes over.
const FAR: u32 = 4;

/// How many of the first waiters are considered for the best one to wake.
const DEPTH: usize = 8;

/// How many of the first waiters are considered for one to hand a lock with long turns to.
const FAR_DOWN: usize = 16;

/// Wake value: the word is free, and the waiter competes for it.
const FREED: u32 = 0;
/// Wake value: the word has been handed to the waiter.
const HANDED: u32 = 1;

/// What an unlock does with a lock that has waiters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// It frees the lock.
    Never,
    /// It frees the lock, unless the first waiter has waited for long.
    Late,
    /// The same; and where turns are long, it hands the lock over, and the processor with it.
    LateOrLong,
    /// It hands the lock over.
    Always,
    /// It hands the lock over, and the processor with it.
    InPlace,
}

/// A place in the spectrum. See the table in [`lock`](crate::lock).
pub trait LockPolicy: Send + Sync + 'static {
    /// The policy's name in benchmarks.
    const NAME: &'static str;
    /// Whether a caller that finds the lock taken tries for a moment before it blocks.
    const SPINS: bool;
    /// What an unlock does with a lock that has waiters.
    const HAND_OVER: HandOver;
}

/// Declares a policy and its lock.
macro_rules! policy {
    ($(#[$doc:meta])* $lock:ident, $policy:ident, $name:literal, $spins:literal, $hand_over:ident) => {
        #[doc = concat!("The policy of a [`", stringify!($lock), "`] lock.")]
        #[allow(unnameable_types, reason = "programs name the lock")]
        #[derive(Debug, Clone, Copy)]
        pub enum $policy {}

        impl $crate::lock::queued::LockPolicy for $policy {
            const NAME: &'static str = $name;
            const SPINS: bool = $spins;
            const HAND_OVER: $crate::lock::queued::HandOver =
                $crate::lock::queued::HandOver::$hand_over;
        }

        $(#[$doc])*
        pub type $lock = $crate::lock::queued::Queued<$policy>;
    };
}
pub(super) use policy;

policy!(
    /// [`SpinThenBlock`](super::SpinThenBlock), but a waiter that was woken for nothing a
    /// millisecond ago is handed the lock.
    Hybrid,
    HybridPolicy,
    "hybrid",
    true,
    LateOrLong
);

/// A lock with a list of waiters, used by a policy. All zeros when free.
#[repr(transparent)]
pub struct Queued<M: LockPolicy> {
    word: LockWord,
    _policy: PhantomData<M>,
}

impl<M: LockPolicy> Default for Queued<M> {
    fn default() -> Self {
        Self {
            word: LockWord::new(),
            _policy: PhantomData,
        }
    }
}

impl<M: LockPolicy> fmt::Debug for Queued<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(M::NAME).field(&self.word).finish()
    }
}

fibre_core::end_of_frame!(Queued<M>: word; for M: LockPolicy);

// SAFETY: `LockWord` gives `HELD` to one holder at a time; see there for the last touch.
unsafe impl<M: LockPolicy> RawLock for Queued<M> {
    fibre_core::const_outside_models! {
        const FREE: Self = Self {
            word: LockWord::new(),
            _policy: PhantomData,
        };
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.word.try_lock()
    }

    #[inline]
    #[track_caller]
    fn lock_within(&self, limit: Limit) -> bool {
        self.lock_for(|| WaitObject::new(WaitKind::Mutex, self), limit)
    }

    #[inline]
    #[track_caller]
    fn lock_for(&self, awaited: impl FnOnce() -> WaitObject, limit: Limit) -> bool {
        yield_point();
        self.word.try_lock() || self.lock_contended(awaited(), limit)
    }

    #[inline]
    unsafe fn unlock(&self) {
        if !self.word.unlock_alone() {
            self.unlock_contended(true);
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

impl<M: LockPolicy> Queued<M> {
    /// The same lock, used by another policy. All policies keep to one protocol, so each call may
    /// choose its own.
    #[inline]
    #[must_use]
    pub fn with_policy<N: LockPolicy>(&self) -> &Queued<N> {
        // SAFETY: both are a `LockWord` and nothing else.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    /// Waits for the lock, and counts the wait where contention is recorded.
    #[cold]
    #[track_caller]
    fn lock_contended(&self, awaited: WaitObject, limit: Limit) -> bool {
        let contended = Contended::begin();
        let ending = self.await_lock(awaited, limit);
        let heat = self.word.heat();
        if M::HAND_OVER == HandOver::LateOrLong && ending != Ending::GaveUp && heat.may_be_long() {
            Turn::begin(self, heat.turns() > Turns::Short);
        }
        contended.end(ending);
        ending != Ending::GaveUp
    }

    /// Waits for the lock.
    #[inline]
    fn await_lock(&self, awaited: WaitObject, limit: Limit) -> Ending {
        if M::SPINS && attempt(&self.word, limit, || self.word.try_lock()) {
            return Ending::Taken;
        }
        let mut place = Place::Last;
        let mut since = None;
        let mut urgent = false;
        loop {
            // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
            let outcome = unsafe {
                ListWait::new(awaited, limit).at(place).under(
                    || self.word.list(),
                    |list| list.waiting(),
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
            if matches!(M::HAND_OVER, HandOver::Late | HandOver::LateOrLong) {
                urgent = has_passed(PATIENCE, *since.get_or_insert_with(Instant::now));
            }
            let woken = || self.word.try_lock_woken();
            if M::SPINS && !urgent && attempt(&self.word, limit, woken) {
                return Ending::Taken;
            }
        }
    }

    /// Frees the word, or hands it over, and resumes the first waiter: in place of the caller, if
    /// that `leaves` its stack, or later.
    #[cold]
    fn unlock_contended(&self, leaves: bool) {
        let mut list = self.word.list();
        let round = match M::HAND_OVER {
            HandOver::Never => 0,
            HandOver::Late | HandOver::LateOrLong => list.round(ROUND),
            HandOver::Always | HandOver::InPlace => 1,
        };
        if round == 0 {
            if M::HAND_OVER == HandOver::LateOrLong
                && leaves
                && let Some(turn) = self.long_turn()
                && let Some(next) = list
                    .waiting()
                    .claim_favoured_only(HANDED, FAR_DOWN, |waiter| Affinity::Here.is_of(waiter))
            {
                hand_over(list, 0);
                return next.resume_by(WakeMode::InPlaceAfter(turn));
            }
            return self.free(list);
        }
        let Some(first) = list.waiting().claim_first(HANDED) else {
            return list.free();
        };
        let cost = match list
            .waiting()
            .first_is(|waiter| Affinity::Here.is_of(waiter))
        {
            true => 1,
            false => FAR,
        };
        let round = round.saturating_sub(cost);
        if planted(faults::mutex::RESUMES_BEFORE_LEAVING_THE_WORD) {
            first.resume();
            return list.hand_over(round);
        }
        hand_over(list, round);
        first.resume_by(match M::HAND_OVER {
            HandOver::InPlace if leaves => WakeMode::InPlace,
            // The new holder should not queue behind fibres that want the lock.
            HandOver::Late | HandOver::LateOrLong => WakeMode::First,
            HandOver::Never | HandOver::Always | HandOver::InPlace => WakeMode::Last,
        });
        if planted(faults::mutex::UNLOCK_LOOKS_BACK) {
            let _ = self.is_locked();
        }
    }

    /// The turn that ends, if it was long and the processor may be handed on with the lock. The
    /// turn of a holder that has not waited is not known. So one that barges between those that
    /// hand the processor on to each other begins no new row of them.
    #[inline]
    fn long_turn(&self) -> Option<Turn> {
        let heat = self.word.heat();
        let turn = if heat.may_be_long() {
            Turn::end(self)
        } else {
            None
        }?;
        heat.note_turn(turn.length());
        (heat.turns() > Turns::Short && turn.may_hand_on()).then_some(turn)
    }

    /// Frees the word, and wakes one waiter or two.
    fn free(&self, mut list: ListGuard<'_>) {
        let waiting = list.waiting();
        let hot = M::SPINS && self.word.heat().is_hot();
        let favoured = match hot {
            true => Some(Affinity::Here),
            false => Affinity::idle(),
        };
        let first = match favoured {
            Some(affinity) => waiting.claim_favoured(FREED, DEPTH, |waiter| affinity.is_of(waiter)),
            None => waiting.claim_first(FREED),
        };
        let second = if list.wakes_two() {
            list.waiting().claim_first(FREED)
        } else {
            None
        };
        list.free();
        for one in first.into_iter().chain(second) {
            one.resume();
        }
        if planted(faults::mutex::UNLOCK_LOOKS_BACK) {
            let _ = self.is_locked();
        }
    }
}

/// Gives back the list, and leaves the lock to the waiter that has been claimed; `round` more are
/// to be handed it after that.
fn hand_over(list: ListGuard<'_>, round: u32) {
    if planted(faults::mutex::HANDED_OVER_IS_FREE_TOO) {
        list.free();
    } else {
        list.hand_over(round);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{Barging, Baton, Exchange, Settled, SpinThenBlock};
    use std::thread;

    /// Checks a lock of this policy, between two threads.
    fn is_a_lock<M: LockPolicy>(lock: Queued<M>) {
        assert!(lock.try_lock() && !lock.try_lock() && lock.is_locked());
        let said = format!("{lock:?}");
        assert!(
            said.contains(M::NAME) && said.contains("held: true"),
            "{said}"
        );
        assert!(std::ptr::eq(
            lock.with_policy::<HybridPolicy>().word.heat(),
            lock.word.heat()
        ));
        let end = Instant::now() + Duration::from_millis(2);
        assert!(!lock.lock_within(Limit::Deadline(end)) && Instant::now() >= end);
        for waits in [false, true] {
            thread::scope(|scope| {
                let other = scope.spawn(|| lock.lock_within(Limit::None));
                while !format!("{lock:?}").contains("waiting: true") {
                    thread::yield_now();
                }
                assert!(!other.is_finished());
                // SAFETY: this thread has it.
                unsafe {
                    if waits {
                        lock.unlock_to_wait();
                    } else {
                        lock.unlock();
                    }
                }
                assert!(other.join().is_ok_and(|taken| taken));
            });
            assert!(lock.is_locked() && !lock.try_lock(), "the other one has it");
        }
        // SAFETY: the other thread has left it taken.
        unsafe { lock.unlock() };
        assert!(!lock.is_locked());
    }

    #[test]
    fn each_policy_is_a_lock() {
        is_a_lock(Barging::default());
        is_a_lock(SpinThenBlock::default());
        is_a_lock(Hybrid::default());
        is_a_lock(Settled::default());
        is_a_lock(Baton::default());
        is_a_lock(Exchange::default());
    }
}
