//! Signals and forks, as far as fibres can have them.
//!
//! No signal can be sent to another fibre: processors block all of them, because a handler must not
//! run in the midst of the runtime. Instead the process gets the signal; a thread that is no
//! processor, usually the main one, runs the handler. A fibre gets a signal that it sends to itself
//! at once, see `self_signal`.

use crate::boundary::{contain, fail};
use crate::record::{Record, Refused, fibre_t, of_caller};
use crate::self_signal::raise;
use crate::sigmask::holds;
use fibre_core::in_fibre;
use fibre_io::posix::signal_set::LAST;
use std::ffi::c_int;

/// Signals that the C library has for itself: for cancellation, and for what all threads have to
/// do.
const INTERNAL: [c_int; 2] = [32, 33];

/// Whether a program may send such a signal, or zero.
pub fn may_be_sent(signal: c_int) -> bool {
    (0..=LAST).contains(&signal) && !INTERNAL.contains(&signal)
}

/// `pthread_kill`: sends a signal to the caller, as [`fibre_raise`], or to the process of another
/// fibre that there is; zero only looks for the fibre. No call of the fibre is interrupted. `ESRCH`
/// if there is no such fibre, `EINVAL` for no signal.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_kill(thread: fibre_t, signal: c_int) -> c_int {
    if !may_be_sent(signal) {
        return libc::EINVAL;
    }
    if let Err(refused) = contain(|| Record::with(thread, |_, _| ())) {
        return refused.number();
    }
    if thread == contain(of_caller).handle() {
        return raise_here(signal);
    }
    send(signal, None)
}

/// `pthread_sigqueue`: `fibre_kill` with a value.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_sigqueue(thread: fibre_t, signal: c_int, value: libc::sigval) -> c_int {
    if !may_be_sent(signal) {
        return libc::EINVAL;
    }
    let there = contain(|| Record::with(thread, |_, _| ()));
    there.map_or_else(Refused::number, |()| send(signal, Some(value)))
}

/// `raise`: sends a signal to the calling fibre or thread; if it has a handler, that has run when
/// this returns. -1 and `EINVAL` for no signal. What a fibre blocks
/// ([`fibre_sigmask`](crate::sigmask::fibre_sigmask)) is pending then, once.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_raise(signal: c_int) -> c_int {
    match raise_here(signal) {
        0 => 0,
        number => fail(number),
    }
}

/// Sends a signal to the caller; returns an error number.
fn raise_here(signal: c_int) -> c_int {
    if !may_be_sent(signal) {
        libc::EINVAL
    } else if in_fibre() && holds(signal) {
        0
    } else {
        raise(signal)
    }
}

/// Sends a signal to this process; returns an error number.
fn send(signal: c_int, value: Option<libc::sigval>) -> c_int {
    let kept = crate::errno::get();
    // SAFETY: asks for a number.
    let process = unsafe { libc::getpid() };
    if process <= 0 {
        // A sandbox has refused that, and -1 means all processes.
        crate::errno::set(kept);
        return libc::EPERM;
    }
    // SAFETY: plain numbers, and what the caller has given.
    let failed = unsafe {
        match value {
            _ if signal == 0 => 0,
            None => libc::kill(process, signal),
            Some(value) => libc::sigqueue(process, signal, value),
        }
    };
    let number = if failed == 0 { 0 } else { crate::errno::get() };
    crate::errno::set(kept);
    number
}

/// `pthread_atfork`: functions to call at a fork. In the child the runtime is dead: all that can be
/// done there is to exec another program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_atfork(
    prepare: Option<unsafe extern "C" fn()>,
    parent: Option<unsafe extern "C" fn()>,
    child: Option<unsafe extern "C" fn()>,
) -> c_int {
    // SAFETY: the caller's wish.
    unsafe { libc::pthread_atfork(prepare, parent, child) }
}
