//! Ending a fibre from deep inside.
//!
//! C frames are never unwound. The first frame of this library on a fibre's stack notes where it is
//! (`enter`). The call that ends the fibre runs the cleanup handlers, the last first, and then goes
//! back there (`escape`) with the result, as `longjmp` would. It forgets the frames in between, so
//! none of them may have anything to drop: that is why calls that may end in cancellation leave
//! from their outermost frame.
//!
//! Once a fibre has returned, or gone back, nothing cancels it any more. Its destructors run in
//! calls of `enter` of their own, so `fibre_exit` in a destructor ends only that destructor. They
//! run in the order that threads of the system have ([`end_values`]).
//!
//! `enter` tells unwinders that it is the end of the stack, so an uncaught exception ends a C++
//! program by `std::terminate`, where it was thrown, as it does in a thread.

use crate::init;
use crate::record::{self, Record, fibre_routine_t, fibre_start_t};
use fibre_core::internal::{
    abort_with, blocks_signals, end_locals, end_own_thread, end_own_thread_locals, enter, escape,
    forget_locals, has_locals, has_own_thread_locals, raise_shield,
};
use fibre_core::is_forked_child;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// `PTHREAD_CANCELED`.
const CANCELED: *mut c_void = ptr::without_provenance_mut(usize::MAX);

/// Ends the calling fibre, which has found out that it is cancelled. No frame between this and C
/// has anything to drop.
#[cold]
pub fn leave() -> ! {
    end(CANCELED)
}

/// Calls `start(argument)` as what ends where the fibre does; returns its result, or what the fibre
/// is ended with. Nothing cancels it afterwards.
///
/// # Safety
///
/// The record is the calling fibre's, and `start` may be called.
pub unsafe fn call(record: &Record, start: fibre_start_t, argument: *mut c_void) -> *mut c_void {
    // SAFETY: the caller's promise; frames that are skipped by an escape have nothing to drop, see
    // the module text.
    let result = unsafe { enter(start, argument, record.frame.as_ptr()) };
    // The frames of handlers that the program has not popped are gone.
    record.cleanup.set(ptr::null_mut());
    begin_end(record);
    result
}

/// How often keys of the library and of the system are looked for in turn, as their destructors may
/// set others: `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

/// Calls the destructors of the fibre, as the end of a thread does: of its thread-locals, if they
/// are its own, then of its keys, then of keys of the system's that code has used which is not
/// mapped. Returns the fibre's result, or what one of them has ended with instead.
///
/// # Safety
///
/// The record is the calling fibre's.
pub unsafe fn end_values(record: &Record, mut result: *mut c_void) -> *mut c_void {
    // SAFETY: passed on. Frames that could have borrowed a value have been left for good.
    unsafe {
        result = end_thread_locals(record, result);
        for _ in 0..ROUNDS {
            // Once, unless a destructor is left by an escape.
            while has_locals() {
                result = until_done(record, result, || end_locals());
            }
            if !has_own_thread_locals() {
                return result;
            }
            result = until_done(record, result, || end_own_thread());
            if !has_locals() {
                return result;
            }
        }
        // Destructors of keys of either kind set values of the other kind again and again.
        forget_locals();
    }
    result
}

/// Calls the destructors of the fibre's thread-locals, if they are its own; returns as
/// [`end_values`] does.
///
/// # Safety
///
/// As for [`end_values`].
pub unsafe fn end_thread_locals(record: &Record, result: *mut c_void) -> *mut c_void {
    if !has_own_thread_locals() {
        return result;
    }
    // SAFETY: passed on. Frames that could have borrowed a value have been left for good.
    unsafe { until_done(record, result, || end_own_thread_locals()) }
}

/// Calls `step`, which calls destructors, until none of them has left it by an escape; returns the
/// result, or what one of them has ended with instead.
///
/// # Safety
///
/// As for [`end_values`]; `step` may be called again for what is left, and has nothing to drop.
unsafe fn until_done(record: &Record, mut result: *mut c_void, step: fn()) -> *mut c_void {
    let taken = Step {
        take: step,
        is_done: Cell::new(false),
    };
    loop {
        let argument = ptr::from_ref(&taken).cast_mut().cast();
        // SAFETY: passed on.
        let left_with = unsafe { call(record, Some(take), argument) };
        if taken.is_done.get() {
            return result;
        }
        result = left_with;
    }
}

/// Something to do that an escape may leave.
struct Step {
    take: fn(),
    is_done: Cell<bool>,
}

/// Does a [`Step`].
unsafe extern "C-unwind" fn take(step: *mut c_void) -> *mut c_void {
    // SAFETY: it is in a frame of `until_done`, which waits for this.
    let step = unsafe { &*step.cast::<Step>() };
    (step.take)();
    step.is_done.set(true);
    ptr::null_mut()
}

/// From now on nothing cancels the fibre: it tidies up.
fn begin_end(record: &Record) {
    if !record.begin_end() {
        raise_shield();
    }
}

/// A cleanup handler, as the macros of the header put it into the frame that pushes it.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_cleanup_t {
    /// What is called.
    routine: fibre_routine_t,
    /// The argument of the call.
    argument: *mut c_void,
    /// The one that was pushed before.
    next: *mut fibre_cleanup_t,
}

/// Ends the caller with this result, having called its cleanup handlers.
pub fn end(result: *mut c_void) -> ! {
    let record = record::of_caller();
    begin_end(record);
    loop {
        let last = record.cleanup.get().cast::<fibre_cleanup_t>();
        // SAFETY: handlers that have been pushed and not popped are in frames that are still there.
        let Some(handler) = (unsafe { last.as_ref() }) else {
            break;
        };
        record.cleanup.set(handler.next.cast());
        if let Some(routine) = handler.routine {
            // SAFETY: the program has asked for it.
            unsafe { routine(handler.argument) };
        }
    }
    if record::of_fibre().is_none() {
        end_thread(record, result);
    }
    // SAFETY: the frame is at the bottom of this stack.
    unsafe { escape(record.frame.get(), result) }
}

/// Ends a plain thread. The main one lets all fibres come to their ends first, and then ends the
/// process, as that of a program without fibres would.
fn end_thread(record: &Record, result: *mut c_void) -> ! {
    if fibre_core::in_fibre() {
        abort_with(format_args!(
            "fibre_exit in a fibre that this library has not made"
        ));
    }
    refuse_elsewhere();
    if !record::is_initial() {
        // SAFETY: the caller's wish; no frame of ours has anything to drop.
        unsafe { libc::pthread_exit(result) }
    }
    if is_forked_child() {
        end_child();
    }
    // Here, as others may wait for what they do; they may well call this again.
    // SAFETY: no frame above goes on.
    unsafe { end_locals() };
    record.result.set(result);
    record.ended.set();
    init::wait_for_all();
    // SAFETY: no frame above goes on.
    unsafe { libc::exit(0) }
}

/// The kernel's number of the thread that does nothing but serve the first fibre; zero for none.
pub static SERVES_MAIN: Service = Service(AtomicI32::new(0));

/// That of the thread by which signals are let in that fibres let in.
pub static LETS_SIGNALS_IN: Service = Service(AtomicI32::new(0));

/// A thread that runs nothing of the program but signal handlers, and that this library needs.
#[derive(Debug)]
pub struct Service(AtomicI32);

impl Service {
    /// Says that the calling thread is the one.
    pub fn begin(&self) {
        // SAFETY: no requirement.
        self.0.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    }

    /// Says that no thread is.
    pub fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the calling thread is the one. In a forked child none is.
    fn is_here(&self) -> bool {
        // SAFETY: no requirement.
        self.0.load(Ordering::Relaxed) == unsafe { libc::gettid() }
    }
}

/// Ends the process if the caller is a signal handler on a thread that no fibre is on and this
/// library needs, or a routine of `fibre_blocking`.
fn refuse_elsewhere() {
    let caller = if SERVES_MAIN.is_here() {
        "a signal handler, on the thread that serves fibre \"main\""
    } else if LETS_SIGNALS_IN.is_here() {
        "a signal handler, on the thread \"fibre/signals\", which no fibre is on"
    } else if blocks_signals() {
        "a routine of fibre_blocking, whose thread no fibre is on"
    } else {
        return;
    };
    abort_with(format_args!(
        "fibre_exit (pthread_exit) was called by {caller}: it has no fibre to end"
    ));
}

/// Ends a forked child, whose only thread ends: it has no fibres to wait for, and no joiner to
/// tell.
pub fn end_child() -> ! {
    // SAFETY: no frame above goes on.
    unsafe {
        end_locals();
        libc::exit(0)
    }
}

/// `pthread_exit`: ends the calling fibre with a result, after its cleanup handlers and before its
/// keys' destructors. In the main thread, lets all fibres run to their ends, and then ends the
/// process with status 0; in a forked child, does so at once. In a handler of a signal that the
/// fibre has raised itself, ends the fibre; in one that runs on a thread of the library, or serves
/// `main`, ends the process by SIGABRT.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_exit(result: *mut c_void) -> ! {
    end(result)
}

/// Pushes a cleanup handler; for the macro `fibre_cleanup_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_cleanup_enter(
    handler: *mut fibre_cleanup_t,
    routine: fibre_routine_t,
    argument: *mut c_void,
) {
    let record = record::of_caller();
    let handler_value = fibre_cleanup_t {
        routine,
        argument,
        next: record.cleanup.get().cast(),
    };
    // SAFETY: a handler in a frame of the caller.
    unsafe { handler.write(handler_value) };
    record.cleanup.set(handler.cast());
}

/// Pops the cleanup handler that was pushed last, and calls it if asked to; for the macro
/// `fibre_cleanup_pop`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_cleanup_leave(handler: *mut fibre_cleanup_t, execute: c_int) {
    // SAFETY: pushed in the same frame.
    let handler = unsafe { &*handler };
    record::of_caller().cleanup.set(handler.next.cast());
    if execute != 0
        && let Some(routine) = handler.routine
    {
        // SAFETY: the program has asked for it.
        unsafe { routine(handler.argument) };
    }
}
