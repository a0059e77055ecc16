//! Calls that need more stack than the fibre has.
//!
//! The call gets another of the runtime's stacks, with a guard, an owner word and a place in the
//! statistics. The same fibre runs on it, and blocks as usual, since a switch only saves the stack
//! pointer.

use crate::processor::{OVERFLOW_HOOK, Processor};
use crate::stack::context::call_on;
use crate::stack::{Stack, class_of, install_overflow_report, put_cold, take_one};
use std::io;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Calls `f` on a stack of its own of at least `bytes` bytes, and returns its result.
///
/// For recursion of unknown depth, and for foreign code that needs megabytes, in a program whose
/// fibres have small stacks. Works from fibres and from plain threads; `f` may do all that the
/// caller may, blocking the fibre included. A stack of at most 4 MiB comes from the processor's
/// cache, so the call takes about 20 ns if one of this size has just been used; otherwise it takes
/// system calls and page faults. The call itself blocks nothing.
///
/// ```
/// fn depth(list: u64) -> u64 {
///     if list == 0 { 0 } else { std::hint::black_box(depth(list - 1)) + 1 }
/// }
///
/// let deep = fibre::spawn(|| fibre::on_big_stack(64 << 20, || depth(200_000)));
/// assert_eq!(deep.join().unwrap().unwrap(), 200_000);
/// ```
///
/// # Errors
///
/// When there is no memory for such a stack; then `f` has not been called, and is dropped.
///
/// # Panics
///
/// With the panic of `f`.
#[doc(alias("stacker", "maybe_grow"))]
pub fn on_big_stack<F, R>(bytes: usize, f: F) -> io::Result<R>
where
    F: FnOnce() -> R,
{
    install_overflow_report(OVERFLOW_HOOK);
    let mut lent = Lent::new(bytes)?;
    let result = call_on(&mut lent.stack, || catch_unwind(AssertUnwindSafe(f)));
    drop(lent);
    result.map_or_else(|payload| resume_unwind(payload), Ok)
}

/// A stack that is lent for a call.
struct Lent {
    stack: ManuallyDrop<Stack>,
}

impl Lent {
    /// Takes a stack, from the processor's cache if the caller is on a processor.
    fn new(bytes: usize) -> io::Result<Self> {
        let class = class_of(bytes);
        let taken = Processor::here(|here| here.take_stack(class));
        let stack = taken.unwrap_or_else(|| take_one(class))?;
        stack.set_owner((OVERFLOW_HOOK.who_runs)());
        let stack = ManuallyDrop::new(stack);
        Ok(Self { stack })
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: taken out once, here.
        let stack = unsafe { ManuallyDrop::take(&mut self.stack) };
        stack.set_owner(std::ptr::null());
        let mut stack = Some(stack);
        // The fibre may be on another processor by now.
        let _ = Processor::here(|here| stack.take().map(|stack| here.put_stack(stack)));
        stack.into_iter().for_each(put_cold);
    }
}
