//! 64-bit x86: words of the calling thread, system calls, clocks and hints to the caches.
//!
//! Each access to a thread's own memory is one volatile `asm!` that names the segment register, so
//! that no address of it outlives a switch ([`sys::current`](crate::sys::current) says why).

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _rdtsc};
use std::arch::{asm, global_asm};

// The two words of a thread that every call asks for: the ready queue of the processor that it is,
// and that processor. Both are zero on a foreign thread.
global_asm!(
    // Thread-local memory that begins as zeros: writable, allocated, and not in the file.
    ".pushsection .tbss.fibre_core_current,\"awT\",@nobits",
    // Both words in one cache line.
    ".balign 16",
    // Seen by all units of the program or library, and by nobody outside of it.
    ".globl fibre_core_current",
    ".hidden fibre_core_current",
    ".type fibre_core_current, @object",
    ".size fibre_core_current, 16",
    "fibre_core_current:",
    // Two words.
    ".zero 16",
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
            "mov {ready}, qword ptr [rip + fibre_core_current@GOTTPOFF]",
            // The word there, of the thread that executes this.
            "mov {ready}, qword ptr fs:[{ready}]",
            ready = out(reg) ready,
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
            "mov {processor}, qword ptr [rip + fibre_core_current@GOTTPOFF]",
            "mov {processor}, qword ptr fs:[{processor} + 8]",
            processor = out(reg) processor,
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
            "mov {place}, qword ptr [rip + fibre_core_current@GOTTPOFF]",
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
            // The loader's note, and then both words.
            "mov {slot}, qword ptr [rip + fibre_core_current@GOTTPOFF]",
            "mov qword ptr fs:[{slot}], {ready}",
            "mov qword ptr fs:[{slot} + 8], {processor}",
            slot = out(reg) _,
            ready = in(reg) ready,
            processor = in(reg) processor,
            options(nostack, preserves_flags),
        );
    }
}

/// A barrier for LLVM: it may touch any memory, as far as LLVM knows.
#[inline(always)]
pub(crate) fn opaque() {
    // SAFETY: no instruction at all.
    unsafe { asm!("", options(nostack, preserves_flags)) };
}

/// Reads a word of the calling thread's own memory. The word at the thread pointer itself, at place
/// 0, is the thread pointer.
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
            // The segment register leads to the thread pointer.
            "mov {word}, qword ptr fs:[{place}]",
            place = in(reg) place,
            word = lateout(reg) word,
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
            // With zeros above it.
            "movzx {byte:e}, byte ptr fs:[{place}]",
            place = in(reg) place,
            byte = lateout(reg) byte,
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
            "mov qword ptr fs:[{place}], {word}",
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
            "mov byte ptr fs:[{place}], {byte}",
            place = in(reg) place,
            byte = in(reg_byte) byte,
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
            "mov {word}, [{place}]",
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
            // The kernel uses `rcx` and `r11` to come back.
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// The time stamp counter.
#[inline(always)]
pub(crate) fn time_stamp() -> u64 {
    // SAFETY: every CPU of this kind has the instruction.
    unsafe { _rdtsc() }
}

/// Asks for a cache line. Nothing waits, and the address need not be valid.
#[inline(always)]
pub(crate) fn prefetch(line: *const u8) {
    // SAFETY: every CPU of this kind has the instruction, and it does nothing where there is
    // nothing.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

/// Defines the symbol `exit` as a jump to this function, which never returns: weak, so that it
/// gives way to another definition, and hidden, for this program or library only.
///
/// It is chance which of the compiler's units this lands in. If the assembly defined a local symbol
/// there (`. - exit` does), or named a private function, LLVM would inline no function with
/// assembly of that unit into another one; and the switch to a fibre is such a function.
#[cfg(not(target_feature = "crt-static"))]
macro_rules! define_exit {
    ($exit:path) => {
        std::arch::global_asm!(
            // A section of its own, as compilers give each function.
            ".pushsection .text.fibre_core_exit,\"ax\",@progbits",
            // Where compilers begin functions, too.
            ".balign 16",
            // Weak and hidden: see above.
            ".weak exit",
            ".hidden exit",
            ".type exit, @function",
            "exit:",
            // The argument stays in its register.
            "jmp {exit}",
            // The most that the jump takes.
            ".size exit, 5",
            // Back to the section that the compiler was in.
            ".popsection",
            exit = sym $exit,
        );
    };
}

#[cfg(not(target_feature = "crt-static"))]
pub(crate) use define_exit;
