//! Calls that change the credentials of all threads: `setuid` and its like.
//!
//! The kernel has credentials for each kernel thread. So glibc sends each of them a signal, and
//! waits until all have handled it. Its handler makes the call, and says so in the block that it
//! finds by the thread pointer, which is a fibre's while one runs: glibc would wait for ever. So
//! the handler of that signal is ours. It calls glibc's with the thread pointer of the kernel
//! thread.

use super::init_error::InitError;
use crate::arch;
use crate::sys::syscall::syscall;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The signal, which glibc keeps for itself.
const SIGSETXID: usize = 33;

/// Bytes of a set of signals, as the kernel has it.
const SET: usize = 8;

/// What the kernel knows of a signal's handler.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Action {
    handler: usize,
    flags: usize,
    restorer: usize,
    blocked: u64,
}

/// glibc's handler.
static OF_LIBRARY: AtomicUsize = AtomicUsize::new(0);

/// Puts our handler before glibc's. glibc has set its own when the first thread was created.
///
/// # Errors
///
/// In words, if it has none; or the kernel's.
pub(super) fn install() -> Result<(), InitError> {
    let ours = handle as *const () as usize;
    let mut known = Action {
        handler: 0,
        flags: 0,
        restorer: 0,
        blocked: 0,
    };
    let call = |new: *const Action, old: *mut Action| {
        let (new, old) = (new.expose_provenance(), old.expose_provenance());
        // SAFETY: an action, and a place for one. The handler keeps to the contract below.
        unsafe { syscall(libc::SYS_rt_sigaction, [SIGSETXID, new, old, SET, 0, 0]) }
    };
    call(ptr::null(), &raw mut known)?;
    if known.handler <= libc::SIG_IGN {
        return Err("glibc has no handler for `setuid`".into());
    }
    if known.handler == ours {
        return Ok(());
    }
    OF_LIBRARY.store(known.handler, Ordering::Release);
    let action = Action {
        handler: ours,
        ..known
    };
    call(&raw const action, ptr::null_mut())?;
    Ok(())
}

/// Calls glibc's handler as the kernel thread that it is called on. Async-signal-safe: it touches
/// nothing of the interrupted code but the thread pointer, which it sets back.
unsafe extern "C" fn handle(
    signal: c_int,
    information: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let place = arch::current_place() + arch::CARRIER;
    // SAFETY: every block has the word. It is zero, or leads to the block of the kernel thread that
    // runs the fibre, which is the calling one.
    unsafe {
        let own = match arch::thread_word(place) {
            0 => arch::thread_pointer(),
            carrier => carrier,
        };
        let handler = OF_LIBRARY.load(Ordering::Acquire);
        arch::handle_as(signal, information, context, handler, own);
    }
}
