//! Turns with locks, and handing the processor on with a lock.
//!
//! A lock that its holders keep for long does best if a holder hands it on in place: the next one
//! runs at once, with everything in this processor's caches, and no time passes between the two.
//! That is worth it only where a turn takes much longer than a switch, so turns are measured.

use super::suspend::{Resume, give_way};
use crate::processor::{Processor, Turn};
use crate::stack::context::Action;

/// Notes that the calling fibre has just got this lock, for which it waited, and whose turns are
/// known to be `long` or not. Does nothing for other callers.
pub fn begin_turn<T>(lock: &T, long: bool) {
    Processor::here(|here| here.lock_turn.begin(lock, long));
}

/// The caller's turn with this lock, which ends. `None`: it was not measured.
#[must_use]
pub fn end_turn<T>(lock: &T) -> Option<Turn> {
    Processor::here(|here| here.lock_turn.end(lock)).flatten()
}

/// Lets the fibre of `resume` run next on this processor, after `turn`, and queues the caller
/// behind the others. Like [`switch_to`](super::switch_to) otherwise.
pub fn give_way_to(resume: Resume, turn: Turn) {
    give_way(resume, |here, successor| {
        here.lock_turn.hand_on(turn);
        here.succeed_by(successor);
        Action::Yield
    });
}
