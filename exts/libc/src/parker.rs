//! The word that std parks a thread by (`std::thread::park`).
//!
//! It lies in the kernel thread's `Thread`, so all fibres of a processor have the same one. If two
//! of them waited for it, they would take each other's tokens. So a wait for it is the thread's, as
//! it is without this crate. Channels of std (`mpsc`) and scopes of threads wait like that.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};

/// How many bytes behind the beginning of a `Thread`'s allocation the word may lie. The allocation
/// has two counts, a name, a number and the word. [`install`](crate::install) checks that.
const ROOM: usize = 64;

/// How many bytes behind that beginning it lies; not known before a check has found it.
static PLACE: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Notes where the word lies: the caller's thread has waited for this one. Returns `false` if that
/// cannot be.
pub(crate) fn find(word: usize) -> bool {
    let place = word.wrapping_sub(start());
    PLACE.store(place, Ordering::Relaxed);
    place < ROOM
}

/// Whether this is the word of the thread that the caller runs on.
pub(crate) fn is_of_this_thread(word: usize) -> bool {
    word.wrapping_sub(start()) == PLACE.load(Ordering::Relaxed)
}

/// Where the allocation of the calling thread's `Thread` begins.
fn start() -> usize {
    const { assert!(size_of::<Thread>() == size_of::<usize>()) };
    let this = thread::current();
    // SAFETY: it is one word, as has been asserted: a pointer to what clones of it share.
    unsafe { mem::transmute_copy::<Thread, usize>(&this) }
}
