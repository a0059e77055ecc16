//! The one word of a lock that keeps a list of waiters.
//!
//! ```text
//!   bits 5..   bit 4   bit 3    bit 2   bit 1     bit 0
//!   ROUND      KEEN    URGENT   LIST    WAITING   HELD
//! ```
//!
//! * **HELD**: the lock is held.
//! * **WAITING**: a waiter is in the list, or was. The unlocker has to look.
//! * **LIST**: the list is held. This bit is a lock of its own, held for a few instructions.
//! * **URGENT**: the first waiter in the list wants the lock handed over.
//! * **ROUND**: how many more waiters are handed the lock, one after the other.
//! * **KEEN**: the holder was woken for the lock and found it free, so more of the waiters should
//!   be awake.
//!
//! The holder of `HELD` and `LIST` is alone with the word: others set `WAITING` only with `LIST`,
//! and take the lock only if it is free. So an unlock ends with one store, which releases lock and
//! list together. After it the unlocker touches neither.
//!
//! # Memory ordering
//!
//! `HELD` and `LIST` are taken with acquire and released with release. All other changes of the
//! word are read-modify-writes, and so continue the release of the last unlock.

use super::heat::Heat;
use crate::faults;
use crate::turn::{ModelLock, Turn};
use crate::wait_list::WaitList;
use fibre_core::sync::{AtomicU32, Backoff, Ordering, planted};
use std::cell::UnsafeCell;
use std::fmt;

/// The bits of the word, lowest first.
const HELD: u32 = 1;
const WAITING: u32 = 1 << 1;
const LIST: u32 = 1 << 2;
const URGENT: u32 = 1 << 3;
const KEEN: u32 = 1 << 4;
/// The unit of the count of a round.
const ROUND: u32 = 1 << 5;

/// The word and the list. A free word without waiters is all zeros.
#[repr(C)]
pub struct LockWord {
    word: AtomicU32,
    /// How hot the lock is. Only callers that spin write it. It lies here because there is room.
    heat: Heat,
    /// Touched by the holder of `LIST`.
    list: UnsafeCell<WaitList>,
    turn: Turn,
}

fibre_core::layout!(LockWord: 16, 8);

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

fibre_core::end_of_frame!(LockWord: word, heat);

impl LockWord {
    fibre_core::const_outside_models! {
        /// A free lock.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                heat: Heat::new(),
                list: UnsafeCell::new(WaitList::new()),
                turn: Turn::new(),
            }
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.try_lock_as(HELD)
    }

    /// [`try_lock`](Self::try_lock) for a woken waiter, which may have left others in the list.
    #[inline]
    pub fn try_lock_woken(&self) -> bool {
        self.try_lock_as(HELD | WAITING)
    }

    /// Takes the lock with these bits, if it is free. Begins with the usual case.
    #[inline]
    fn try_lock_as(&self, bits: u32) -> bool {
        match self.exchange(0, bits, Ordering::Acquire) {
            Ok(_) => true,
            Err(word) => word & HELD == 0 && self.try_lock_marked(word, bits),
        }
    }

    /// [`try_lock_as`](Self::try_lock_as) for a word with other bits set.
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

    /// Gives the lock back if the list is empty. Returns `false` if it is not: the lock is still
    /// the caller's.
    #[inline]
    pub fn unlock_alone(&self) -> bool {
        match self.exchange(HELD, 0, Ordering::Release) {
            Ok(_) => true,
            Err(word) => word & WAITING == 0 && self.unlock_marked(word),
        }
    }

    /// [`unlock_alone`](Self::unlock_alone) while another caller may hold the list.
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

    /// Whether the lock is held.
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

    /// Takes the list. Blocks the thread for the few instructions that another holder has it.
    #[inline]
    pub fn list(&self) -> ListGuard<'_> {
        let turn = self.turn.take();
        let mut backoff = Backoff::new();
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if word & LIST == 0 && self.exchange(word, word | LIST, Ordering::Acquire).is_ok() {
                return ListGuard {
                    lock: self,
                    last: None,
                    _turn: turn,
                };
            }
            backoff.wait();
        }
    }

    /// Replaces the word.
    #[inline]
    fn exchange(&self, word: u32, next: u32, success: Ordering) -> Result<u32, u32> {
        self.word
            .compare_exchange(word, next, success, Ordering::Relaxed)
    }
}

/// The right to the list of waiters; given back when dropped.
#[derive(Debug)]
#[must_use = "the list is given back at once"]
pub struct ListGuard<'a> {
    lock: &'a LockWord,
    /// The word to store if the caller has the lock, too, and gives both back.
    last: Option<u32>,
    /// Given up after the list.
    _turn: ModelLock,
}

impl ListGuard<'_> {
    /// The list.
    #[inline]
    pub fn waiting(&mut self) -> &mut WaitList {
        // SAFETY: this guard has the list.
        unsafe { &mut *self.lock.list.get() }
    }

    /// Takes the lock if it is free, and returns `true`. If not, announces the caller as a waiter,
    /// an urgent one if `urgent`. `woken`: the caller has been woken for the lock.
    #[inline]
    pub fn lock_or_announce(&mut self, urgent: bool, woken: bool) -> bool {
        let forgets = planted(faults::mutex::WOKEN_FORGETS_THOSE_BEHIND);
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

    /// Whether more of the waiters should be awake.
    #[inline]
    #[must_use]
    pub fn wakes_two(&self) -> bool {
        self.lock.word.load(Ordering::Relaxed) & KEEN != 0
    }

    /// How many waiters are to be handed the lock, one after the other: a whole round if the first
    /// one is urgent, else what is left of the last round.
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

    /// Gives back the lock, which is the caller's, and the list. The waiters in the list stay. The
    /// next unlock looks at them only if a waiter announces itself before.
    #[inline]
    pub fn free(self) {
        self.leave(0);
    }

    /// Gives back the list alone: the lock, which was the caller's, goes to the waiter that has
    /// been claimed. `round` more waiters are to be handed it after that.
    #[inline]
    pub fn hand_over(mut self, round: u32) {
        let more = if self.waiting().is_empty() {
            0
        } else {
            WAITING | (round * ROUND)
        };
        self.leave(HELD | more);
    }

    /// Gives back lock and list by storing this word.
    #[inline]
    fn leave(mut self, word: u32) {
        self.last = Some(word);
    }
}

impl Drop for ListGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let release = match planted(faults::mutex::GIVES_LIST_BACK_WITHOUT_RELEASE) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        match self.last {
            Some(word) => self.lock.word.store(word, release),
            None => _ = self.lock.word.fetch_and(!LIST, release),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_list::{Node, Place};
    use fibre_core::internal::Waiter;
    use std::ptr::NonNull;

    /// The text of a free word.
    const FREE: &str = "LockWord { held: false, waiting: false, .. }";
    /// The text of a held word.
    const TAKEN: &str = "LockWord { held: true, waiting: false, .. }";
    /// The text of a held word with waiters.
    const WANTED: &str = "LockWord { held: true, waiting: true, .. }";

    /// The text of a word.
    fn said(word: &LockWord) -> String {
        format!("{word:?}")
    }

    #[test]
    fn it_is_taken_and_given_back() {
        let word = LockWord::new();
        for woken in [false, true, false] {
            assert!(!word.is_held());
            assert_eq!(said(&word), FREE);
            // A woken caller may leave others behind, and sets `WAITING`.
            let (taken, says) = match woken {
                false => (word.try_lock(), TAKEN),
                true => (word.try_lock_woken(), WANTED),
            };
            assert!(taken && word.is_held());
            assert_eq!(said(&word), says);
            assert!(!word.try_lock() && !word.try_lock_woken());
            assert_eq!(word.unlock_alone(), !woken);
            if woken {
                assert!(word.is_held(), "it is the caller's still");
                word.list().free();
            }
        }
    }

    /// While the list is held, the lock is taken and given back as ever.
    #[test]
    fn the_list_is_another_lock() {
        let word = LockWord::new();
        let list = word.list();
        assert!(word.try_lock() && !word.try_lock() && !word.try_lock_woken());
        assert!(word.unlock_alone() && !word.is_held());
        assert!(word.try_lock_woken() && !word.try_lock() && !word.unlock_alone());
        assert_eq!(said(&word), WANTED);
        list.free();
        assert_eq!(said(&word), FREE);
        assert!(std::ptr::eq(word.heat(), &word.heat));
    }

    #[test]
    fn who_finds_it_taken_is_found() {
        let word = LockWord::new();
        assert!(word.list().lock_or_announce(true, true), "it was free");
        assert_eq!(said(&word), TAKEN);
        assert_eq!(word.list().round(7), 0, "nobody is urgent");
        assert!(!word.list().lock_or_announce(false, false));
        assert_eq!(said(&word), WANTED);
        assert_eq!(word.list().round(7), 0);
        assert!(!word.list().lock_or_announce(true, false));
        assert_eq!(word.list().round(7), 7);
        assert!(!word.unlock_alone() && !word.list().wakes_two());
        // All waiters have gone in the meantime.
        word.list().hand_over(5);
        assert_eq!(said(&word), TAKEN);
        assert_eq!(word.list().round(7), 0);
        assert!(word.unlock_alone());
    }

    #[test]
    fn those_who_stay_in_the_list_are_not_forgotten() {
        let word = LockWord::new();
        let node = Node::new();
        // SAFETY: the waiter is never resumed.
        let waiter = unsafe { Waiter::for_fibre(NonNull::dangling()) };
        let mut list = word.list();
        // SAFETY: node and waiter stay where they are until the end.
        unsafe { list.waiting().insert(&node, &waiter, Place::Last) };
        drop(list);
        assert_eq!(said(&word), FREE, "it has not said so");
        for woken in [false, true] {
            assert!(word.list().lock_or_announce(false, woken));
            assert_eq!(said(&word), WANTED);
            assert_eq!(word.list().wakes_two(), woken);
            assert!(!word.unlock_alone());
            for round in [3, 0, 63] {
                word.list().hand_over(round);
                assert_eq!(said(&word), WANTED);
                assert_eq!(word.list().round(100), round);
                assert!(!word.list().wakes_two());
            }
            word.list().free();
            assert_eq!(said(&word), FREE);
        }
        // SAFETY: it is in this list.
        unsafe { word.list().waiting().unlink(&node) };
        assert!(word.list().waiting().is_empty());
    }
}
