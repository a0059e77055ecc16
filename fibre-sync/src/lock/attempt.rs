//! Trying for a moment before blocking.
//!
//! Blocking and being woken costs some hundred nanoseconds, and more if a processor goes to sleep.
//! So a caller that finds a lock taken tries for about that long. It looks again after pauses that
//! get longer, since each look takes the lock's cache line from the holder. If its processor has
//! other fibres to run, the caller lets those go first instead of trying for long: a fibre that
//! yields stays ready and needs no waker.
//!
//! If turns are very long ([`Turns`]), yielding would only keep the caller out of the list, where
//! the unlocker looks for the next holder.
//!
//! A caller stays away from a hot lock ([`heat`](super::heat)) for a slice, if its processor has
//! nothing else to do; otherwise it blocks.

use super::heat::Turns;
use super::word::LockWord;
use fibre_core::internal::{may_spin, may_spin_briefly};
use fibre_core::{Limit, in_fibre, yield_now};
use std::time::{Duration, Instant};

/// The last and longest pause between two looks, in `spin_loop` hints. Each pause is twice the one
/// before.
const LONGEST_PAUSE: u32 = 8;

/// The longest pause for a fibre if its processor has nothing else to do, and would go to sleep.
const LONGEST_IDLE_PAUSE: u32 = 64;

/// The longest pause of a spin that counts as short: the lock's turns are short, too.
const LONGEST_SHORT_PAUSE: u32 = 4;

/// How often a fibre yields before it blocks.
const YIELDS: u32 = 2;

/// How long a caller stays away from a hot lock. About as long as the slice of a fibre that takes
/// it again and again.
const AWAY: Duration = Duration::from_micros(20);

/// How many hints lie between two looks for other work.
const GLANCE: u32 = 16;

/// How often a caller comes back to a hot lock before it blocks.
const RETURNS: u32 = 4;

/// Waits for a moment until `take` succeeds in taking the lock; `take` is called when the lock is
/// free. A caller with a limit does not yield, and comes back only once.
pub(super) fn attempt(word: &LockWord, limit: Limit, take: impl Fn() -> bool) -> bool {
    if !may_spin_briefly() {
        return false;
    }
    let patient = limit == Limit::None;
    let taken = || !word.is_held() && take();
    let success = if word.heat().is_hot() {
        let returns = if patient { RETURNS } else { 1 };
        let success = (0..returns).any(|_| stay_away() && taken());
        success.then_some(true)
    } else {
        let yields = match word.heat().turns() {
            Turns::Short | Turns::Long if patient && in_fibre() => YIELDS,
            _ => 0,
        };
        try_and_yield(yields, taken)
    };
    if let Some(short) = success {
        word.heat().note(short);
    }
    success.is_some()
}

/// Tries for a moment, and again after each of so many yields. Returns whether the spin was short,
/// if it succeeded.
pub(crate) fn try_and_yield(yields: u32, taken: impl Fn() -> bool) -> Option<bool> {
    for _ in 0..yields {
        let success = spin(&taken);
        if success.is_some() || may_spin() {
            return success;
        }
        yield_now();
    }
    spin(taken)
}

/// Looks again and again for a moment. Returns whether that was short, if it succeeded.
fn spin(taken: impl Fn() -> bool) -> Option<bool> {
    let mut pause = 1;
    while pause <= LONGEST_PAUSE || pause <= LONGEST_IDLE_PAUSE && may_spin() {
        rest(pause);
        if taken() {
            return Some(pause <= LONGEST_SHORT_PAUSE);
        }
        pause *= 2;
    }
    None
}

/// Leaves a hot lock alone. Returns `false` if the processor has other work.
fn stay_away() -> bool {
    let since = Instant::now();
    while since.elapsed() < AWAY {
        rest(GLANCE);
        if !may_spin() {
            return false;
        }
    }
    true
}

/// Pauses for so many hints.
fn rest(hints: u32) {
    (0..hints).for_each(|_| std::hint::spin_loop());
}
