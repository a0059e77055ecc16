//! Going on on another stack: the words of a context switch, and what its code promises.
//!
//! Two flows of control take turns: a *fibre*, on a stack of its own, and the *processor* that has
//! resumed it, on its kernel thread's stack. Where the one goes on that does not run is written in
//! a [`Switch`], in two words: its stack pointer, and the address of its next instruction. The code
//! is in a file for each kind of CPU ([`arch`]), where there are drawings, too.
//!
//! * **No return is mispredicted because of a switch.** A CPU predicts returns from a stack of its
//!   own, which calls push and returns pop. A switch is a jump in both directions, so it leaves
//!   that stack alone; and all of it is inlined into the function that leaves.
//! * **The compiler saves the registers.** It is told that a switch destroys all of them, so it
//!   keeps in memory what it still needs, and nothing else is saved. The exception are two
//!   registers that LLVM keeps for itself in some functions, and that cannot be named. The switch
//!   pushes them.
//! * **How floating-point numbers are rounded**, and which of their exceptions trap, belongs to the
//!   kernel thread and is not switched. A fibre that sets another mode sets it for all fibres of
//!   its processor, and has to set it back before it blocks.
//!
//! # The first and the last switch
//!
//! A fresh stack is prepared as if it had been left before the first instruction of
//! [`root`](arch::root). `root` calls the computation and, when that has come back, goes to the
//! processor for good. To unwinders it is where the stack ends: its return address is undefined,
//! and the frame pointer is zero there. What has resumed the fibre is no caller of its functions.
//!
//! # Memory ordering
//!
//! Other threads read the fibre's words as hints. The pointer is zero while the fibre runs. `leave`
//! writes it after the code, and with release, so a reader that loads the pointer first, and
//! acquires it, has a code that is not older. All else that a switch leaves in memory, the words
//! and the stack, is for whoever resumes the fibre next. That may be another kernel thread: then
//! the queue that has handed it the fibre, or the fibre's run-state word, has released what the
//! kernel thread before it did.

use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) mod arch;

/// Where a flow of control goes on that does not run.
#[repr(C)]
#[derive(Debug)]
struct Place {
    /// Its stack pointer. There lie the two registers that it has pushed.
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

/// Bytes that a fresh stack begins with: the argument of the first function, where the stack
/// pointer is. As many as a flow pushes, which keeps the stack aligned for the call.
const FIRST: usize = 2 * size_of::<usize>();

/// The function that [`root`](arch::root) calls, with the switch and the argument of
/// [`Switch::prepare`]. It returns the switch to leave the stack by, for good.
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

    /// Prepares a stack that ends at `base`, so that the first [`resume`](Self::resume) calls the
    /// function of this root with this argument.
    ///
    /// # Safety
    ///
    /// The bytes below `base` are the caller's, and `base` is a multiple of 16. The root is
    /// [`arch::root`].
    #[inline(always)]
    pub(super) unsafe fn prepare(
        base: usize,
        argument: *const (),
        root: unsafe extern "C" fn(),
    ) -> Self {
        let pointer = base - FIRST;
        // SAFETY: the caller's promise.
        unsafe { std::ptr::with_exposed_provenance_mut::<*const ()>(pointer).write(argument) };
        Self {
            fibre: Place {
                pointer: AtomicUsize::new(pointer),
                code: AtomicUsize::new(root as *const () as usize),
            },
            processor: Place {
                pointer: AtomicUsize::new(0),
                code: AtomicUsize::new(0),
            },
        }
    }

    /// Where the fibre has left its stack: the stack pointer, and the address where it goes on. A
    /// hint, if it may run meanwhile. `None`: it runs, or has ended.
    pub(super) fn left(&self) -> Option<[usize; 2]> {
        let pointer = self.fibre.pointer.load(Ordering::Acquire);
        let code = self.fibre.code.load(Ordering::Relaxed);
        (pointer != 0).then_some([pointer, code])
    }
}
