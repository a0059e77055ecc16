//! 64-bit x86: the calling thread's pointer.

use std::arch::asm;

/// The address in the calling thread's register.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the thread's register leads to a word that has its address.
    unsafe {
        asm!(
            // The first word at the pointer is its own address.
            "mov {pointer}, qword ptr fs:[0]",
            pointer = out(reg) pointer,
            options(nostack, preserves_flags, readonly),
        );
    }
    pointer
}
