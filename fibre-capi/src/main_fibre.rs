//! `main` as the first fibre.
//!
//! Compiled with `-DFIBRE_MAIN`, a program has a `__libc_start_main` of its own. That calls
//! [`fibre_start_main`], which calls the C library's with `main_on_a_fibre` instead of `main`. So
//! whatever `main` looks like, and whatever happens before and after it, stays as it is.
//!
//! The thread that the process began with waits until the fibre has ended, and goes on to `exit` as
//! if it had run `main` itself. If `pthread_exit` or a cancellation has ended the fibre, the thread
//! does what `pthread_exit` in it would do. It does not join the fibre: the program may do that, or
//! detach it.
//!
//! That thread runs the handlers of signals that are sent to the process, so meanwhile it blocks
//! the signals that the fibre wants to have blocked.
//!
//! A return from `main` ends the process, so its keys' destructors are not called then. Those of
//! its thread-locals are, if they are the fibre's own, before those of static objects.

use crate::attr::fibre_attr_t;
use crate::exit::{self, fibre_exit};
use crate::main_thread;
use crate::record::{Record, fibre_t, of_caller};
use crate::thread::create;
use fibre_core::internal::{Ending, abort_with, forget_locals, limit, switch};
use fibre_core::is_forked_child;
use fibre_sync::Event;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

/// A `main`.
pub type fibre_main_t =
    unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// What the C library's beginning calls before and after `main`, if anything.
pub type fibre_hook_t = Option<unsafe extern "C" fn()>;

/// The C library's beginning.
type StartMain = unsafe extern "C-unwind" fn(
    fibre_main_t,
    c_int,
    *mut *mut c_char,
    fibre_hook_t,
    fibre_hook_t,
    fibre_hook_t,
    *mut c_void,
) -> c_int;

/// The name of the latter.
const START_MAIN: &CStr = c"__libc_start_main";

/// Bytes of the first fibre's stack where the system sets no limit to a process' stack.
const STACK_SIZE: usize = 8 << 20;

/// How often it is looked whether there is a stack for it.
const BETWEEN: Duration = Duration::from_millis(10);

/// The program's `main`.
static PROGRAM: OnceLock<fibre_main_t> = OnceLock::new();

/// A call of `main`, as its fibre sees it. It lives on the thread that waits for the fibre.
struct MainCall {
    /// The program's `main`.
    main: fibre_main_t,
    /// Its arguments.
    argument_count: c_int,
    /// The arguments of the program.
    arguments: *mut *mut c_char,
    /// The environment of the program.
    environment: *mut *mut c_char,
    /// What it has returned, if it has.
    code: Cell<Option<c_int>>,
    /// "The fibre runs."
    begun: Event,
    /// "It has ended, but for what touches nothing of the program": the last that the fibre uses of
    /// this.
    ended: Event,
}

/// Begins a program whose `main` is to be the first fibre; what `__libc_start_main` in such a
/// program calls. `FIBRE_MAIN=0` leaves `main` on its thread.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_start_main(
    program: fibre_main_t,
    argument_count: c_int,
    arguments: *mut *mut c_char,
    init: fibre_hook_t,
    fini: fibre_hook_t,
    loader_fini: fibre_hook_t,
    stack_end: *mut c_void,
) -> c_int {
    // SAFETY: a name that ends with zero.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, START_MAIN.as_ptr()) };
    if next.is_null() {
        abort_with(format_args!(
            "main cannot be a fibre: the C library is not a shared one"
        ));
    }
    // SAFETY: this is the function's type in all versions of the C library.
    let next = unsafe { mem::transmute::<*mut c_void, StartMain>(next) };
    PROGRAM.get_or_init(|| program);
    // SAFETY: called as the program's first instructions wanted it, but for `main`.
    unsafe {
        next(
            main_on_a_fibre,
            argument_count,
            arguments,
            init,
            fini,
            loader_fini,
            stack_end,
        )
    }
}

/// What stands for `main`.
unsafe extern "C-unwind" fn main_on_a_fibre(
    argument_count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    let Some(&main) = PROGRAM.get() else {
        unreachable!("the C library was given this function together with the program's")
    };
    if switch("FIBRE_MAIN") == Some(false) {
        // SAFETY: as the C library would call it.
        return unsafe { main(argument_count, arguments, environment) };
    }
    let call = MainCall {
        main,
        argument_count,
        arguments,
        environment,
        code: Cell::new(None),
        begun: Event::new(),
        ended: Event::new(),
    };
    let attributes = fibre_attr_t::of_main(stack_size());
    let argument = ptr::from_ref(&call).cast_mut().cast();
    main_thread::begin();
    exit::SERVES_MAIN.begin();
    let mut handle = 0;
    // SAFETY: the call outlives the fibre's use of it, whose end is awaited here.
    let created = unsafe { create(&attributes, Some(run), argument, |fibre| handle = fibre) };
    if let Err(error) = created {
        abort_with(format_args!("main cannot be a fibre: {error}"));
    }
    while !call.begun.wait_timeout(BETWEEN) {
        if has_no_stack(handle) {
            abort_with(format_args!("main cannot be a fibre: no stack"));
        }
    }
    main_thread::serve(&call.ended);
    exit::SERVES_MAIN.end();
    match call.code.get() {
        Some(code) => code,
        // SAFETY: it is what the fibre did.
        None => unsafe { fibre_exit(ptr::null_mut()) },
    }
}

/// Whether a fibre will never run.
fn has_no_stack(handle: fibre_t) -> bool {
    let ending = Record::with(handle, |_, fibre| fibre.and_then(|fibre| fibre.ending()));
    matches!(ending, Ok(Some(Ending::NoStack(_))))
}

/// The first fibre.
unsafe extern "C-unwind" fn run(argument: *mut c_void) -> *mut c_void {
    // SAFETY: see `main_on_a_fibre`.
    let call = unsafe { &*argument.cast::<MainCall>() };
    let record = of_caller();
    main_thread::enter(record.handle());
    call.begun.set();
    // SAFETY: the fibre's own record; what it calls is for this argument.
    let mut result = unsafe { exit::call(record, Some(run_main), argument) };
    if call.code.get().is_some() {
        // SAFETY: frames that could have borrowed a value have been left, and the process ends.
        // `exit` does the same for the initial thread.
        unsafe {
            result = exit::end_thread_locals(record, result);
            forget_locals();
        }
    } else {
        // SAFETY: frames that could have borrowed a value have been left.
        result = unsafe { exit::end_values(record, result) };
    }
    call.ended.set();
    main_thread::leave();
    result
}

/// Calls `main`.
unsafe extern "C-unwind" fn run_main(call: *mut c_void) -> *mut c_void {
    // SAFETY: see `main_on_a_fibre`.
    let call = unsafe { &*call.cast::<MainCall>() };
    // SAFETY: as the C library would call it.
    let code = unsafe { (call.main)(call.argument_count, call.arguments, call.environment) };
    if is_forked_child() {
        // The thread that waits for the code is not there.
        // SAFETY: it is what that thread would do.
        unsafe { libc::exit(code) };
    }
    call.code.set(Some(code));
    ptr::null_mut()
}

/// Bytes of its stack: as many as the system would let the first thread's have.
fn stack_size() -> usize {
    limit(libc::RLIMIT_STACK)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .unwrap_or(STACK_SIZE)
}
