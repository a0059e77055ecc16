//! Calls of `exit` on a processor's thread.
//!
//! The C library's `exit` ends the thread-local values of the calling thread, before anything else.
//! On a processor's thread these belong to all fibres that have started there. One of them may be
//! using such a value, or have lent one to another thread; and a destructor that waits would let
//! the fibres go on. No handler runs before these destructors, so this module catches the call
//! itself, with an `exit` of its own.
//!
//! On a foreign thread it calls the C library's. On a processor's thread it starts a fresh thread,
//! which has no thread-local values and calls the C library's. Then it blocks the processor: none
//! of the processor's fibres runs again, and the processor's thread does not end. Other processors
//! go on until the process has ended, as threads do.
//!
//! The symbol is weak and hidden: it serves only the program or library that this crate is linked
//! into (std's `process::exit` included), and gives way to another definition. A static C library
//! has one, which then replaces this. Two cases remain: a call from a shared library, by C code in
//! a fibre, and a static C library; see docs/decisions/0035.

#![cfg_attr(
    target_feature = "crt-static",
    allow(dead_code, reason = "there is no exit of ours")
)]

use crate::processor::Processor;
use crate::processor::os_thread;
use crate::sys::current;
use crate::sys::fork;
use crate::sys::stderr;
use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The type of the C library's `exit`.
type Exit = unsafe extern "C" fn(c_int) -> !;

/// Whether exits happen where they are asked for, whatever runs there.
static IN_PLACE: AtomicBool = AtomicBool::new(false);

#[cfg(not(target_feature = "crt-static"))]
crate::arch::define_exit!(exit);

/// Makes every exit happen on the calling thread, as the C library does by itself: for a layer
/// above with programs that rely on that.
pub fn exit_in_place() {
    IN_PLACE.store(true, Ordering::Relaxed);
}

/// Ends the process. Public for the sake of the assembly above.
pub extern "C" fn exit(code: c_int) -> ! {
    let real = real_exit();
    if Processor::here(|_| ()).is_none() || IN_PLACE.load(Ordering::Relaxed) {
        // SAFETY: the caller has asked to end the process.
        unsafe { real(code) }
    }
    if fork::is_forked_child() {
        // It has no other thread. No fibre runs in it again, also if a destructor waits: the thread
        // is a plain one from here on.
        current::set(ptr::null(), ptr::null());
        // SAFETY: the caller has asked to end the process.
        unsafe { real(code) }
    }
    // SAFETY: as above.
    let started = os_thread::start("fibre-exit".to_owned(), None, move || unsafe { real(code) });
    if let Err(error) = started {
        stderr::warn(format_args!(
            "exit: no thread can be started for it ({error}), so thread-local values are not ended"
        ));
        // SAFETY: the caller has asked to end the process; the handlers of this process may be run
        // once, on any thread.
        unsafe { exit_without_values(code) }
    }
    loop {
        std::thread::park();
    }
}

/// The rest of an exit, after the thread's values have been ended.
///
/// # Safety
///
/// The process may end.
unsafe extern "C" fn exit_without_values(code: c_int) -> ! {
    unsafe extern "C" {
        /// Calls the exit handlers: with null, those of the whole process.
        fn __cxa_finalize(of: *mut c_void);
    }
    // SAFETY: the caller's promise. All streams are flushed by null.
    unsafe {
        __cxa_finalize(ptr::null_mut());
        libc::fflush(ptr::null_mut());
        libc::_exit(code)
    }
}

/// Finds the C library's `exit`.
fn real_exit() -> Exit {
    static REAL: OnceLock<Exit> = OnceLock::new();
    *REAL.get_or_init(|| {
        // SAFETY: a name that ends with zero.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"exit".as_ptr()) };
        if next.is_null() {
            return exit_without_values;
        }
        // SAFETY: this is the function's type in all versions of the C library.
        unsafe { mem::transmute::<*mut c_void, Exit>(next) }
    })
}
