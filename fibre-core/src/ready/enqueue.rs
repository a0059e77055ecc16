//! The part of a ready queue that handles priorities and started fibres that move.
//!
//! **Priorities.** Levels are looked at from high to low, and from low to high now and then
//! ([`Level::in_turn`]). The background is not one of them; it has a look of its own.
//!
//! **Started fibres that move** go to their home's `shared` queue when they are ready; any
//! processor may take them from there. The exception is the youngest one that the owner itself has
//! made ready: it stays in `next`. It is the partner of the fibre that runs now and is about to
//! block. Tearing the two apart would cost a wake-up of another processor at each turn. When there
//! is a second such fibre the first makes room, so that fibres come out in the order they were made
//! ready. The owner calls idle processors when it takes a fibre and leaves others behind. So a push
//! wakes nobody, unless the owner's watcher has found it *stuck*: kept by one fibre for long.
//!
//! While a cluster has one processor, nobody steals, and everything is plain: started fibres are
//! `local`. A fibre that waits at home then waits as if it never moved. Its waker puts it into a
//! queue that nobody steals from.
//!
//! `next` is a [`SharedSlot`](crate::queue::SharedSlot), which the owner fills.

use super::queue::{Identify, Owner, ReadyQueue};
use crate::queue::{Level, Runnable};
use crate::sync::Ordering;
use crate::trace::{self, TraceKind};
use std::ptr;
use std::sync::Arc;

/// Pops by the owner before a fibre in `next` is no longer the last one.
const NEXT_TURNS: u32 = 8;

impl ReadyQueue {
    /// Queues a started fibre that is at home at `home`, from `here`, the queue of this thread or
    /// null; `free`: the fibre may move, if fibres do.
    ///
    /// # Safety
    ///
    /// As for [`push_woken`](Self::push_woken); and `here` is the queue of this thread, or null.
    #[inline(never)]
    pub(super) unsafe fn push_slow(
        here: *const Self,
        home: *const Self,
        runnable: Runnable,
        free: bool,
    ) {
        // SAFETY: passed on.
        unsafe { Self::enqueue(here, home, runnable, free) };
    }

    /// [`push_slow`](Self::push_slow) for a fibre that has been woken, which is recorded.
    ///
    /// # Safety
    ///
    /// As for [`push_slow`](Self::push_slow).
    #[inline(never)]
    pub(super) unsafe fn push_woken_slow(
        here: *const Self,
        home: *const Self,
        runnable: Runnable,
        free: bool,
        id: Identify,
    ) {
        if trace::is_on() {
            // SAFETY: the queue of this thread, or null.
            Self::record_ready(unsafe { here.as_ref() }, TraceKind::Ready, id(&runnable));
        }
        // SAFETY: passed on.
        unsafe { Self::enqueue(here, home, runnable, free) };
    }

    /// The body of both.
    ///
    /// # Safety
    ///
    /// As for [`push_slow`](Self::push_slow).
    #[inline(always)]
    unsafe fn enqueue(here: *const Self, home: *const Self, runnable: Runnable, free: bool) {
        // SAFETY: the home of a fibre in our hands is alive, and so is the queue of this thread.
        let (here, home) = unsafe { (here.as_ref(), &*home) };
        // SAFETY: as it is of this thread.
        let owner = here.map(|here| unsafe { here.as_owner() });
        let moves = free && home.rules.moves_started && runnable.link().may_move();
        let forward = home.forward.load(Ordering::Relaxed).cast_const();
        let forced = moves && !forward.is_null();
        // SAFETY: a queue of the same group, which is alive as long as `home`.
        let target = if forced { unsafe { &*forward } } else { home };
        let owner = owner.filter(|owner| ptr::eq::<Self>(&**owner, target));
        if let Some(owner) = owner.filter(|_| !moves) {
            return owner.push_local(runnable);
        }
        let kin = here.is_some_and(|here| here.is_kin(target));
        let guest = (!kin).then(|| {
            let target = ptr::from_ref(target);
            // SAFETY: `target` comes from an `Arc` with one reference.
            unsafe {
                Arc::increment_strong_count(target);
                Arc::from_raw(target)
            }
        });
        if !moves || forced {
            target.push_inbox(runnable);
        } else {
            target.push_moving(runnable, owner);
            target.call_if_stuck(here);
        }
        drop(guest);
    }

    /// Queues a started fibre that may move; `owner`: the same queue, if this thread is the owner.
    fn push_moving(&self, runnable: Runnable, owner: Option<Owner<'_>>) {
        match (runnable.link().level(), owner) {
            (Level::Background, _) => self.shared_queues.push_background(runnable),
            _ if self.rules.sharing => self.shared_queues.stage(runnable),
            (Level::Normal, Some(owner)) => owner.fill_next(runnable),
            _ => self.push_shared(runnable),
        }
    }

    /// Notes whether one fibre keeps the owner from what is queued here. Any thread.
    pub(crate) fn set_stuck(&self, stuck: bool) {
        if self.is_stuck() != stuck {
            self.stuck.store(stuck, Ordering::Relaxed);
        }
    }

    /// Whether the owner is noted as stuck; a hint.
    pub(crate) fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Calls a thief for what has been queued here, if the owner will be long in coming; unless the
    /// caller, with the queue `here`, is about to look for work itself.
    fn call_if_stuck(&self, here: Option<&Self>) {
        let looks = || here.is_some_and(|here| here.is_kin(self) && here.is_idle());
        if self.is_stuck() && !looks() {
            self.shared_queues.wake_one(self.index);
        }
    }

    /// Takes the fibre that thieves leave alone. Any thread.
    pub(crate) fn take_next(&self) -> Option<Runnable> {
        self.next.take()
    }

    /// Whether `next` holds a fibre at this moment.
    pub(crate) fn has_next(&self) -> bool {
        self.next.is_filled()
    }
}

impl Owner<'_> {
    /// Makes a fibre the one that thieves leave alone, in place of the one before.
    pub(crate) fn fill_next(self, runnable: Runnable) {
        self.next_since.set(self.turn.get());
        if let Some(before) = self.next.fill(runnable) {
            self.push_shared(before);
        }
    }

    /// Lets thieves have the fibre in `next` after all, and calls one.
    pub(crate) fn offer_next(self) {
        if self.rules.moves_started
            && self.shared_queues.idle.is_any()
            && let Some(runnable) = self.take_next()
        {
            self.push_shared(runnable);
            self.shared_queues.wake_one(self.index);
        }
    }

    /// The part of [`pop`](Self::pop) for all that is not plain.
    #[inline(never)]
    pub(super) fn pop_slow(self) -> Option<Runnable> {
        self.gate.pass();
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        let levels = Level::in_turn(turn);
        let runnable = levels
            .into_iter()
            .find_map(|level| self.pop_level(level, turn))?;
        self.call_for_shared();
        Some(runnable)
    }

    /// [`pop`](Self::pop) before a fibre of this level is queued that has just run: what comes
    /// before that one. `None`: that one does; then the next pop is the same level's turn.
    ///
    /// # Safety
    ///
    /// As for [`pop`](Self::pop).
    pub(crate) unsafe fn pop_before(self, last: Level) -> Option<Runnable> {
        if !self.inbox.is_empty() {
            self.empty_inbox();
        }
        self.gate.pass();
        let turn = self.turn.get().wrapping_add(1);
        for level in Level::in_turn(turn) {
            if let Some(runnable) = self.pop_level(level, turn) {
                self.turn.set(turn);
                self.call_for_shared();
                return Some(runnable);
            }
            if level == last {
                break;
            }
        }
        None
    }

    /// Wakes an idle processor for what any may run, if there is both.
    pub(crate) fn call_for_shared(self) {
        if self.rules.moves_started && self.has_shared() && self.shared_queues.idle.is_any() {
            self.shared_queues.wake_one(self.index);
        }
    }

    /// Takes the next fibre of a level.
    fn pop_level(self, level: Level, turn: u32) -> Option<Runnable> {
        let next = || (level == Level::Normal).then(|| self.take_next()).flatten();
        let local = || self.local[level as usize].pop();
        let shared = || {
            let runnable = self.pop_shared(level)?;
            if !self.rules.moves_started {
                self.count_shared_turn();
            }
            Some(runnable)
        };
        // The youngest goes last, but not for ever.
        if turn.wrapping_sub(self.next_since.get()) >= NEXT_TURNS
            && let Some(runnable) = next()
        {
            return Some(runnable);
        }
        // Parity alone would be the same at each 64th turn, when the lowest level leads.
        if (turn ^ turn >> 6) % 2 == 1 {
            local().or_else(shared).or_else(next)
        } else {
            shared().or_else(local).or_else(next)
        }
    }

    /// Takes a started fibre of the background.
    ///
    /// # Safety
    ///
    /// As for [`pop`](Self::pop), and the owner has passed the gate since it ran a fibre.
    pub(crate) unsafe fn pop_background(self) -> Option<Runnable> {
        self.local[Level::Background as usize].pop()
    }

    /// The part of [`is_empty`](Self::is_empty) for all that is not plain.
    #[inline(never)]
    pub(super) fn is_empty_slow(self) -> bool {
        self.local[Level::High as usize].is_empty()
            && self.local[Level::Low as usize].is_empty()
            && self.shared.is_empty()
            && !self.has_next()
            && (!self.rules.sharing || self.shared_queues.has_none_staged())
    }

    /// Whether the owner has no fibre that only it knows of.
    pub(super) fn has_none_local(self) -> bool {
        self.local.iter().all(crate::queue::Fifo::is_empty) && !self.has_next()
    }
}
