//! Trying for a moment, before one blocks.
//!
//! To block and be woken costs some hundred nanoseconds, and more if a processor goes to sleep; so
//! who finds a lock taken tries for about as long: it looks again after pauses that get longer, since each
//! look takes the lock's cache line from the holder. Whose processor has other fibres to run lets those go
//! first, instead of trying for long: a fibre that yields stays ready and needs nobody to wake it.
//!
//! A hot lock ([`heat`](super::heat)) is let alone for as long as a slice, if the processor has nothing else to
//! do; otherwise the fibre blocks.

use super::word::LockWord;
use fibre_core::{Limit, in_fibre, may_spin, may_spin_briefly, yield_now};
use std::time::{Duration, Instant};

/// The last of the pauses between two looks, each twice the one before, in `spin_loop` hints.
const LONGEST_PAUSE: u32 = 8;

/// The same for one whose processor has nothing else to do, and would go to sleep.
const LONGEST_IDLE_PAUSE: u32 = 64;

/// The longest pause after which a spin was short: the lock's turns are.
const LONGEST_SHORT_PAUSE: u32 = 4;

/// How often one lets others run before one blocks.
const YIELDS: u32 = 2;

/// How long one stays away from a hot lock. About as long as the slice of a fibre that holds it again and
/// again.
const AWAY: Duration = Duration::from_micros(20);

/// Hints between two looks for something else to do.
const GLANCE: u32 = 16;

/// How often one comes back to a hot lock before one blocks.
const RETURNS: u32 = 4;

/// Waits for a moment until `take` succeeds in taking the lock, which is tried when it is free. Who has
/// a limit does not yield, and comes back once only.
pub fn attempt(word: &LockWord, limit: Limit, take: impl Fn() -> bool) -> bool {
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
        let yields = if patient && in_fibre() { YIELDS } else { 0 };
        try_and_yield(yields, taken)
    };
    if let Some(short) = success {
        word.heat().note(short);
    }
    success.is_some()
}

/// Tries for a moment, and again after each of so many yields. Whether it was short, if it succeeded.
fn try_and_yield(yields: u32, taken: impl Fn() -> bool) -> Option<bool> {
    for _ in 0..yields {
        let success = spin(&taken);
        if success.is_some() || may_spin() {
            return success;
        }
        yield_now();
    }
    spin(taken)
}

/// Looks again and again for a moment. Whether that was short, if it succeeded.
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

/// Lets a hot lock alone; `false`: there is something else to do.
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

/// Does nothing for so many hints.
fn rest(hints: u32) {
    (0..hints).for_each(|_| std::hint::spin_loop());
}
