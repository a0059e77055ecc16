//! 64-bit ARM: words of the calling thread, system calls, clocks, hints to the caches, and how a
//! thread of C is entered and left.
//!
//! Each access to a thread's own memory is one volatile `asm!` that reads the thread's register
//! (TPIDR_EL0) itself, so that no address of it outlives a switch
//! ([`sys::current`](crate::sys::current) says why).

use super::start::Start;
use std::arch::{asm, global_asm, naked_asm};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

// The two words of a thread that every call asks for: the ready queue of the processor that it is,
// and that processor. Both are zero on a foreign thread. Blocks of fibres would use two more: see
// `DEPARTED` and `CARRIER`.
global_asm!(
    // Thread-local memory that begins as zeros: writable, allocated, and not in the file.
    ".pushsection .tbss.fibre_core_current,\"awT\",@nobits",
    // All words in one cache line.
    ".balign 32",
    // Seen by all units of the program or library, and by nobody outside of it.
    ".globl fibre_core_current",
    ".hidden fibre_core_current",
    ".type fibre_core_current, @object",
    ".size fibre_core_current, 32",
    "fibre_core_current:",
    // Four words.
    ".zero 32",
    // Back to the section that the compiler was in.
    ".popsection",
);

/// The first of the two words.
#[inline(always)]
pub(crate) fn current_ready() -> *const () {
    let ready;
    // SAFETY: reads a word of this thread's own, at its place when this is executed.
    unsafe {
        asm!(
            // How far the words lie from the thread pointer, as the loader has noted it.
            "adrp {ready}, :gottprel:fibre_core_current",
            "ldr {ready}, [{ready}, :gottprel_lo12:fibre_core_current]",
            // The pointer of the thread that executes this, and the word there.
            "mrs {pointer}, tpidr_el0",
            "ldr {ready}, [{pointer}, {ready}]",
            ready = out(reg) ready,
            pointer = out(reg) _,
            options(nostack, preserves_flags, readonly),
        );
    }
    ready
}

/// The second one.
#[inline(always)]
pub(crate) fn current_processor() -> *const () {
    let processor;
    // SAFETY: as in `current_ready`.
    unsafe {
        asm!(
            // As above; the second word lies behind the first.
            "adrp {processor}, :gottprel:fibre_core_current",
            "ldr {processor}, [{processor}, :gottprel_lo12:fibre_core_current]",
            "mrs {pointer}, tpidr_el0",
            "add {processor}, {processor}, {pointer}",
            "ldr {processor}, [{processor}, #8]",
            processor = out(reg) processor,
            pointer = out(reg) _,
            options(nostack, preserves_flags, readonly),
        );
    }
    processor
}

/// Their distance from the thread pointer, the same in all threads.
#[inline(always)]
pub(crate) fn current_place() -> isize {
    let place;
    // SAFETY: reads the distance, which the loader has written.
    unsafe {
        asm!(
            // The loader's note.
            "adrp {place}, :gottprel:fibre_core_current",
            "ldr {place}, [{place}, :gottprel_lo12:fibre_core_current]",
            place = out(reg) place,
            options(nostack, preserves_flags, readonly),
        );
    }
    place
}

/// Writes both.
#[inline(always)]
pub(crate) fn set_current(ready: *const (), processor: *const ()) {
    // SAFETY: writes two words of this thread's own.
    unsafe {
        asm!(
            // The loader's note, the thread pointer, and then both words.
            "adrp {slot}, :gottprel:fibre_core_current",
            "ldr {slot}, [{slot}, :gottprel_lo12:fibre_core_current]",
            "mrs {pointer}, tpidr_el0",
            "add {slot}, {slot}, {pointer}",
            "stp {ready}, {processor}, [{slot}]",
            slot = out(reg) _,
            pointer = out(reg) _,
            ready = in(reg) ready,
            processor = in(reg) processor,
            options(nostack, preserves_flags),
        );
    }
}

/// The calling thread's thread pointer.
#[inline(always)]
#[must_use]
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register that every thread has.
    unsafe {
        asm!(
            "mrs {pointer}, tpidr_el0",
            pointer = out(reg) pointer,
            options(nostack, preserves_flags, nomem),
        );
    }
    pointer
}

/// Writes it: the calling thread has the thread-locals of that block from here on.
///
/// # Safety
///
/// There is a thread control block at `thread_pointer`, which no other thread uses. No function
/// that goes on has kept an address of a thread-local.
#[inline(always)]
pub(crate) unsafe fn set_thread_pointer(thread_pointer: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "msr tpidr_el0, {}",
            in(reg) thread_pointer,
            options(nostack, preserves_flags),
        );
    }
}

/// What the machine lacks for fibres with thread blocks: the runtime's code. Here the C library
/// keeps a thread's control block below the thread pointer and its thread-locals above, the other
/// way round than on x86-64, and the modules of `stack::thread_block` lay out only the latter.
pub(crate) fn lacks_for_thread_blocks() -> Option<&'static str> {
    Some("the runtime can make thread-locals on x86-64 only, and this is a 64-bit ARM CPU")
}

/// Would call a handler of signals with another thread pointer: no thread has one
/// ([`lacks_for_thread_blocks`]).
pub(crate) unsafe extern "C" fn handle_as(
    _: i32,
    _: *mut libc::siginfo_t,
    _: *mut libc::c_void,
    _: usize,
    _: usize,
) {
    unreachable!("no fibre has a thread block on this CPU");
}

/// Would end a kernel thread and leave its thread block; none is made.
pub(crate) unsafe extern "C" fn depart(_: *mut usize) {
    unreachable!("no fibre has a thread block on this CPU");
}

/// Would begin a kernel thread with the block of one that has ended; none is made.
pub(crate) unsafe extern "C" fn adopt(_: usize, _: usize, _: *const u32, _: usize) -> isize {
    unreachable!("no fibre has a thread block on this CPU");
}

/// A barrier for LLVM: it may touch any memory, as far as LLVM knows.
#[inline(always)]
pub(crate) fn opaque() {
    // SAFETY: no instruction at all.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}

/// Reads a word of the calling thread's own memory, at this distance from its thread pointer.
///
/// # Safety
///
/// There is a word of this thread's at the place.
#[inline(always)]
pub(crate) unsafe fn thread_word(place: isize) -> usize {
    let word;
    // SAFETY: the caller's promise; any contents will do.
    unsafe {
        asm!(
            // The pointer of the thread that executes this, and the word there.
            "mrs {word}, tpidr_el0",
            "ldr {word}, [{word}, {place}]",
            place = in(reg) place,
            word = out(reg) word,
            options(nostack, preserves_flags, readonly),
        );
    }
    word
}

/// Reads a byte of it.
///
/// # Safety
///
/// As for [`thread_word`].
#[inline(always)]
pub(crate) unsafe fn thread_byte(place: isize) -> u8 {
    let byte: u32;
    // SAFETY: as in `thread_word`.
    unsafe {
        asm!(
            "mrs {byte:x}, tpidr_el0",
            // With zeros above it.
            "ldrb {byte:w}, [{byte:x}, {place}]",
            place = in(reg) place,
            byte = out(reg) byte,
            options(nostack, preserves_flags, readonly),
        );
    }
    byte as u8
}

/// Writes a word of it.
///
/// # Safety
///
/// The place has a word of this thread's that nobody has borrowed.
#[inline(always)]
pub(crate) unsafe fn set_thread_word(place: isize, word: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            // To the thread that executes this.
            "mrs {pointer}, tpidr_el0",
            "str {word}, [{pointer}, {place}]",
            pointer = out(reg) _,
            place = in(reg) place,
            word = in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}

/// Writes a byte of it.
///
/// # Safety
///
/// As for [`set_thread_word`].
#[inline(always)]
pub(crate) unsafe fn set_thread_byte(place: isize, byte: u8) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            // To the thread that executes this.
            "mrs {pointer}, tpidr_el0",
            "strb {byte:w}, [{pointer}, {place}]",
            pointer = out(reg) _,
            place = in(reg) place,
            byte = in(reg) u32::from(byte),
            options(nostack, preserves_flags),
        );
    }
}

/// Reads a word of the caller's stack. By an instruction, as it may be anything, and may lie where
/// AddressSanitizer allows no access of Rust's.
///
/// # Safety
///
/// The word lies on the caller's stack, above its stack pointer.
#[inline(always)]
pub(crate) unsafe fn stack_word(place: usize) -> usize {
    let word;
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            // A plain read, which no tool has instrumented.
            "ldr {word}, [{place}]",
            place = in(reg) place,
            word = lateout(reg) word,
            options(nostack, readonly, preserves_flags)
        );
    }
    word
}

/// Makes a system call; what the kernel returns.
///
/// # Safety
///
/// The call's own contract.
#[inline(always)]
pub(crate) unsafe fn system_call(number: i64, arguments: [usize; 6]) -> isize {
    let result;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the kernel's calling convention; the caller has promised the rest.
    unsafe {
        asm!(
            // The kernel keeps all registers but the result.
            "svc #0",
            in("x8") number,
            inlateout("x0") a as isize => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    result
}

/// The virtual counter, which goes on at one rate everywhere.
#[inline(always)]
pub(crate) fn time_stamp() -> u64 {
    let ticks;
    // SAFETY: Linux lets programs read it.
    unsafe {
        asm!(
            "mrs {ticks}, cntvct_el0",
            ticks = out(reg) ticks,
            options(nostack, preserves_flags, nomem),
        );
    }
    ticks
}

/// The page size, which the kernel was built with: 4, 16 or 64 KiB.
#[inline]
pub(crate) fn page_size() -> usize {
    /// Zero: nobody has asked.
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    match SIZE.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: reads a word that the kernel has left.
            let size = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
            SIZE.store(size, Ordering::Relaxed);
            size
        }
        size => size,
    }
}

/// Asks for a cache line. Nothing waits, and the address need not be valid.
#[inline(always)]
pub(crate) fn prefetch(line: *const u8) {
    // SAFETY: a hint, which does nothing where there is nothing.
    unsafe {
        asm!(
            // To be read, to the first level, to stay.
            "prfm pldl1keep, [{line}]",
            line = in(reg) line,
            options(nostack, preserves_flags, readonly),
        );
    }
}

/// Defines the symbol `exit` as a jump to this function, which never returns: weak, so that it
/// gives way to another definition, and hidden, for this program or library only.
///
/// It defines no local symbol, and names no private function: see the same macro for x86-64.
#[cfg(not(target_feature = "crt-static"))]
macro_rules! define_exit {
    ($exit:path) => {
        std::arch::global_asm!(
            // A section of its own, as compilers give each function.
            ".pushsection .text.fibre_core_exit,\"ax\",@progbits",
            // Instructions are words.
            ".balign 4",
            // Weak and hidden: see above.
            ".weak exit",
            ".hidden exit",
            ".type exit, @function",
            "exit:",
            // A call by a register may want a mark here (`bti c`).
            "hint #34",
            // The argument stays in its register.
            "b {exit}",
            // Two instructions.
            ".size exit, 8",
            // Back to the section that the compiler was in.
            ".popsection",
            exit = sym $exit,
        );
    };
}

#[cfg(not(target_feature = "crt-static"))]
pub(crate) use define_exit;

/// Calls `start(argument)`, having noted this frame at `frame`; returns its result, or what
/// [`escape`] is given.
///
/// # Safety
///
/// `start` may be called, and the frame written.
#[unsafe(naked)]
pub unsafe extern "C" fn enter(
    start: Start,
    argument: *mut c_void,
    frame: *mut *mut c_void,
) -> *mut c_void {
    naked_asm!(
        // To an unwinder, this is where the stack ends.
        ".cfi_startproc",
        ".cfi_undefined x30",
        // A call by a register may want a mark here (`bti c`).
        "hint #34",
        // The frame pointer, the way back, and registers that a function has to leave as they are.
        "stp x29, x30, [sp, #-160]!",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        // The frame notes itself: an escape comes back to this stack pointer.
        "mov x9, sp",
        "str x9, [x2]",
        // Calls the first argument with the second one.
        "mov x9, x0",
        "mov x0, x1",
        "blr x9",
        // The result is in x0 already. Takes back all that was stored.
        "ldp d14, d15, [sp, #144]",
        "ldp d12, d13, [sp, #128]",
        "ldp d10, d11, [sp, #112]",
        "ldp d8, d9, [sp, #96]",
        "ldp x27, x28, [sp, #80]",
        "ldp x25, x26, [sp, #64]",
        "ldp x23, x24, [sp, #48]",
        "ldp x21, x22, [sp, #32]",
        "ldp x19, x20, [sp, #16]",
        "ldp x29, x30, [sp], #160",
        "ret",
        ".cfi_endproc",
    )
}

/// Goes back to the frame of [`enter`] that has noted itself as `frame`, which returns `result`.
///
/// # Safety
///
/// That frame is on the caller's stack, and nothing between has anything to drop.
#[unsafe(naked)]
pub unsafe extern "C" fn escape(frame: *mut c_void, result: *mut c_void) -> ! {
    naked_asm!(
        // A call by a register may want a mark here (`bti c`).
        "hint #34",
        // The stack ends at the noted frame again, whatever was called from there.
        "mov sp, x0",
        // What that frame returns.
        "mov x0, x1",
        // Takes back what `enter` has stored, and returns to its caller.
        "ldp d14, d15, [sp, #144]",
        "ldp d12, d13, [sp, #128]",
        "ldp d10, d11, [sp, #112]",
        "ldp d8, d9, [sp, #96]",
        "ldp x27, x28, [sp, #80]",
        "ldp x25, x26, [sp, #64]",
        "ldp x23, x24, [sp, #48]",
        "ldp x21, x22, [sp, #32]",
        "ldp x19, x20, [sp, #16]",
        "ldp x29, x30, [sp], #160",
        "ret",
    )
}
