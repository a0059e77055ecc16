//! What tests of the switch ask of 64-bit x86.

use std::arch::{asm, naked_asm};

/// Calls `f(data)` with all registers filled that a function keeps for its caller, and returns how
/// many of them it has changed.
#[unsafe(naked)]
pub(in crate::stack) unsafe extern "C" fn changed_by(
    data: *mut (),
    f: unsafe extern "C" fn(*mut ()),
    seed: usize,
) -> usize {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdx",
        "mov rax, rsi",
        "lea rbx, [rdx + 1]",
        "lea rbp, [rdx + 2]",
        "lea r12, [rdx + 3]",
        "lea r13, [rdx + 4]",
        "lea r14, [rdx + 5]",
        "lea r15, [rdx + 6]",
        "call rax",
        "pop rdx",
        // Each of them is its number now, if nothing has changed it.
        "sub rbx, rdx",
        "sub rbp, rdx",
        "sub r12, rdx",
        "sub r13, rdx",
        "sub r14, rdx",
        "sub r15, rdx",
        "xor eax, eax",
        "xor ecx, ecx",
        "cmp rbx, 1",
        "setne cl",
        "add eax, ecx",
        "cmp rbp, 2",
        "setne cl",
        "add eax, ecx",
        "cmp r12, 3",
        "setne cl",
        "add eax, ecx",
        "cmp r13, 4",
        "setne cl",
        "add eax, ecx",
        "cmp r14, 5",
        "setne cl",
        "add eax, ecx",
        "cmp r15, 6",
        "setne cl",
        "add eax, ecx",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Writes zeros to 16 bytes, by an instruction that faults unless these are aligned.
///
/// # Safety
///
/// The bytes are the caller's.
pub(in crate::stack) unsafe fn clear_aligned(place: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!("xorps xmm0, xmm0", "movaps [{place}], xmm0", place = in(reg) place, out("xmm0") _);
    }
}
