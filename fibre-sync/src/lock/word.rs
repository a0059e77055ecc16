//! The one word of a lock that keeps a list of those who wait for it.
//!
//! ```text
//!   bits 5..   bit 4   bit 3    bit 2   bit 1     bit 0
//!   ROUND      KEEN    URGENT   LIST    WAITING   HELD
//! ```
//!
//! * **HELD**: somebody has the lock.
//! * **WAITING**: somebody is in the list, or was. Who unlocks has to look.
//! * **LIST**: somebody has the list, which is a lock of its own, held for a few instructions.
//! * **URGENT**: the first one in the list wants the lock handed over.
//! * **ROUND**: how many more of those who wait are handed the lock, one after the other.
//! * **KEEN**: who has the lock was woken for it and found it free, so more of those who wait should be awake.
//!
//! The holder of `HELD` and `LIST` is alone with the word: others set `WAITING` with `LIST` only,
//! and take the lock only if it is free. So an unlock ends by one store, which gives back lock and list
//! together, and after which it touches nothing of them.
//!
//! # Memory ordering
//!
//! `HELD` and `LIST` are taken with acquire and given back with release. Whatever changes the word
//! otherwise is a read-modify-write, and so carries on the release of the last unlock.

use super::heat::Heat;
use crate::turn::{Turn, Turned};
use crate::wait_list::WaitList;
use fibre_core::sync::{AtomicU32, Ordering, Patience, planted};
use std::cell::UnsafeCell;
use std::fmt;

/// See the module text.
const HELD: u32 = 1;
const WAITING: u32 = 1 << 1;
const LIST: u32 = 1 << 2;
const URGENT: u32 = 1 << 3;
const KEEN: u32 = 1 << 4;
/// One of a round.
const ROUND: u32 = 1 << 5;

/// The word and the list. See the module text. Free and with nobody waiting, it is all zeros.
#[repr(C)]
pub struct LockWord {
    word: AtomicU32,
    /// Noted only by those that spin. Here, since it fits in between.
    heat: Heat,
    /// Touched by the holder of `LIST`.
    list: UnsafeCell<WaitList>,
    turn: Turn,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<LockWord>() == 16 && align_of::<LockWord>() == 8);

// SAFETY: `LIST` gives the list to one thread at a time.
unsafe impl Sync for LockWord {}
// SAFETY: the list may be touched by any thread that has the word to itself.
unsafe impl Send for LockWord {}

impl fmt::Debug for LockWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Relaxed);
        f.debug_struct("LockWord")
            .field("held", &(word & HELD != 0))
            .field("waiting", &(word & WAITING != 0))
            .finish_non_exhaustive()
    }
}

impl Default for LockWord {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for LockWord {
    fn end_of_frame(&mut self) {
        self.word.end_of_frame();
        self.heat.end_of_frame();
    }
}

impl LockWord {
    /// Free.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
            heat: Heat::new(),
            list: UnsafeCell::new(WaitList::new()),
            turn: Turn::new(),
        }
    }

    /// Free.
    #[cfg(loom)]
    #[must_use]
    pub fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
            heat: Heat::new(),
            list: UnsafeCell::new(WaitList::new()),
            turn: Turn::new(),
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.try_lock_as(HELD)
    }

    /// [`try_lock`](Self::try_lock) for one who has been woken, and who may have left others
    /// in the list.
    #[inline]
    pub fn try_lock_woken(&self) -> bool {
        self.try_lock_as(HELD | WAITING)
    }

    /// The common part. It begins with the usual case.
    #[inline]
    fn try_lock_as(&self, bits: u32) -> bool {
        match self.exchange(0, bits, Ordering::Acquire) {
            Ok(_) => true,
            Err(word) => word & HELD == 0 && self.try_lock_marked(word, bits),
        }
    }

    /// The same for a word in which more is said.
    #[cold]
    fn try_lock_marked(&self, mut word: u32, bits: u32) -> bool {
        while word & HELD == 0 {
            match self.exchange(word, word | bits, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Gives the lock back if nobody is in the list. `false`: it is the caller's still.
    #[inline]
    pub fn unlock_alone(&self) -> bool {
        match self.exchange(HELD, 0, Ordering::Release) {
            Ok(_) => true,
            Err(word) => word & WAITING == 0 && self.unlock_marked(word),
        }
    }

    /// The same while somebody is about to enter the list.
    #[cold]
    fn unlock_marked(&self, mut word: u32) -> bool {
        while word & WAITING == 0 {
            match self.exchange(word, word & !HELD, Ordering::Release) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Whether somebody has the lock.
    #[inline]
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.word.load(Ordering::Relaxed) & HELD != 0
    }

    /// How hot the lock is.
    #[inline]
    #[must_use]
    pub fn heat(&self) -> &Heat {
        &self.heat
    }

    /// Takes the list. Blocks the thread for the few instructions that others have it.
    #[inline]
    pub fn list(&self) -> ListGuard<'_> {
        let turn = self.turn.take();
        let mut patience = Patience::new();
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if word & LIST == 0 && self.exchange(word, word | LIST, Ordering::Acquire).is_ok() {
                return ListGuard {
                    lock: self,
                    last: None,
                    _turn: turn,
                };
            }
            patience.wait();
        }
    }

    /// Replaces the word.
    #[inline]
    fn exchange(&self, word: u32, next: u32, success: Ordering) -> Result<u32, u32> {
        self.word
            .compare_exchange(word, next, success, Ordering::Relaxed)
    }
}

/// The right to the list of those who wait; given back when dropped.
#[derive(Debug)]
#[must_use = "the list is given back at once"]
pub struct ListGuard<'a> {
    lock: &'a LockWord,
    /// What becomes of the word if the caller has the lock, too, and gives both back.
    last: Option<u32>,
    /// Given up after the list.
    _turn: Turned,
}

impl ListGuard<'_> {
    /// The list.
    #[inline]
    pub fn waiting(&mut self) -> &mut WaitList {
        // SAFETY: it is ours.
        unsafe { &mut *self.lock.list.get() }
    }

    /// Takes the lock if it is free (`true`); else says that somebody waits for it, and urgently. `woken`: the caller
    /// has been woken for it.
    #[inline]
    pub fn lock_or_announce(&mut self, urgent: bool, woken: bool) -> bool {
        let forgets = planted("mutex: who was woken forgets those behind it");
        let more = match (self.waiting().is_empty() || forgets, woken) {
            (true, _) => 0,
            (false, true) => WAITING | KEEN,
            (false, false) => WAITING,
        };
        let announced = WAITING | if urgent { URGENT } else { 0 };
        let mut word = self.lock.word.load(Ordering::Relaxed);
        loop {
            let free = word & HELD == 0;
            let next = word | if free { HELD | more } else { announced };
            match self.lock.exchange(word, next, Ordering::Acquire) {
                Ok(_) => return free,
                Err(now) => word = now,
            }
        }
    }

    /// Whether more of those who wait should be awake.
    #[inline]
    #[must_use]
    pub fn is_keen(&self) -> bool {
        self.lock.word.load(Ordering::Relaxed) & KEEN != 0
    }

    /// How many are to be handed the lock one after the other: a whole round if the first one says that
    /// it is urgent, else what is left of the last round.
    #[inline]
    #[must_use]
    pub fn round(&self, whole: u32) -> u32 {
        let word = self.lock.word.load(Ordering::Relaxed);
        if word & URGENT != 0 {
            whole
        } else {
            word / ROUND
        }
    }

    /// Gives back the lock, which is the caller's, and the list. Those in the list stay; the next unlock
    /// looks after them only if somebody announces himself before.
    #[inline]
    pub fn free(self) {
        self.leave(0);
    }

    /// Gives back the list alone: the lock, which was the caller's, goes to somebody who has been
    /// claimed. So many more are to be handed it after that.
    #[inline]
    pub fn hand_over(mut self, round: u32) {
        let more = if self.waiting().is_empty() {
            0
        } else {
            WAITING | (round * ROUND)
        };
        self.leave(HELD | more);
    }

    /// Gives back lock and list by making the word this.
    #[inline]
    fn leave(mut self, word: u32) {
        self.last = Some(word);
    }
}

impl Drop for ListGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let release = match planted("mutex: the list is given back without release") {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        match self.last {
            Some(word) => self.lock.word.store(word, release),
            None => _ = self.lock.word.fetch_and(!LIST, release),
        }
    }
}
