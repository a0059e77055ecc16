//! What tests of the switch ask of 64-bit ARM.

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
        "stp x29, x30, [sp, #-176]!",
        "stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "str x2, [sp, #160]",
        "add x19, x2, #1; add x20, x2, #2; add x21, x2, #3",
        "add x22, x2, #4; add x23, x2, #5; add x24, x2, #6",
        "add x25, x2, #7; add x26, x2, #8; add x27, x2, #9",
        "add x28, x2, #10",
        // The frame pointer stays one, and is compared with the stack pointer.
        "mov x29, sp",
        "fmov d8, x19; fmov d9, x20; fmov d10, x21",
        "fmov d11, x22; fmov d12, x23; fmov d13, x24",
        "fmov d14, x25; fmov d15, x26",
        "blr x1",
        "ldr x2, [sp, #160]",
        // Each of them is its number behind the seed, if nothing has changed it.
        "mov x0, xzr",
        "sub x19, x19, x2; cmp x19, #1; cinc x0, x0, ne",
        "sub x20, x20, x2; cmp x20, #2; cinc x0, x0, ne",
        "sub x21, x21, x2; cmp x21, #3; cinc x0, x0, ne",
        "sub x22, x22, x2; cmp x22, #4; cinc x0, x0, ne",
        "sub x23, x23, x2; cmp x23, #5; cinc x0, x0, ne",
        "sub x24, x24, x2; cmp x24, #6; cinc x0, x0, ne",
        "sub x25, x25, x2; cmp x25, #7; cinc x0, x0, ne",
        "sub x26, x26, x2; cmp x26, #8; cinc x0, x0, ne",
        "sub x27, x27, x2; cmp x27, #9; cinc x0, x0, ne",
        "sub x28, x28, x2; cmp x28, #10; cinc x0, x0, ne",
        "fmov x9, d8; sub x9, x9, x2; cmp x9, #1; cinc x0, x0, ne",
        "fmov x9, d9; sub x9, x9, x2; cmp x9, #2; cinc x0, x0, ne",
        "fmov x9, d10; sub x9, x9, x2; cmp x9, #3; cinc x0, x0, ne",
        "fmov x9, d11; sub x9, x9, x2; cmp x9, #4; cinc x0, x0, ne",
        "fmov x9, d12; sub x9, x9, x2; cmp x9, #5; cinc x0, x0, ne",
        "fmov x9, d13; sub x9, x9, x2; cmp x9, #6; cinc x0, x0, ne",
        "fmov x9, d14; sub x9, x9, x2; cmp x9, #7; cinc x0, x0, ne",
        "fmov x9, d15; sub x9, x9, x2; cmp x9, #8; cinc x0, x0, ne",
        "mov x9, sp; cmp x29, x9; cinc x0, x0, ne",
        "ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]",
        "ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "ldp x29, x30, [sp], #176",
        "ret",
    )
}

/// Writes zeros to 16 bytes. A stack pointer that is no multiple of 16 faults at any access, so
/// nothing special is needed here.
///
/// # Safety
///
/// The bytes are the caller's.
pub(in crate::stack) unsafe fn clear_aligned(place: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { asm!("stp xzr, xzr, [{place}]", place = in(reg) place) };
}
