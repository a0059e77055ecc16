//! 64-bit ARM: where the calling thread's memory lies.

use fibre_core::internal::thread_pointer;

/// Words of a context that C goes back to (`__jmp_buf`).
#[cfg(not(target_feature = "crt-static"))]
pub(crate) const CONTEXT_WORDS: usize = 22;

/// How far a thread's memory of so many bytes reaches from its pointer, if it begins here: upwards,
/// to its last byte.
pub(crate) fn reach(begin: usize, length: usize) -> usize {
    begin
        .wrapping_add(length)
        .wrapping_sub(thread_pointer())
        .wrapping_sub(1)
}

/// How far a word of the calling thread's lies from its pointer; more than any reach for others.
#[inline(always)]
pub(crate) fn distance(word: usize) -> usize {
    word.wrapping_sub(thread_pointer())
}
