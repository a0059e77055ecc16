//! Going on on another stack: the code of a context switch, for the System V ABI of x86-64.
//!
//! Two flows of control take turns: a *fibre*, on a stack of its own, and the *processor* that has
//! resumed it, on its kernel thread's stack. Where the one goes on that does not run is written in
//! a [`Switch`], in two words: its stack pointer, and the address of its next instruction.
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
//! * **No return is mispredicted because of a switch.** A CPU predicts returns from a stack of its
//!   own, which calls push and returns pop. A switch is a jump in both directions, so it leaves
//!   that stack alone; and all of it is inlined into the function that leaves.
//! * **The compiler saves the registers.** It is told that a switch destroys all of them, so it
//!   keeps in memory what it still needs, and nothing else is saved. RBX and RBP are the exception:
//!   LLVM keeps them for itself in some functions, and they cannot be named. They are pushed.
//! * **The stack** may be pushed to, as the code does not say `nostack`: the compiler then keeps
//!   nothing in the red zone below the stack pointer.
//! * **Flags.** The direction flag is clear on both sides, as the ABI wants it at each call. MXCSR
//!   and the control word of the x87 are not switched: they belong to the kernel thread. A fibre
//!   that sets another rounding mode sets it for all fibres of its processor, and has to set it
//!   back before it blocks.
//! * **Shadow stacks** (CET) hold return addresses for the CPU to compare. They are not switched,
//!   so no fibre could return with them. The C library enables them only for programs with all
//!   parts marked for it, and objects with this code are not.
//!
//! # The first and the last switch
//!
//! A fresh stack is prepared as if it had been left before [`root`]'s first instruction. `root`
//! calls the computation and, when that has come back, goes to the processor for good. To unwinders
//! it is where the stack ends: its return address is undefined, and RBP is zero there. What has
//! resumed the fibre is no caller of its functions.
//!
//! # Memory ordering
//!
//! Other threads read the fibre's words as hints. The pointer is zero while the fibre runs, and is
//! written after the code, so on this CPU a reader that loads the pointer first has a code that is
//! not older.

use std::arch::{asm, naked_asm};
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where a flow of control goes on that does not run.
#[repr(C)]
#[derive(Debug)]
struct Place {
    /// Its stack pointer. There lie, upwards, its registers RBX and RBP.
    pointer: AtomicUsize,
    /// The address of the instruction.
    code: AtomicUsize,
}

/// The two flows of control that take turns.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Switch {
    /// The fibre. The pointer is zero while it runs, and once it has ended.
    fibre: Place,
    /// The processor that has resumed it. Valid while it runs.
    processor: Place,
}

/// The words that a flow pushes when it leaves its stack.
const PUSHED: usize = 2;

/// Bytes that a fresh stack begins with: the argument of the first function, where the stack
/// pointer is. As many as a flow pushes, which keeps the stack aligned for the call.
const FIRST: usize = PUSHED * size_of::<usize>();

/// The function that [`root`] calls, with the switch and the argument of [`Switch::prepare`]. It
/// returns the switch to leave the stack by, for good.
pub(super) trait RawEntry {
    /// The function.
    ///
    /// # Safety
    ///
    /// Called once, on the stack that was prepared for it.
    unsafe extern "C" fn run(switch: *const Switch, argument: *const ()) -> *const Switch;

    /// What the processor is handed at last.
    const LAST: u32;
}

impl Switch {
    /// Where the fibre's stack pointer is.
    pub(super) const POINTER: usize = offset_of!(Switch, fibre) + offset_of!(Place, pointer);

    /// Where the address is that the fibre goes on at.
    pub(super) const CODE: usize = offset_of!(Switch, fibre) + offset_of!(Place, code);

    /// Where those of the processor are.
    const RETURN_POINTER: usize = offset_of!(Switch, processor) + offset_of!(Place, pointer);
    const RETURN_CODE: usize = offset_of!(Switch, processor) + offset_of!(Place, code);

    /// Prepares a stack that ends at `base` for a call of `E`'s function with this argument, which
    /// the first [`resume`](Self::resume) makes.
    ///
    /// # Safety
    ///
    /// The bytes below `base` are the caller's, and `base` is a multiple of 16.
    #[inline(always)]
    pub(super) unsafe fn prepare<E: RawEntry>(base: usize, argument: *const ()) -> Self {
        let pointer = base - FIRST;
        // SAFETY: the caller's promise.
        unsafe { std::ptr::with_exposed_provenance_mut::<*const ()>(pointer).write(argument) };
        Self {
            fibre: Place {
                pointer: AtomicUsize::new(pointer),
                code: AtomicUsize::new(root::<E> as *const () as usize),
            },
            processor: Place {
                pointer: AtomicUsize::new(0),
                code: AtomicUsize::new(0),
            },
        }
    }

    /// Goes to the fibre. Returns what it hands over when it leaves its stack.
    ///
    /// # Safety
    ///
    /// The fibre does not run and has not ended, and no other thread resumes it. Whatever it does
    /// until it leaves is what the caller may do.
    #[inline(always)]
    pub(super) unsafe fn resume(this: *const Self) -> u32 {
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

    /// [`resume`](Self::resume) of a fibre that is a thread to the language: until it leaves its
    /// stack, the thread pointer is the fibre's. Both instructions that write it are part of the
    /// switch, so nothing that the compiler makes of thread-locals comes between.
    ///
    /// # Safety
    ///
    /// As for [`resume`](Self::resume). There is a thread control block at `thread_pointer`, which
    /// no thread uses, and the CPU has FSGSBASE.
    #[inline(always)]
    pub(super) unsafe fn resume_as_thread(this: *const Self, thread_pointer: usize) -> u32 {
        let handed: usize;
        // SAFETY: as in `resume`.
        unsafe {
            asm!(
                "push rbp",
                "push rbx",
                // The thread pointer of the processor's thread, for the way back.
                "push qword ptr fs:[0]",
                "lea rax, [rip + 2f]",
                "mov [rdi + {return_code}], rax",
                "mov [rdi + {return_pointer}], rsp",
                "mov rsp, [rdi + {pointer}]",
                "mov qword ptr [rdi + {pointer}], 0",
                "wrfsbase rsi",
                "jmp [rdi + {code}]",
                "2:",
                "pop rax",
                "wrfsbase rax",
                "pop rbx",
                "pop rbp",
                pointer = const Self::POINTER,
                code = const Self::CODE,
                return_pointer = const Self::RETURN_POINTER,
                return_code = const Self::RETURN_CODE,
                inlateout("rdi") this => _,
                inlateout("rsi") thread_pointer => handed,
                lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
                clobber_abi("sysv64"),
            );
        }
        // The fibre hands over 32 bits; what lies above them means nothing.
        handed as u32
    }

    /// Leaves the fibre's stack: hands `handed` to the processor. Returns when a processor resumes
    /// it, and returns the switch that did.
    ///
    /// # Safety
    ///
    /// Called by the fibre, with the switch that has resumed it.
    #[inline(always)]
    pub(super) unsafe fn leave(this: *const Self, handed: u32) -> *const Self {
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

    /// Where the fibre has left its stack: the stack pointer, and the address where it goes on. A
    /// hint, if it may run meanwhile. `None`: it runs, or has ended.
    pub(super) fn left(&self) -> Option<[usize; 2]> {
        let pointer = self.fibre.pointer.load(Ordering::Acquire);
        let code = self.fibre.code.load(Ordering::Relaxed);
        (pointer != 0).then_some([pointer, code])
    }
}

/// The bottom of a fibre's stack. [`Switch::resume`] jumps here when the fibre begins, with the
/// switch in RDI and the stack pointer at the argument.
#[unsafe(naked)]
unsafe extern "C" fn root<E: RawEntry>() {
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
pub(super) unsafe extern "C" fn call_at(
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
