//! The System V ABI of x86-64.
//!
//! ```text
//!   Switch                        the stack of the flow that has left
//!  ┌────────────────────────┐     │ frames …       │
//!  │ fibre       pointer ───┼──┐  ├────────────────┤
//!  │             code       │  │  │ RBP            │
//!  │ processor   pointer    │  │  │ RBX            │
//!  │             code       │  └─►└────────────────┘
//!  └────────────────────────┘
//! ```
//!
//! * **Registers.** RBX and RBP cannot be named as destroyed, as LLVM keeps them for itself in some
//!   functions. So they are pushed.
//! * **The stack** may be pushed to, as the code does not say `nostack`: the compiler then keeps
//!   nothing in the red zone below the stack pointer.
//! * **Flags.** The direction flag is clear on both sides, as the ABI wants it at each call. MXCSR
//!   and the control word of the x87 are not switched.
//! * **Shadow stacks** (CET) hold return addresses for the CPU to compare. They are not switched,
//!   so no fibre could return with them. The C library enables them only for programs with all
//!   parts marked for it, and objects with this code are not.
//! * **Order.** This CPU stores in program order, so the word with the pointer comes last.

use crate::stack::switch::{RawEntry, Switch};
use std::arch::{asm, naked_asm};

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
                "push rbp",
                "push rbx",
                "lea rax, [rip + 2f]",
                "mov [rdi + {return_code}], rax",
                "mov [rdi + {return_pointer}], rsp",
                "mov rsp, [rdi + {pointer}]",
                "mov qword ptr [rdi + {pointer}], 0",
                "jmp [rdi + {code}]",
                "2:",
                "pop rbx",
                "pop rbp",
                pointer = const Self::POINTER,
                code = const Self::CODE,
                return_pointer = const Self::RETURN_POINTER,
                return_code = const Self::RETURN_CODE,
                inlateout("rdi") this => _,
                lateout("esi") handed,
                lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
                clobber_abi("sysv64"),
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
                "push rbp",
                "push rbx",
                "lea rax, [rip + 2f]",
                "mov [rdi + {code}], rax",
                "mov [rdi + {pointer}], rsp",
                "mov rsp, [rdi + {return_pointer}]",
                "jmp [rdi + {return_code}]",
                "2:",
                "pop rbx",
                "pop rbp",
                pointer = const Self::POINTER,
                code = const Self::CODE,
                return_pointer = const Self::RETURN_POINTER,
                return_code = const Self::RETURN_CODE,
                inlateout("rdi") this => next,
                inlateout("esi") handed => _,
                lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
                clobber_abi("sysv64"),
            );
        }
        next
    }
}

/// The bottom of a fibre's stack. [`Switch::resume`] jumps here when the fibre begins, with the
/// switch in RDI and the stack pointer at the argument.
#[unsafe(naked)]
pub(in crate::stack) unsafe extern "C" fn root<E: RawEntry>() {
    naked_asm!(
        ".cfi_startproc",
        // To an unwinder, this is where the stack ends.
        ".cfi_undefined rip",
        "mov rsi, [rsp]",
        // The same for those that follow frame pointers.
        "xor ebp, ebp",
        "call {first}",
        // The way out: as in `leave`, but that nobody comes back.
        "mov esi, {last}",
        "mov rsp, [rax + {return_pointer}]",
        "jmp [rax + {return_code}]",
        ".cfi_endproc",
        first = sym E::run,
        last = const E::LAST,
        return_pointer = const Switch::RETURN_POINTER,
        return_code = const Switch::RETURN_CODE,
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
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        // From here on the caller is found through RBP, wherever the stack pointer is.
        ".cfi_def_cfa_register rbp",
        "mov rsp, rsi",
        "call rdx",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        ".cfi_restore rbp",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(test)]
#[path = "x86_64_tests.rs"]
pub(in crate::stack) mod testing;
