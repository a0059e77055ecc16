//! What a lock does with its waiters: which one it prefers, and how that one goes on.
//!
//! If holders keep a lock for long, it does best when a holder hands it on in place: the next one
//! runs at once, with everything in this processor's caches, and no time passes between the two.
//! That pays only if a turn takes much longer than a switch, so turns are measured.

use super::suspend::give_way;
use super::wait::{Resume, Waiter};
use crate::fibre::ControlBlock;
use crate::processor::{Processor, Turn};
use crate::ready::ReadyQueue;
use crate::stack::context::Action;

/// Where a waiting fibre goes on, as seen by the caller that may wake it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affinity {
    /// On the caller's processor.
    Here,
    /// On a processor that has nothing to do.
    Idle,
}

impl Affinity {
    /// `Idle`, if another processor of the caller's cluster has nothing to do.
    #[inline]
    #[must_use]
    pub fn idle() -> Option<Self> {
        (Processor::here(Processor::others_idle) == Some(true)).then_some(Self::Idle)
    }

    /// Whether this fibre goes on there. `false` for a thread. Called under the lock that gives
    /// access to the waiter.
    #[inline]
    #[must_use]
    pub fn is_of(self, waiter: &Waiter) -> bool {
        let Some(fibre) = waiter.fibre() else {
            return false;
        };
        match self {
            Self::Here => Processor::here(|here| here.is_home_of(fibre)) == Some(true),
            Self::Idle => {
                // SAFETY: the fibre waits, as its waiter is in a list: so it is alive, and so is
                // its home.
                let home = unsafe { fibre.as_ref().home().as_ref() };
                home.is_some_and(ReadyQueue::is_idle)
            }
        }
    }
}

/// How a waiter that has been won goes on.
#[derive(Debug, Clone, Copy)]
pub enum WakeMode {
    /// Behind the fibres that are ready at its home.
    Last,
    /// Before them, as others wait for it. To be used seldom: a fibre that goes first again and
    /// again starves others.
    First,
    /// In place of the caller, which is queued before the others.
    InPlace,
    /// In place of the caller, which has had this turn and is queued behind the others.
    InPlaceAfter(Turn),
}

impl Resume {
    /// Resumes in this mode; merely resumes where the mode does not fit: a fibre that does not wait
    /// at home has no place before others, and one that may not run here, or finds a caller that
    /// may not leave its stack without harm, does not take the caller's place.
    ///
    /// Blocks nothing. `InPlace` and `InPlaceAfter` leave the stack, so a fibre with a published
    /// waiter must not use them.
    pub fn resume_by(self, mode: WakeMode) {
        match mode {
            WakeMode::Last => self.resume(),
            WakeMode::First => match self.successor(|_| true) {
                // SAFETY: the claim is ours, and used up.
                Ok(fibre) => unsafe { ControlBlock::wake_next(fibre) },
                Err(resume) => resume.resume(),
            },
            WakeMode::InPlace => give_way(self, Processor::change_places),
            WakeMode::InPlaceAfter(turn) => give_way(self, |here, successor| {
                here.lock_turn.hand_on(turn);
                here.succeed_by(successor);
                Action::Yield
            }),
        }
    }
}

impl Turn {
    /// Notes that the calling fibre has just got this lock, for which it waited, and whether its
    /// turns are known to be `long`. Does nothing for other callers.
    pub fn begin<T>(lock: &T, long: bool) {
        Processor::here(|here| here.lock_turn.begin(lock, long));
    }

    /// The caller's turn with this lock, which ends. `None`: it was not measured.
    #[must_use]
    pub fn end<T>(lock: &T) -> Option<Self> {
        Processor::here(|here| here.lock_turn.end(lock)).flatten()
    }
}
