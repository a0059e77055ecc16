//! Handlers of `pthread_cleanup_push` as C has them, without `-fexceptions`.
//!
//! The C library's macro saves a context in the handler's frame, and lists it by a call. The end of
//! the thread goes back to that context, which calls the handler, and then asks to go on with the
//! end. All that the C library keeps in it is behind the context.

use super::exit::go_on;
use super::handler::Handler;
use super::thread::Thread;
use crate::entry::is_open;
use crate::next::call_next;

/// The calling thread, if it is a fibre.
fn caller<'a>() -> Option<&'a Thread> {
    if is_open() { Thread::of_caller() } else { None }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __pthread_register_cancel(handler: *mut Handler) {
    match caller() {
        // SAFETY: the caller's handler.
        Some(thread) => unsafe { (*handler).outer = thread.cleanup().replace(handler) },
        None => call_next!(__pthread_register_cancel: fn(handler => *mut Handler) -> ()),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __pthread_unregister_cancel(handler: *mut Handler) {
    match caller() {
        // SAFETY: the caller's handler, the innermost one.
        Some(thread) => thread.cleanup().set(unsafe { (*handler).outer }),
        None => call_next!(__pthread_unregister_cancel: fn(handler => *mut Handler) -> ()),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __pthread_unwind_next(handler: *mut Handler) -> ! {
    let Some(thread) = caller() else {
        call_next!(__pthread_unwind_next: fn(handler => *mut Handler) -> !)
    };
    // SAFETY: the caller's handler, which has been called.
    thread.cleanup().set(unsafe { (*handler).outer });
    go_on(thread)
}
