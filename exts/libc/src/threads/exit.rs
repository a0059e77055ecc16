//! `pthread_exit` in a thread that is a fibre.
//!
//! As in the C library, the stack is unwound by force first: destructors of C++ run, and handlers
//! that are attributes of variables (`cleanup`), as those of `pthread_cleanup_push` are in C++ and
//! with `-fexceptions`; those of C when the unwinder has passed their frames. Then the thread's
//! first frame returns the result, and destructors of thread-locals and of values of keys follow. A
//! frame of Rust that catches panics, as that of `std::thread`, ends the process, as it does in a
//! kernel thread.
//!
//! `main` ends by the C library's call. The process then ends with its last thread; as the threads
//! of the runtime stay, that is noticed here.

use super::exception::Exception;
use super::handler::call_innermost;
use super::living::main_leaves;
use super::thread::Thread;
use crate::entry::{is_open, threads_are_fibres};
use crate::next::call_next;
use fibre_core::in_fibre;
use fibre_core::internal::{abort_with, escape};
use std::ffi::{c_int, c_void};

/// A word of the unwinder's on what it does.
const NO_REASON: c_int = 0;

/// Among what an unwinder does: it has come to the end of the stack.
const AT_END: c_int = 16;

/// What an unwinder asks before each frame.
type Stop = unsafe extern "C-unwind" fn(
    version: c_int,
    actions: c_int,
    class: u64,
    exception: *mut Exception,
    context: *mut c_void,
    thread: *mut c_void,
) -> c_int;

unsafe extern "C-unwind" {
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, thread: *mut c_void) -> c_int;
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    if is_open()
        && let Some(thread) = Thread::of_caller()
    {
        end(thread, result)
    }
    if threads_are_fibres() && is_main() {
        main_leaves();
    }
    call_next!(pthread_exit: fn(result => *mut c_void) -> !)
}

/// Whether the caller is the thread that the process began with.
fn is_main() -> bool {
    // SAFETY: these ask for numbers.
    !in_fibre() && unsafe { libc::gettid() == libc::getpid() }
}

/// Ends the calling thread, a fibre.
pub(super) fn end(thread: &Thread, result: *mut c_void) -> ! {
    if thread.frame().is_null() {
        abort_with(format_args!(
            "pthread_exit in a destructor, at the end of a thread that is a fibre"
        ));
    }
    thread.leave_with(result);
    thread.requests().end();
    go_on(thread)
}

/// Goes on with that, from a frame of the thread.
pub(super) fn go_on(thread: &Thread) -> ! {
    // Not in this frame: the unwinder leaves that, and then calls destructors on its stack.
    let exception = thread.exception();
    let data = std::ptr::from_ref(thread).cast_mut().cast();
    // SAFETY: the thread's own exception, which nobody uses any more if it has been thrown before.
    unsafe {
        exception.write(Exception::new());
        _Unwind_ForcedUnwind(exception, stop, data);
    }
    // The stack cannot be unwound.
    // SAFETY: the handlers' frames, and the first frame, are below on this stack.
    unsafe {
        call_innermost(thread.cleanup().get(), None);
        escape(thread.frame(), thread.left_with())
    }
}

/// Goes back to the frame of a cleanup handler of C when the unwinder has passed it, and to the
/// thread's first frame once the unwinder has come there: it calls that the end of the stack.
unsafe extern "C-unwind" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut Exception,
    context: *mut c_void,
    thread: *mut c_void,
) -> c_int {
    // SAFETY: the calling thread.
    let thread = unsafe { &*thread.cast::<Thread>() };
    let is_last = actions & AT_END != 0;
    // SAFETY: the unwinder's, and frames that it has left.
    unsafe {
        let frame = (!is_last).then(|| _Unwind_GetCFA(context));
        call_innermost(thread.cleanup().get(), frame);
    }
    if !is_last {
        return NO_REASON;
    }
    // SAFETY: the first frame is below on this stack, and the frames between have been unwound.
    unsafe { escape(thread.frame(), thread.left_with()) }
}
