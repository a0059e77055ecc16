//! 64-bit ARM: its registers as unwind tables and the kernel count them, those of callers, and
//! its clock.

use gimli::{AArch64, Register};
use std::arch::asm;
use std::hint::black_box;

/// The register that a frame goes on at, as tables count it. The link register has the same address
/// in a frame that has called, but not in one that was interrupted.
pub(crate) const CODE: Register = Register(32);

/// The register that has the return address, as tables count it.
pub(crate) const RETURN: Register = AArch64::X30;

/// The stack pointer.
pub(crate) const STACK: Register = AArch64::SP;

/// How many registers a walk knows: those up to the program counter.
pub(crate) const REGISTERS: usize = 33;

/// The registers that a function keeps for its caller, and the return address.
pub(crate) const KEPT: [Register; 12] = [
    AArch64::X19,
    AArch64::X20,
    AArch64::X21,
    AArch64::X22,
    AArch64::X23,
    AArch64::X24,
    AArch64::X25,
    AArch64::X26,
    AArch64::X27,
    AArch64::X28,
    AArch64::X29,
    AArch64::X30,
];

/// The registers that a fibre pushes when it leaves its stack, from the stack pointer on.
pub(crate) const PUSHED: [Register; 2] = [AArch64::X19, AArch64::X29];

/// Where [`sampled`] finds the stack pointer and the program counter: behind the numbered ones.
const STACK_PLACE: i32 = 31;
const CODE_PLACE: i32 = 32;

/// The registers that a thread is asked for, and their places for [`sampled`].
pub(crate) const SAMPLED: [(Register, i32); 14] = [
    (CODE, CODE_PLACE),
    (STACK, STACK_PLACE),
    (AArch64::X19, 19),
    (AArch64::X20, 20),
    (AArch64::X21, 21),
    (AArch64::X22, 22),
    (AArch64::X23, 23),
    (AArch64::X24, 24),
    (AArch64::X25, 25),
    (AArch64::X26, 26),
    (AArch64::X27, 27),
    (AArch64::X28, 28),
    (AArch64::X29, 29),
    (AArch64::X30, 30),
];

/// One of these of an interrupted thread.
pub(crate) fn sampled(context: &libc::ucontext_t, place: i32) -> usize {
    let machine = &context.uc_mcontext;
    let value = match place {
        STACK_PLACE => machine.sp,
        CODE_PLACE => machine.pc,
        number => machine.regs[number as usize],
    };
    value as usize
}

/// Where an interrupted thread goes on.
pub(crate) fn code_of(context: &libc::ucontext_t) -> usize {
    sampled(context, CODE_PLACE)
}

/// The stack pointer of an interrupted thread.
pub(crate) fn stack_of(context: &libc::ucontext_t) -> usize {
    sampled(context, STACK_PLACE)
}

/// A register's name.
pub(crate) fn register_name(register: Register) -> Option<&'static str> {
    AArch64::register_name(register)
}

/// A return address as tables know it: without the signature that the CPU may have put into its
/// upper bits.
pub(crate) fn plain_address(address: usize) -> usize {
    let plain;
    // SAFETY: changes a register of ours.
    unsafe {
        asm!(
            // `xpaclri`: takes the signature out of X30. CPUs without signatures do nothing.
            "hint #7",
            inlateout("x30") address => plain,
            options(nostack, preserves_flags, nomem, pure),
        );
    }
    plain
}

/// The calls that threads block in and that newer CPUs do not have: this one has none of them.
pub(crate) const OLD_CALLS: [(i64, &str); 0] = [];

/// Whether the counter goes on at one rate, whatever the CPU does: the architecture promises that.
pub(crate) fn has_steady_counter() -> bool {
    true
}

/// The registers that a function leaves to its caller as they were.
#[inline(always)]
fn callers_registers() -> [usize; 11] {
    let mut registers = [0; 11];
    // SAFETY: writes to the array only.
    unsafe {
        asm!(
            // Each register to its place: two words at a time.
            "stp x19, x20, [{registers}]",
            "stp x21, x22, [{registers}, #16]",
            "stp x23, x24, [{registers}, #32]",
            "stp x25, x26, [{registers}, #48]",
            "stp x27, x28, [{registers}, #64]",
            // The frame pointer, which may be any other register's value.
            "str x29, [{registers}, #80]",
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

    const UNIT: usize = 0x1234_5678_9abc;

    /// How many of the first multiples of the unit lie above an address.
    fn multiples_above(boundary: usize) -> usize {
        let words = (boundary..boundary + 4096).step_by(8);
        // SAFETY: a test's stack has many more frames above.
        let word = |at| unsafe { std::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        (1..=9)
            .filter(|number| words.clone().any(|at| word(at) == number * UNIT))
            .count()
    }

    extern "C" fn call() -> usize {
        above_callers_words(multiples_above)
    }

    /// The caller's words, also those that it has in registers, lie above the address.
    #[test]
    fn what_callers_have_in_registers_lies_above() {
        let found: usize;
        // SAFETY: calls a function by its convention.
        unsafe {
            asm!(
                // The registers that stay over a call, but for those of the compiler's frames, have
                // multiples of the unit.
                "mov x20, {unit}",
                "add x21, x20, {unit}",
                "add x22, x21, {unit}",
                "add x23, x22, {unit}",
                "add x24, x23, {unit}",
                "add x25, x24, {unit}",
                "add x26, x25, {unit}",
                "add x27, x26, {unit}",
                "add x28, x27, {unit}",
                // Calls the function that looks for them.
                "blr x0",
                unit = in(reg) UNIT,
                inlateout("x0") call as *const () => found,
                out("x20") _, out("x21") _, out("x22") _, out("x23") _, out("x24") _,
                out("x25") _, out("x26") _, out("x27") _, out("x28") _,
                clobber_abi("C"),
            );
        }
        assert_eq!(found, 9);
    }
}
