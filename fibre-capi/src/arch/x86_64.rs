//! 64-bit x86: calls on memory of the program, the floating-point registers, and the error number
//! of the calling thread.

use fibre_core::internal::Start;
use std::arch::{asm, naked_asm};
use std::ffi::{c_int, c_void};

/// Calls `start(argument)` with the stack pointer at `end`, which is aligned, and comes back.
///
/// # Safety
///
/// `start` may be called, and the memory below `end` is the caller's.
#[unsafe(naked)]
pub(crate) unsafe extern "C-unwind" fn call_on(
    start: Start,
    argument: *mut c_void,
    end: *mut c_void,
) -> *mut c_void {
    naked_asm!(
        // To an unwinder, this is where the stack ends, as in `enter`.
        ".cfi_startproc",
        ".cfi_undefined rip",
        // `rbp` survives calls, so it keeps the old stack pointer meanwhile.
        "push rbp",
        "mov rbp, rsp",
        // From here on, the stack is the program's memory.
        "mov rsp, rdx",
        // Calls the first argument with the second one.
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        // Back to the runtime's stack; the result is in `rax`.
        "mov rsp, rbp",
        "pop rbp",
        "ret",
        ".cfi_endproc",
    )
}

/// Reads the state of the x87, without its registers, and MXCSR.
///
/// # Safety
///
/// Both may be written.
#[inline(always)]
pub(crate) unsafe fn store_float(x87: *mut [u32; 7], mxcsr: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            // Stores the state, and masks all exceptions.
            "fnstenv [{x87}]",
            // So the state is loaded again.
            "fldenv [{x87}]",
            // The state of the vector unit.
            "stmxcsr [{mxcsr}]",
            x87 = in(reg) x87,
            mxcsr = in(reg) mxcsr,
            options(nostack),
        );
    }
}

/// Writes both.
///
/// # Safety
///
/// They have been read by [`store_float`], and the caller does not compute with what it had.
#[inline(always)]
pub(crate) unsafe fn load_float(x87: *const [u32; 7], mxcsr: *const u32) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            // What has been raised here does not trap when the new state unmasks it.
            "fnclex",
            // The state of the x87.
            "fldenv [{x87}]",
            // That of the vector unit.
            "ldmxcsr [{mxcsr}]",
            x87 = in(reg) x87,
            mxcsr = in(reg) mxcsr,
            options(nostack, readonly),
        );
    }
}

/// The control word of the x87, and MXCSR.
#[inline(always)]
pub(crate) fn float_control() -> (u16, u32) {
    let (mut word, mut mxcsr) = (0_u16, 0_u32);
    // SAFETY: writes to this frame.
    unsafe {
        asm!(
            // The control word alone, which takes less than the whole state.
            "fnstcw [{word}]",
            // The state of the vector unit.
            "stmxcsr [{mxcsr}]",
            word = in(reg) &raw mut word,
            mxcsr = in(reg) &raw mut mxcsr,
            options(nostack, preserves_flags),
        );
    }
    (word, mxcsr)
}

/// Reads a number of the calling thread's, at this distance from its pointer.
///
/// # Safety
///
/// There is a number of this thread's there.
#[inline(always)]
pub(crate) unsafe fn thread_number(distance: isize) -> c_int {
    let number;
    // SAFETY: the caller's promise; it is where it is when this is executed.
    unsafe {
        asm!(
            // The segment register leads to the thread pointer.
            "mov {number:e}, dword ptr fs:[{distance}]",
            number = out(reg) number,
            distance = in(reg) distance,
            options(nostack, preserves_flags, readonly),
        );
    }
    number
}

/// Writes one.
///
/// # Safety
///
/// There is a number of this thread's there.
#[inline(always)]
pub(crate) unsafe fn set_thread_number(distance: isize, number: c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            // To the thread that executes this.
            "mov dword ptr fs:[{distance}], {number:e}",
            number = in(reg) number,
            distance = in(reg) distance,
            options(nostack, preserves_flags),
        );
    }
}

/// The calling thread's pointer.
#[inline(always)]
pub(crate) fn thread_pointer() -> isize {
    let pointer;
    // SAFETY: a thread's pointer points to itself.
    unsafe {
        asm!(
            // The first word there is its own address.
            "mov {pointer}, qword ptr fs:[0]",
            pointer = out(reg) pointer,
            options(nostack, preserves_flags, readonly),
        );
    }
    pointer
}

/// Something that may touch any memory, as far as LLVM knows.
#[inline(always)]
pub(crate) fn opaque() {
    // SAFETY: no instruction at all.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}
