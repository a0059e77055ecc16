//! Trying for a moment, before one blocks.
//!
//! To block and be woken costs some hundred nanoseconds, and more if a processor goes to sleep; so
//! who finds a lock taken tries for about as long. That pays if the lock is free for much of the time.
//!
//! It does harm to a *busy* lock, which its holder takes again as soon as it has given it back: each look
//! takes the lock's cache line from the holder, and if it succeeds, two processors pass lock and data to
//! and fro at each turn, which is many times slower than one of them alone. The lock counts its
//! unlocks; so who tries sees how often it was given back meanwhile. If that was more than once, it
//! stays away for as long as a slice, if its processor has nothing else to do, and blocks otherwise.

use super::word::LockWord;
use fibre_core::{may_spin, may_spin_briefly};

/// The last of the pauses between two looks, each twice the one before, in `spin_loop` hints.
const LONGEST_PAUSE: u32 = 8;

/// A lock is busy that was given back so often while somebody tried.
const BUSY: u32 = 2;

/// How long one stays away from a busy lock, in `spin_loop` hints, and between two looks for
/// something else to do.
const AWAY: u32 = 256;
const GLANCE: u32 = 16;

/// How often one comes back to a busy lock before one blocks.
const RETURNS: u32 = 4;

/// Waits for a moment until `take` succeeds in taking the lock, which is tried when it is free.
pub fn attempt(word: &LockWord, take: impl Fn() -> bool) -> bool {
    if !may_spin_briefly() {
        return false;
    }
    let before = word.unlocks();
    let mut pause = 1;
    while pause <= LONGEST_PAUSE {
        rest(pause);
        if !word.is_held() && take() {
            return true;
        }
        if word.unlocks().wrapping_sub(before) & 0x0fff_ffff >= BUSY {
            return (0..RETURNS).any(|_| stay_away() && !word.is_held() && take());
        }
        pause *= 2;
    }
    false
}

/// Lets a busy lock alone; `false`: there is something else to do.
fn stay_away() -> bool {
    (0..AWAY / GLANCE).all(|_| {
        rest(GLANCE);
        may_spin()
    })
}

/// Does nothing for so many hints.
fn rest(hints: u32) {
    (0..hints).for_each(|_| std::hint::spin_loop());
}
