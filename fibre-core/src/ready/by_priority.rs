//! The part of a ready queue for priorities and for started fibres that move.
//!
//! **Priorities.** Levels are looked at from high to low, and from low to high now and then
//! ([`Level::in_turn`]). The background is none of them: it is asked for separately.
//!
//! **Started fibres that move** go to their home's `shared` queue when they are ready, from where
//! any processor may take them. The exception is the youngest one that the owner itself has made
//! ready: it stays in `next`. It is the partner of the fibre that runs now and is about to block.
//! Tearing the two apart would cost a wake-up of another processor at each turn. When there is a
//! second such fibre the first makes place, so that fibres come out in the order they were made
//! ready. The owner calls idle processors when it takes a fibre and leaves others behind. So a push
//! wakes nobody, unless the owner is *stuck*, kept by one fibre for long, as its watcher has found.
//!
//! As long as there is one processor, nobody steals, and all is plain: started fibres are `local`.
//! Fibres that wait at home then do so as if they stayed, and their wakers queue them where nobody
//! steals.
//!
//! `next` is emptied by read-modify-writes (acquire) and filled by the owner (release), so that a
//! thief that takes a fibre sees the stack that was left.

use super::ReadyQueue;
use crate::queue::{Level, Link, Popped};
use crate::sync::Ordering;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Pops by the owner after which a fibre in `next` is no longer the last one.
const LONE_TURNS: u32 = 8;

impl ReadyQueue {
    /// Queues a started fibre that is at home at `home`, from `here`, the queue of this thread or
    /// null; `free`: the fibre may move, if fibres do.
    ///
    /// # Safety
    ///
    /// As for [`push_woken`](Self::push_woken).
    #[inline(never)]
    pub(super) unsafe fn push_slow(
        here: *const Self,
        home: *const Self,
        node: NonNull<Link>,
        free: bool,
    ) {
        // SAFETY: the home of a fibre in our hands is alive; the node is the caller's.
        let (moves, forward) = unsafe {
            let moves = free && (*home).rules.moves_started && node.as_ref().may_move();
            (moves, (*home).forward.load(Ordering::Relaxed).cast_const())
        };
        let forced = moves && !forward.is_null();
        let target = if forced { forward } else { home };
        if ptr::eq(here, target) && !moves {
            // SAFETY: this thread is the owner; the node is the caller's.
            return unsafe { (*target).push_local(node) };
        }
        // SAFETY: as above.
        let kin = !here.is_null() && unsafe { (*here).is_kin(&*target) };
        let guest = (!kin).then(|| {
            // SAFETY: `target` comes from an `Arc`, of which one reference exists.
            unsafe {
                Arc::increment_strong_count(target);
                Arc::from_raw(target)
            }
        });
        // SAFETY: alive by kinship or by `guest`; the node is the caller's.
        unsafe {
            match &*target {
                queue if !moves || forced => queue.push_inbox(node),
                queue => {
                    queue.push_moving(node, ptr::eq(here, target));
                    queue.call_if_stuck(here);
                }
            }
        }
        drop(guest);
    }

    /// Queues a started fibre that may move; `own`: this thread is the owner.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    unsafe fn push_moving(&self, node: NonNull<Link>, own: bool) {
        // SAFETY: the node is the caller's, all along.
        unsafe {
            match node.as_ref().level() {
                Level::Background => self.commons.push_background(node),
                _ if self.rules.sharing => self.commons.stage(node),
                Level::Normal if own => self.fill_next(node),
                _ => self.push_shared(node),
            }
        }
    }

    /// Notes whether one fibre keeps the owner from what is queued here. Any thread.
    pub fn set_stuck(&self, stuck: bool) {
        if self.is_stuck() != stuck {
            self.stuck.store(stuck, Ordering::Relaxed);
        }
    }

    /// Whether the owner is noted as stuck; a hint.
    pub fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Calls a thief for what has been queued here, if the owner will be long in coming; unless the
    /// caller, whose queue is `here`, is about to look for work itself.
    ///
    /// # Safety
    ///
    /// `here` is the queue of this thread, or null.
    unsafe fn call_if_stuck(&self, here: *const Self) {
        // SAFETY: the caller's promise.
        let here = unsafe { here.as_ref() };
        let looks = || here.is_some_and(|here| here.is_kin(self) && here.is_resting());
        if self.is_stuck() && !looks() {
            self.commons.wake_one(self.index);
        }
    }

    /// Makes a fibre the one that thieves leave alone, in place of the one before. The owner only.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    unsafe fn fill_next(&self, node: NonNull<Link>) {
        self.next_since.set(self.turn.get());
        if self.next.load(Ordering::Relaxed).is_null() {
            // Only the owner fills it.
            self.next.store(node.as_ptr(), Ordering::Release);
            return;
        }
        let before = self.next.swap(node.as_ptr(), Ordering::AcqRel);
        if let Some(before) = NonNull::new(before) {
            // SAFETY: taken out of its place, hence ours.
            unsafe { self.push_shared(before) };
        }
    }

    /// Takes the fibre that thieves leave alone. Any thread.
    pub fn take_next(&self) -> Option<NonNull<Link>> {
        if self.next.load(Ordering::Relaxed).is_null() {
            return None;
        }
        NonNull::new(self.next.swap(ptr::null_mut(), Ordering::AcqRel))
    }

    /// Whether `next` holds a fibre at this moment.
    pub fn has_next(&self) -> bool {
        !self.next.load(Ordering::Relaxed).is_null()
    }

    /// Lets thieves have the fibre in `next` after all, and calls one. The owner only.
    pub fn offer_next(&self) {
        if self.rules.moves_started
            && self.commons.idle.is_any()
            && let Some(node) = self.take_next()
        {
            // SAFETY: just taken out.
            unsafe { self.push_shared(node) };
            self.commons.wake_one(self.index);
        }
    }

    /// The part of [`pop`](Self::pop) for all that is not plain. The owner only.
    #[inline(never)]
    pub(super) fn pop_slow(&self) -> Option<NonNull<Link>> {
        self.gate.pass();
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        let levels = Level::in_turn(turn);
        let node = levels
            .into_iter()
            .find_map(|level| self.pop_level(level, turn))?;
        if self.rules.moves_started && self.has_shared() && self.commons.idle.is_any() {
            self.commons.wake_one(self.index);
        }
        Some(node)
    }

    /// Takes the next fibre of a level.
    fn pop_level(&self, level: Level, turn: u32) -> Option<NonNull<Link>> {
        let next = || (level == Level::Normal).then(|| self.take_next()).flatten();
        let local = || self.local[level as usize].pop();
        // SAFETY: this thread is the owner.
        let shared = || match self.count_popped(unsafe { self.shared.pop_own(level) }) {
            Popped::Node(node) => {
                if !self.rules.moves_started {
                    self.count_shared_turn();
                }
                Some(node)
            }
            Popped::Empty | Popped::InFlight => None,
        };
        // The youngest goes last, but not for ever.
        if turn.wrapping_sub(self.next_since.get()) >= LONE_TURNS
            && let Some(node) = next()
        {
            return Some(node);
        }
        // Parity alone would be the same at each 64th turn, when the lowest level leads.
        if (turn ^ turn >> 6) % 2 == 1 {
            local().or_else(shared).or_else(next)
        } else {
            shared().or_else(local).or_else(next)
        }
    }

    /// Takes a started fibre of the background. The owner only.
    pub fn pop_background(&self) -> Option<NonNull<Link>> {
        self.local[Level::Background as usize].pop()
    }

    /// The part of [`is_empty`](Self::is_empty) for all that is not plain.
    #[inline(never)]
    pub(super) fn is_empty_slow(&self) -> bool {
        self.local[Level::High as usize].is_empty()
            && self.local[Level::Low as usize].is_empty()
            && self.shared.is_empty()
            && !self.has_next()
            && (!self.rules.sharing || self.commons.has_none_staged())
    }

    /// Whether the owner has no fibre that only it knows of. The owner only.
    pub(super) fn has_none_local(&self) -> bool {
        self.local.iter().all(crate::queue::Fifo::is_empty) && !self.has_next()
    }
}
