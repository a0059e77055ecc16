//! The part of a ready queue for priorities and for started fibres that move.
//!
//! **Priorities.** Levels are looked at from high to low, and from low to high now and then
//! ([`Level::in_turn`]). The background is none of them: it is asked for separately.
//!
//! **Started fibres that move** go to their home's `shared` queue when they are ready, from
//! where anybody may take them, but for the youngest one that the owner itself has made
//! ready: that stays in `lone`. It is the partner of whoever runs now, who is about to block,
//! and being torn away would cost both a wake-up of another processor at each turn. When
//! there is a second one it makes place, so that fibres come out in the order they were made
//! ready. Idle processors are called by the owner, when it takes a fibre and leaves others
//! behind; so a push wakes nobody, unless the owner is *kept* by one fibre for long, as who watches it has found.
//!
//! As long as there is one processor, nobody can take any, and all is plain: started fibres are `local`. Those that wait at
//! home then do so as if they stayed, and whoever wakes them queues them where nobody steals.
//!
//! `lone` is emptied by read-modify-writes (acquire) and filled by the owner (release), so
//! that a thief that takes a fibre sees the stack that was left.

use super::ReadyQueue;
use crate::queue::{Level, Link, Popped};
use crate::sync::Ordering;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Pops by the owner after which a fibre in `lone` is no longer the last one.
const LONE_TURNS: u32 = 8;

impl ReadyQueue {
    /// Queues a started fibre that is at home at `home`, from `here`, the queue of this
    /// thread or null; `free`: it may move, if fibres do.
    ///
    /// # Safety
    ///
    /// As for [`push_woken`](Self::push_woken).
    #[inline(never)]
    pub(super) unsafe fn push_by_rules(
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
        let kin = !here.is_null() && unsafe { (*here).group == (*target).group };
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
                    queue.call_if_kept(here);
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
                Level::Normal if own => self.push_lone(node),
                _ => self.push_shared(node),
            }
        }
    }

    /// Says whether one fibre keeps the owner from what is queued here. Any thread.
    pub fn set_kept(&self, kept: bool) {
        if self.is_kept() != kept {
            self.kept.store(kept, Ordering::Relaxed);
        }
    }

    /// Whether somebody has said so; a hint.
    pub fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Calls a thief for what has been queued here, if the owner will be long in coming; unless the caller, whose queue `here` is, is
    /// about to look for work itself.
    ///
    /// # Safety
    ///
    /// `here` is the queue of this thread, or null.
    unsafe fn call_if_kept(&self, here: *const Self) {
        // SAFETY: the caller's promise.
        let here = unsafe { here.as_ref() };
        let looks = || here.is_some_and(|here| here.group == self.group && here.is_resting());
        if self.is_kept() && !looks() {
            self.commons.wake_one(self.index);
        }
    }

    /// Makes a fibre the one that thieves leave alone, instead of the one before. The owner
    /// only.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    unsafe fn push_lone(&self, node: NonNull<Link>) {
        self.lone_since.set(self.turn.get());
        if self.lone.load(Ordering::Relaxed).is_null() {
            // Only the owner fills it.
            self.lone.store(node.as_ptr(), Ordering::Release);
            return;
        }
        let before = self.lone.swap(node.as_ptr(), Ordering::AcqRel);
        if let Some(before) = NonNull::new(before) {
            // SAFETY: taken out of its place, hence ours.
            unsafe { self.push_shared(before) };
        }
    }

    /// Takes the fibre that thieves leave alone. Any thread.
    pub fn take_lone(&self) -> Option<NonNull<Link>> {
        if self.lone.load(Ordering::Relaxed).is_null() {
            return None;
        }
        NonNull::new(self.lone.swap(ptr::null_mut(), Ordering::AcqRel))
    }

    /// Whether there is one that thieves leave alone at this moment.
    pub fn has_lone(&self) -> bool {
        !self.lone.load(Ordering::Relaxed).is_null()
    }

    /// Lets thieves have it after all, and calls one. The owner only.
    pub fn offer_lone(&self) {
        if self.rules.moves_started
            && self.commons.idle.is_any()
            && let Some(node) = self.take_lone()
        {
            // SAFETY: just taken out.
            unsafe { self.push_shared(node) };
            self.commons.wake_one(self.index);
        }
    }

    /// The part of [`pop`](Self::pop) for everything that is not plain. The owner only.
    #[inline(never)]
    pub(super) fn pop_by_rules(&self) -> Option<NonNull<Link>> {
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
        let lone = || (level == Level::Normal).then(|| self.take_lone()).flatten();
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
        // It is the youngest, but not for ever.
        if turn.wrapping_sub(self.lone_since.get()) >= LONE_TURNS
            && let Some(node) = lone()
        {
            return Some(node);
        }
        // Parity alone would be the same at each 64th turn, when the lowest level leads.
        if (turn ^ turn >> 6) % 2 == 1 {
            local().or_else(shared).or_else(lone)
        } else {
            shared().or_else(local).or_else(lone)
        }
    }

    /// Takes a started fibre of the background. The owner only.
    pub fn pop_background(&self) -> Option<NonNull<Link>> {
        self.local[Level::Background as usize].pop()
    }

    /// The part of [`is_empty`](Self::is_empty) for everything that is not plain.
    #[inline(never)]
    pub(super) fn is_empty_by_rules(&self) -> bool {
        self.local[Level::High as usize].is_empty()
            && self.local[Level::Low as usize].is_empty()
            && self.shared.is_empty()
            && !self.has_lone()
            && (!self.rules.sharing || self.commons.has_none_staged())
    }

    /// Whether the owner has nothing that only it knows of. The owner only.
    pub(super) fn has_none_local(&self) -> bool {
        self.local.iter().all(super::Fifo::is_empty) && !self.has_lone()
    }
}
