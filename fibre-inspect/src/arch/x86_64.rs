//! 64-bit x86: its registers as unwind tables and the kernel count them, those of callers, its
//! clock, and its old system calls.

use gimli::{Register, X86_64};
use std::arch::asm;
use std::arch::x86_64::__cpuid;
use std::hint::black_box;

/// The register that a frame goes on at, as tables count it.
pub(crate) const CODE: Register = X86_64::RA;

/// The register that has the return address, as tables count it.
pub(crate) const RETURN: Register = X86_64::RA;

/// The stack pointer.
pub(crate) const STACK: Register = X86_64::RSP;

/// How many registers tables count: those up to the return address.
pub(crate) const REGISTERS: usize = 17;

/// The registers that a function keeps for its caller, and the return address.
pub(crate) const KEPT: [Register; 7] = [
    X86_64::RBX,
    X86_64::RBP,
    X86_64::R12,
    X86_64::R13,
    X86_64::R14,
    X86_64::R15,
    X86_64::RA,
];

/// The registers that a fibre pushes when it leaves its stack, from the stack pointer on.
pub(crate) const PUSHED: [Register; 2] = [X86_64::RBX, X86_64::RBP];

/// The registers that a thread is asked for, and where the kernel's context has them.
pub(crate) const SAMPLED: [(Register, i32); 9] = [
    (X86_64::RA, libc::REG_RIP),
    (X86_64::RSP, libc::REG_RSP),
    (X86_64::RBP, libc::REG_RBP),
    (X86_64::RBX, libc::REG_RBX),
    (X86_64::R10, libc::REG_R10),
    (X86_64::R12, libc::REG_R12),
    (X86_64::R13, libc::REG_R13),
    (X86_64::R14, libc::REG_R14),
    (X86_64::R15, libc::REG_R15),
];

/// One of these of an interrupted thread.
pub(crate) fn sampled(context: &libc::ucontext_t, place: i32) -> usize {
    context.uc_mcontext.gregs[place as usize] as usize
}

/// Where an interrupted thread goes on.
pub(crate) fn code_of(context: &libc::ucontext_t) -> usize {
    sampled(context, libc::REG_RIP)
}

/// The stack pointer of an interrupted thread.
pub(crate) fn stack_of(context: &libc::ucontext_t) -> usize {
    sampled(context, libc::REG_RSP)
}

/// A register's name.
pub(crate) fn register_name(register: Register) -> Option<&'static str> {
    X86_64::register_name(register)
}

/// A return address as tables know it: as it is.
pub(crate) fn plain_address(address: usize) -> usize {
    address
}

/// The calls that threads block in and that newer CPUs do not have.
pub(crate) const OLD_CALLS: [(i64, &str); 5] = [
    (libc::SYS_open, "open"),
    (libc::SYS_poll, "poll"),
    (libc::SYS_select, "select"),
    (libc::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_pause, "pause"),
];

/// Whether the time stamp counter goes on at one rate, whatever the CPU does.
pub(crate) fn has_steady_counter() -> bool {
    const POWER: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & 1 << 8 != 0
}

/// The registers that a function leaves to its caller as they were.
#[inline(always)]
fn callers_registers() -> [usize; 6] {
    let mut registers = [0; 6];
    // SAFETY: writes to the array only.
    unsafe {
        asm!(
            "mov [{registers}], rbx",
            "mov [{registers} + 8], rbp",
            "mov [{registers} + 16], r12",
            "mov [{registers} + 24], r13",
            "mov [{registers} + 32], r14",
            "mov [{registers} + 40], r15",
            registers = in(reg) registers.as_mut_ptr(),
            options(nostack, preserves_flags)
        );
    }
    registers
}

/// Calls `f` with an address on the stack: all that the caller has there lies above, also what it
/// has in registers. So what lies below is of `f` and of this function.
#[inline(never)]
pub(crate) fn above_callers_words<T>(f: fn(usize) -> T) -> T {
    // The function has pushed those that it uses itself: above its variables.
    let registers = black_box(callers_registers());
    let result = black_box(f)((&raw const registers).addr());
    black_box(&registers);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The caller's words, also those that it has in registers, lie above the address.
    #[test]
    fn what_callers_have_in_registers_lies_above() {
        fn finds(boundary: usize) -> [bool; 5] {
            let words = (boundary..boundary + 4096).step_by(8);
            [1, 2, 3, 4, 5].map(|number: usize| {
                let wanted = number * 0x1234_5678_9abc;
                // SAFETY: a test's stack has many more frames above.
                let word =
                    |at| unsafe { std::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
                words.clone().any(|at| word(at) == wanted)
            })
        }
        let found: usize;
        let call: extern "C" fn() -> usize = {
            extern "C" fn call() -> usize {
                let found = above_callers_words(finds);
                found.into_iter().filter(|found| *found).count()
            }
            call
        };
        let unit = 0x1234_5678_9abc_usize;
        // SAFETY: calls a function by its convention, with an aligned stack; RBX, which cannot be
        // named, is set back.
        unsafe {
            asm!(
                "push rbx",
                "sub rsp, 8",
                "mov rbx, {unit}",
                "mov r12, rbx",
                "add r12, rbx",
                "mov r13, r12",
                "add r13, rbx",
                "mov r14, r13",
                "add r14, rbx",
                "mov r15, r14",
                "add r15, rbx",
                "call rax",
                "add rsp, 8",
                "pop rbx",
                unit = in(reg) unit,
                inlateout("rax") call as *const () => found,
                out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                clobber_abi("C"),
            );
        }
        assert_eq!(found, 5);
    }
}
