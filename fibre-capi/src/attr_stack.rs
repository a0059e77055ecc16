//! Fibres that run on memory of the program's: `pthread_attr_setstack`.
//!
//! Such a fibre has a stack of the runtime's, too. Its first frames lie there, and from there it
//! calls the program's routine, with the stack pointer near the end of the given memory. It comes
//! back to the first stack by a return, or by an escape ([`crate::exit`]); its keys' destructors
//! run there, and there it ends. So nothing touches the memory once the fibre has been joined, and
//! the program may free it.
//!
//! Until the fibre runs, the highest bytes of the memory say which routine to call, so creating the
//! fibre allocates nothing.
//!
//! A switch saves where the stack pointer is, whichever stack that is, so the fibre blocks as ever.
//! The memory has no guard: an overflow writes over what lies below, as in a thread of the system.

use crate::arch::call_on;
use crate::attr::{STACK_MIN, change, fibre_attr_t, read};
use crate::record::fibre_start_t;
use std::ffi::{c_int, c_void};
use std::ptr;

/// What is to run, in the highest bytes of the memory.
#[repr(C, align(16))]
struct Given {
    /// What the program wants to have run.
    start: fibre_start_t,
    /// The argument of `start`.
    argument: *mut c_void,
}

/// What runs `start(argument)` on the memory that ends here, once.
///
/// # Safety
///
/// The memory is that of a fibre that will run this; until then no other code writes to it.
pub unsafe fn wrap(
    end: *mut c_void,
    start: fibre_start_t,
    argument: *mut c_void,
) -> (fibre_start_t, *mut c_void) {
    let unaligned = end.addr() % align_of::<Given>();
    let given = end.wrapping_byte_sub(unaligned + size_of::<Given>());
    // SAFETY: the caller's promise; it is aligned, as told above.
    unsafe { given.cast::<Given>().write(Given { start, argument }) };
    (Some(run), given)
}

/// What such a fibre runs on its first stack. Nothing here is to be dropped when it calls the
/// program, which may not come back.
unsafe extern "C-unwind" fn run(given: *mut c_void) -> *mut c_void {
    // SAFETY: `wrap` has put it there for the fibre that runs this.
    let Given { start, argument } = unsafe { given.cast::<Given>().read() };
    // SAFETY: the memory is the fibre's until it ends, and the program wants this to be called.
    unsafe { call_on(start, argument, given) }
}

/// `pthread_attr_setstack`: memory of the program's that is to be the stack, from its lowest byte
/// on. It has no guard, and nothing touches it once the fibre has been joined. `EINVAL` for a stack
/// that is too small, or for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setstack(
    attr: *mut fibre_attr_t,
    stack: *mut c_void,
    size: usize,
) -> c_int {
    let end = stack.addr().checked_add(size);
    let valid = size >= STACK_MIN && !stack.is_null() && end.is_some();
    change(attr, valid, |attr| {
        attr.give_stack(stack.wrapping_byte_add(size), Some(size));
    })
}

/// `pthread_attr_getstack`: what has been set, or what `fibre_getattr` has found; null if that is
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getstack(
    attr: *const fibre_attr_t,
    stack: *mut *mut c_void,
    size: *mut usize,
) -> c_int {
    read(attr, stack, |attr| match attr.attr_stack() {
        None => ptr::null_mut(),
        Some(stack) => ptr::with_exposed_provenance_mut(stack.start),
    });
    read(attr, size, |attr| match attr.attr_stack() {
        None => attr.stack_size(),
        Some(stack) => stack.len(),
    })
}

/// `pthread_attr_setstackaddr`: the highest address of memory that is to be the stack, as
/// `fibre_attr_setstack` has it; how large it is `fibre_attr_setstacksize` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_setstackaddr(
    attr: *mut fibre_attr_t,
    stack: *mut c_void,
) -> c_int {
    change(attr, true, |attr| attr.give_stack(stack, None))
}

/// `pthread_attr_getstackaddr`: the highest address of what has been set, or of what
/// `fibre_getattr` has found.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_attr_getstackaddr(
    attr: *const fibre_attr_t,
    stack: *mut *mut c_void,
) -> c_int {
    read(attr, stack, fibre_attr_t::stack_end)
}
