//! 64-bit ARM: where the calling thread's memory lies.

use fibre_core::internal::thread_pointer;

/// Words of a context that C goes back to (`__jmp_buf`).
#[cfg(not(target_feature = "crt-static"))]
pub(crate) const CONTEXT_WORDS: usize = 22;

/// Words of a call's arguments that come in registers.
#[cfg(not(target_feature = "crt-static"))]
pub(crate) const WORDS_IN_REGISTERS: usize = 8;

/// Defines the C function `name`, which takes a list of any length: `function` gets the address of
/// the words that came in registers, and that of those on the stack.
#[cfg(not(target_feature = "crt-static"))]
macro_rules! takes_list {
    ($name:ident => $function:path) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() -> c_int {
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "add x0, sp, #16",
                // Behind this frame.
                "add x1, sp, #80",
                "bl {function}",
                "ldp x29, x30, [sp], #80",
                "ret",
                function = sym $function,
            )
        }
    };
}
#[cfg(not(target_feature = "crt-static"))]
pub(crate) use takes_list;

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
