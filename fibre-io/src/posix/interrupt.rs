//! Ending a system call of another thread: by a signal that the program does not use.
//!
//! If an object has no descriptor (messages of System V, any child process, a semaphore between
//! processes), a thread waits for it in the fibre's place ([`crate::posix::worker`]). When the
//! fibre is cancelled, that thread's call must end, and only a signal ends it. The signal is the
//! last real-time one with the default disposition. It gets a handler that does nothing, so that
//! the call fails with `EINTR`, and a thread lets it in only while it makes such a call.
//!
//! The program may send itself that very signal, for a `sigwait` that waits for it. The handler
//! recognises those signals by their sender: it blocks the signal on its thread and sends it to the
//! process again, and the next call uses another signal.
//!
//! A signal that comes before the call has begun ends nothing, so the sender repeats it until the
//! call has returned.

use crate::posix::signal_set::{bit, block, blocked};
use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// What the handler knows its own signals by.
const SENDER: c_int = libc::SI_TKILL;

/// The signal that was used last; zero before.
static CHOSEN: AtomicI32 = AtomicI32::new(0);

/// Signals that the program has sent, a bit each: they are its own.
static FOREIGN: AtomicU64 = AtomicU64::new(0);

/// Makes a call on this thread, and tells `publish` which signal to the thread ends the call. If no
/// signal is free, nothing can end it, and `publish` is not called.
pub fn interruptible<R>(publish: impl FnOnce(c_int), call: impl FnOnce() -> R) -> R {
    let Some(signal) = choose() else {
        return call();
    };
    let mask = blocked();
    publish(signal);
    block(mask & !bit(signal));
    let result = call();
    block(mask);
    result
}

/// Ends the call that a thread of this process is in, if it lets the signal in.
pub fn interrupt(thread: libc::pid_t, signal: c_int) {
    // SAFETY: numbers only; a signal to a thread that is gone fails.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}

/// A signal that has the handler.
fn choose() -> Option<c_int> {
    let foreign = FOREIGN.load(Ordering::Relaxed);
    let usable = |signal: &c_int| foreign & bit(*signal) == 0;
    let last = CHOSEN.load(Ordering::Relaxed);
    if last != 0 && usable(&last) && handler_of(last) == Some(handler_address()) {
        return Some(last);
    }
    let found = (libc::SIGRTMIN()..=libc::SIGRTMAX())
        .rev()
        .filter(usable)
        .find(|signal| take(*signal))?;
    CHOSEN.store(found, Ordering::Relaxed);
    Some(found)
}

/// Gives a signal the handler, if it has none, nor any other.
fn take(signal: c_int) -> bool {
    match handler_of(signal) {
        Some(handler) if handler == handler_address() => true,
        Some(libc::SIG_DFL) => {
            // SAFETY: all zeros is a valid action; the handler calls what handlers may.
            unsafe {
                let mut action: libc::sigaction = mem::zeroed();
                action.sa_sigaction = handler_address();
                action.sa_flags = libc::SA_SIGINFO;
                libc::sigaction(signal, &raw const action, ptr::null_mut()) == 0
            }
        }
        _ => false,
    }
}

/// What a signal does.
fn handler_of(signal: c_int) -> Option<usize> {
    // SAFETY: all zeros is a valid action, which is written to.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        let asked = libc::sigaction(signal, ptr::null(), &raw mut action);
        (asked == 0).then_some(action.sa_sigaction)
    }
}

/// The handler, as the kernel has it.
fn handler_address() -> usize {
    on_signal as *const () as usize
}

/// The handler that does nothing but interrupt. Calls only what is allowed in handlers.
unsafe extern "C" fn on_signal(
    signal: c_int,
    information: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the kernel gives valid pointers; the mask in the context is what the thread goes on
    // with.
    unsafe {
        let code = (*information).si_code;
        let process = libc::getpid();
        // A sandbox that refuses to tell answers -1, which means all processes.
        if process <= 0 || (code == SENDER && (*information).si_pid() == process) {
            return;
        }
        FOREIGN.fetch_or(bit(signal), Ordering::Relaxed);
        libc::sigaddset(
            &raw mut (*context.cast::<libc::ucontext_t>()).uc_sigmask,
            signal,
        );
        let mut default: libc::sigaction = mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &raw const default, ptr::null_mut());
        // A thread may not repeat what `kill` has sent, which has nothing to tell but its sender.
        if code >= 0 {
            libc::kill(process, signal);
        } else {
            libc::syscall(libc::SYS_rt_sigqueueinfo, process, signal, information);
        }
    }
}
