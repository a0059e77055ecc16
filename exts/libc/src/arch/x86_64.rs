//! 64-bit x86: where the calling thread's memory lies.

use fibre_core::internal::thread_pointer;

/// Words of a context that C goes back to (`__jmp_buf`).
#[cfg(not(target_feature = "crt-static"))]
pub(crate) const CONTEXT_WORDS: usize = 8;

/// Words of a call's arguments that come in registers.
#[cfg(not(target_feature = "crt-static"))]
pub(crate) const WORDS_IN_REGISTERS: usize = 6;

/// Defines the C function `name`, which takes a list of any length: `function` gets the address of
/// the words that came in registers, and that of those on the stack.
#[cfg(not(target_feature = "crt-static"))]
macro_rules! takes_list {
    ($name:ident => $function:path) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() -> c_int {
            std::arch::naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "mov rdi, rsp",
                // Behind these six words, and the address to return to.
                "lea rsi, [rsp + 56]",
                // The stack of a call is a multiple of 16 bytes.
                "sub rsp, 8",
                "call {function}",
                "add rsp, 56",
                "ret",
                function = sym $function,
            )
        }
    };
}
#[cfg(not(target_feature = "crt-static"))]
pub(crate) use takes_list;

/// How far a thread's memory reaches from its pointer, if it begins here: downwards.
pub(crate) fn reach(begin: usize, _length: usize) -> usize {
    thread_pointer().wrapping_sub(begin)
}

/// How far a word of the calling thread's lies from its pointer; more than any reach for others.
#[inline(always)]
pub(crate) fn distance(word: usize) -> usize {
    thread_pointer().wrapping_sub(word)
}
