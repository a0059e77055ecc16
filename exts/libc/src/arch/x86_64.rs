//! 64-bit x86: where the calling thread's memory lies.

use fibre_core::internal::thread_pointer;

/// Words of a context that C goes back to (`__jmp_buf`).
#[cfg(not(target_feature = "crt-static"))]
pub(crate) const CONTEXT_WORDS: usize = 8;

/// How far a thread's memory reaches from its pointer, if it begins here: downwards.
pub(crate) fn reach(begin: usize, _length: usize) -> usize {
    thread_pointer().wrapping_sub(begin)
}

/// How far a word of the calling thread's lies from its pointer; more than any reach for others.
#[inline(always)]
pub(crate) fn distance(word: usize) -> usize {
    thread_pointer().wrapping_sub(word)
}
