//! The signal mask of a thread that is a fibre.
//!
//! A processor blocks all signals that may come at any time, and goes on doing so: handlers must
//! not run on the stacks of fibres. So the mask of a thread that is a fibre is a word in its
//! record. It has its creator's at first, and says what the threads and programs block that it
//! starts. It lets nothing in. The mask of the thread of `main` is the kernel's.
//!
//! The runtime asks the kernel by instruction, so its own changes of masks do not come here.

use super::thread::Thread;
use crate::entry::is_open;
use crate::errno;
use fibre_core::internal::{blocks_signals, signals_blocked_by_program};
use fibre_io::posix::signal_set::{self, bit, read, write};
use fibre_io::posix::syscall::syscall;
use libc::sigset_t;
use std::ffi::c_int;
use std::ptr;

/// Signals that no mask can block: two that always act, and two that the C library has for itself.
const NEVER: u64 = bit(libc::SIGKILL) | bit(libc::SIGSTOP) | bit(32) | bit(33);

/// What a thread or a program that the caller starts is to block: for a fibre that is no thread of
/// the program, and on the runtime's threads, what was blocked where the first cluster was started.
pub(super) fn of_caller() -> u64 {
    match Thread::of_caller() {
        Some(thread) => thread.blocked(),
        None if blocks_signals() => signals_blocked_by_program(),
        None => signal_set::blocked(),
    }
}

/// What the calling thread blocks in a child that it has forked; `None`: it is no thread of ours.
pub(super) fn in_child() -> Option<u64> {
    Thread::of_caller().map(Thread::blocked)
}

/// `pthread_sigmask`: the mask of the calling thread.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const sigset_t,
    before: *mut sigset_t,
) -> c_int {
    // SAFETY: null, or the caller's set.
    let named = (!set.is_null()).then(|| unsafe { read(set) } & !NEVER);
    let Some(thread) = Thread::of_caller().filter(|_| is_open()) else {
        return ask_kernel(how, named, before);
    };
    let old = thread.blocked();
    if let Some(named) = named {
        thread.block(match how {
            libc::SIG_BLOCK => old | named,
            libc::SIG_UNBLOCK => old & !named,
            libc::SIG_SETMASK => named,
            _ => return libc::EINVAL,
        });
    }
    if !before.is_null() {
        // SAFETY: the caller's room.
        unsafe { write(before, old) };
    }
    0
}

/// The mask of a kernel thread. Returns an error number.
fn ask_kernel(how: c_int, named: Option<u64>, before: *mut sigset_t) -> c_int {
    let set: *const u64 = named.as_ref().map_or(ptr::null(), ptr::from_ref);
    let asked = syscall!(SYS_rt_sigprocmask, how, set, before, size_of::<u64>()).here();
    asked.map_or_else(|error| error.raw_os_error(), |_| 0)
}

/// `sigprocmask`: [`pthread_sigmask`] that returns -1 and sets the error number.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, set: *const sigset_t, before: *mut sigset_t) -> c_int {
    // SAFETY: passed on.
    match unsafe { pthread_sigmask(how, set, before) } {
        0 => 0,
        number => {
            errno::set(number);
            -1
        }
    }
}
