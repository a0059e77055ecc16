//! The procedure call standard of 64-bit ARM (AAPCS64).
//!
//! ```text
//!   Switch                        the stack of the flow that has left
//!  ┌────────────────────────┐     │ frames …       │
//!  │ fibre       pointer ───┼──┐  ├────────────────┤
//!  │             code       │  │  │ X29            │
//!  │ processor   pointer    │  │  │ X19            │
//!  │             code       │  └─►└────────────────┘
//!  └────────────────────────┘
//! ```
//!
//! * **Registers.** X19 and X29 cannot be named as destroyed, as LLVM keeps them for itself: the
//!   base and the frame pointer. So they are pushed. X20 to X28, the link register X30, and all of
//!   V8 to V15 are named. X18 is the platform's: on Linux a scratch register, which nobody keeps.
//! * **The stack** pointer is a multiple of 16 at each instruction. There is no red zone.
//! * **FPCR**, which has the mode of rounding, is not switched.
//! * **Branch targets** (BTI): where a switch arrives by `br`, there is a `bti j`, which older CPUs
//!   take for a hint that they do not know. So a program with these checks runs.
//! * **Signed return addresses** (PAC) are signed with the stack pointer. A fibre's frames stay
//!   where they are, so the addresses are right again when it goes on, on whatever kernel thread.
//! * **Guarded control stacks** (GCS) hold return addresses for the CPU to compare. They are not
//!   switched, and the C library enables them only for programs with all parts marked for them.
//! * **Order.** This CPU may let others see stores in any order, so `leave` stores the pointer with
//!   release, by `stlr`.

use crate::stack::switch::{RawEntry, Switch};
use std::arch::{asm, naked_asm};

// `stlr` has no room for a distance, and `ldp` and `stp` take words side by side.
const _: () = assert!(Switch::POINTER == 0 && Switch::CODE == 8);
const _: () = assert!(Switch::RETURN_CODE == Switch::RETURN_POINTER + 8);

impl Switch {
    /// Goes to the fibre. Returns what it hands over when it leaves its stack.
    ///
    /// # Safety
    ///
    /// The fibre does not run and has not ended, and no other thread resumes it. Whatever it does
    /// until it leaves is what the caller may do.
    #[inline(always)]
    pub(in crate::stack) unsafe fn resume(this: *const Self) -> u32 {
        let handed: u32;
        // SAFETY: where a fibre goes on, it finds its stack as it has left it, and so does this
        // flow: the fibre comes back through the same words. All registers count as destroyed.
        unsafe {
            asm!(
                // The two registers that cannot be named.
                "stp x19, x29, [sp, #-16]!",
                // Where this flow goes on: its stack pointer, and the address of `2`.
                "adr x10, 2f",
                "mov x9, sp",
                "stp x9, x10, [x0, {return_pointer}]",
                // Where the fibre goes on.
                "ldp x9, x10, [x0, {pointer}]",
                // It runs.
                "str xzr, [x0, {pointer}]",
                "mov sp, x9",
                "br x10",
                // The fibre has left, with the number in W1.
                "2:",
                "hint #36", // bti j
                "ldp x19, x29, [sp], #16",
                pointer = const Self::POINTER,
                return_pointer = const Self::RETURN_POINTER,
                inlateout("x0") this => _,
                lateout("w1") handed,
                lateout("x20") _, lateout("x21") _, lateout("x22") _, lateout("x23") _,
                lateout("x24") _, lateout("x25") _, lateout("x26") _, lateout("x27") _,
                lateout("x28") _,
                clobber_abi("C"),
            );
        }
        handed
    }

    /// Leaves the fibre's stack: hands `handed` to the processor. Returns when a processor resumes
    /// it, and returns the switch that did.
    ///
    /// # Safety
    ///
    /// Called by the fibre, with the switch that has resumed it.
    #[inline(always)]
    pub(in crate::stack) unsafe fn leave(this: *const Self, handed: u32) -> *const Self {
        let next: *const Self;
        // SAFETY: the processor waits in `resume`. The fibre may go on on another kernel thread,
        // which is no concern of these instructions; all registers count as destroyed.
        unsafe {
            asm!(
                // The two registers that cannot be named.
                "stp x19, x29, [sp, #-16]!",
                // Where the fibre goes on: first the address of `2`, and then its stack pointer.
                "adr x10, 2f",
                "str x10, [x0, {code}]",
                "mov x9, sp",
                "stlr x9, [x0]",
                // Where the processor goes on.
                "ldp x9, x10, [x0, {return_pointer}]",
                "mov sp, x9",
                "br x10",
                // A processor has resumed the fibre, with its switch in X0.
                "2:",
                "hint #36", // bti j
                "ldp x19, x29, [sp], #16",
                code = const Self::CODE,
                return_pointer = const Self::RETURN_POINTER,
                inlateout("x0") this => next,
                inlateout("w1") handed => _,
                lateout("x20") _, lateout("x21") _, lateout("x22") _, lateout("x23") _,
                lateout("x24") _, lateout("x25") _, lateout("x26") _, lateout("x27") _,
                lateout("x28") _,
                clobber_abi("C"),
            );
        }
        next
    }
}

/// The bottom of a fibre's stack. [`Switch::resume`] jumps here when the fibre begins, with the
/// switch in X0 and the stack pointer at the argument.
#[unsafe(naked)]
pub(in crate::stack) unsafe extern "C" fn root<E: RawEntry>() {
    naked_asm!(
        ".cfi_startproc",
        // To an unwinder, this is where the stack ends.
        ".cfi_undefined x30",
        "hint #36", // bti j
        // The argument.
        "ldr x1, [sp]",
        // The same for those that follow frame pointers.
        "mov x29, xzr",
        "bl {first}",
        // The way out: as in `leave`, but that nobody comes back.
        "mov w1, {last}",
        "ldp x9, x10, [x0, {return_pointer}]",
        "mov sp, x9",
        "br x10",
        ".cfi_endproc",
        first = sym E::run,
        last = const E::LAST,
        return_pointer = const Switch::RETURN_POINTER,
    )
}

/// Calls `f(argument)` with the stack pointer at `top`, and comes back to the caller's stack.
///
/// # Safety
///
/// `top` is a multiple of 16, and ends an empty stack. `f` may be called so, and does not unwind.
#[unsafe(naked)]
pub(in crate::stack) unsafe extern "C" fn call_at(
    argument: *mut (),
    top: usize,
    f: unsafe extern "C" fn(*mut ()),
) {
    naked_asm!(
        ".cfi_startproc",
        // Debuggers take a caller that lies lower than the called for a broken stack, unless a
        // signal came in between, which may change stacks.
        ".cfi_signal_frame",
        "hint #34", // bti c
        // A frame record, as any function's.
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        // From here on the caller is found through X29, wherever the stack pointer is.
        ".cfi_def_cfa_register x29",
        "mov sp, x1",
        // The argument is in X0.
        "blr x2",
        // Back to the caller's stack.
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(test)]
#[path = "aarch64_tests.rs"]
pub(in crate::stack) mod testing;
