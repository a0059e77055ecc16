//! 64-bit x86: words of the calling thread, system calls, clocks, hints to the caches, and how a
//! thread of C is entered and left.
//!
//! Each access to a thread's own memory is one volatile `asm!` that names the segment register, so
//! that no address of it outlives a switch ([`sys::current`](crate::sys::current) says why).

use super::start::Start;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _rdtsc};
use std::arch::{asm, global_asm, naked_asm};
use std::ffi::c_void;

// The two words of a thread that every call asks for: the ready queue of the processor that it is,
// and that processor. Both are zero on a foreign thread. Blocks of fibres use two more: see
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

/// The calling thread's thread pointer: where its thread control block lies.
#[inline(always)]
#[must_use]
pub fn thread_pointer() -> usize {
    // SAFETY: the word at the thread pointer is the thread pointer.
    unsafe { thread_word(0) }
}

/// Writes it: the calling thread has the thread-locals of that block from here on.
///
/// # Safety
///
/// There is a thread control block at `thread_pointer`, which no other thread uses. The CPU has
/// FSGSBASE. No function that goes on has kept an address of a thread-local.
#[inline(always)]
pub(crate) unsafe fn set_thread_pointer(thread_pointer: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!(
            "wrfsbase {}",
            in(reg) thread_pointer,
            options(nostack, preserves_flags),
        );
    }
}

/// What the machine lacks for fibres with thread blocks, if anything.
pub(crate) fn lacks_for_thread_blocks() -> Option<&'static str> {
    if !may_set_thread_pointer() {
        return Some("the CPU or the kernel has no FSGSBASE");
    }
    runs_on_valgrind().then_some("valgrind does not know the instruction `wrfsbase`")
}

/// Whether a program may write the thread pointer by an instruction (FSGSBASE), as far as the
/// kernel says.
fn may_set_thread_pointer() -> bool {
    /// The kernel's bit for it.
    const FSGSBASE: u64 = 1 << 1;
    // SAFETY: reads a word that the kernel has left.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}

/// Calls a handler of signals with another thread pointer.
///
/// # Safety
///
/// The handler may be called so, with a thread control block at `thread_pointer` that is the
/// calling kernel thread's own. The CPU has FSGSBASE.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn handle_as(
    signal: i32,
    information: *mut libc::siginfo_t,
    context: *mut libc::c_void,
    handler: usize,
    thread_pointer: usize,
) {
    naked_asm!(
        // The thread pointer of now, for the way back. This aligns the stack for the call, too.
        "push qword ptr fs:[0]",
        "wrfsbase r8",
        "call rcx",
        "pop rax",
        "wrfsbase rax",
        "ret",
    )
}

/// Saves where the calling kernel thread is, and ends the kernel thread: its stack and its thread
/// control block stay. Returns on the kernel thread that [`adopt`]s them.
///
/// # Safety
///
/// There is a word at `place`. The kernel has nothing to write to the thread's memory any more
/// once it has ended. Signals are blocked.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn depart(place: *mut usize) {
    naked_asm!(
        // What the caller expects to find again.
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        // Where all that lies.
        "mov [rdi], rsp",
        // exit(0), of this thread only.
        "xor edi, edi",
        "mov eax, {exit}",
        "syscall",
        // The kernel does not come back.
        "ud2",
        exit = const libc::SYS_exit,
    )
}

/// Starts a kernel thread that goes on where another one has [departed](depart): with that one's
/// stack pointer, and its thread pointer. Returns the new thread's number, or the kernel's error.
///
/// # Safety
///
/// `stack` and `thread_pointer` are those that a departed thread has left, and nobody else uses
/// them. `flags` are those of a thread. `gone` is valid until the kernel has cleared it.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn adopt(
    flags: usize,
    stack: usize,
    gone: *const u32,
    thread_pointer: usize,
) -> isize {
    naked_asm!(
        // clone(flags, stack, nothing, gone, thread_pointer): flags and stack are where they
        // belong.
        "mov r10, rdx",
        "mov r8, rcx",
        "xor edx, edx",
        "mov eax, {clone}",
        "syscall",
        // Zero: this is the new thread.
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        // What `depart` has pushed. The return address is that of its caller.
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        clone = const libc::SYS_clone,
    )
}

/// Whether this program runs on valgrind, which answers a sequence of instructions that does
/// nothing elsewhere.
fn runs_on_valgrind() -> bool {
    /// The question, and five arguments that it does not have.
    static QUESTION: [usize; 6] = [0x1001, 0, 0, 0, 0, 0];
    let answer: usize;
    // SAFETY: the rotations come to 128 bits, and nothing is exchanged with itself.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") &raw const QUESTION,
            inlateout("rdx") 0_usize => answer,
            options(nostack),
        );
    }
    answer != 0
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

/// The page size, the only one that this kind of CPU has.
#[inline(always)]
pub(crate) const fn page_size() -> usize {
    4096
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

/// Calls `start(argument)`, having noted this frame at `frame`; returns its result, or what
/// [`escape`] is given.
///
/// # Safety
///
/// `start` may be called, and the frame written.
///
/// ```compile_fail,E0133
/// fibre_core::internal::enter(None, std::ptr::null_mut(), std::ptr::null_mut());
/// ```
#[unsafe(naked)]
pub unsafe extern "C" fn enter(
    start: Start,
    argument: *mut c_void,
    frame: *mut *mut c_void,
) -> *mut c_void {
    naked_asm!(
        // To an unwinder, this is where the stack ends.
        ".cfi_startproc",
        ".cfi_undefined rip",
        // Registers that a function has to leave as they are.
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        // Calls want the stack aligned to 16 bytes: six registers and the return address are 56.
        "sub rsp, 8",
        // The frame notes itself: an escape comes back to this stack pointer.
        "mov [rdx], rsp",
        // Calls the first argument with the second one.
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        // The result is in `rax` already. Takes back all that was pushed.
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        ".cfi_endproc",
    )
}

/// Goes back to the frame of [`enter`] that has noted itself as `frame`, which returns `result`.
///
/// # Safety
///
/// That frame is on the caller's stack, and nothing between has anything to drop.
///
/// ```compile_fail,E0133
/// fibre_core::internal::escape(std::ptr::null_mut(), std::ptr::null_mut());
/// ```
#[unsafe(naked)]
pub unsafe extern "C" fn escape(frame: *mut c_void, result: *mut c_void) -> ! {
    naked_asm!(
        // The stack ends at the noted frame again, whatever was called from there.
        "mov rsp, rdi",
        // What that frame returns.
        "mov rax, rsi",
        // Functions begin and end with the direction flag clear; who escapes may have set it.
        "cld",
        // Takes back what `enter` has pushed, and returns to its caller.
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}
