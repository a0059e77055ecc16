//! Signal masks as programs had them before POSIX: `sigblock` and its kin of BSD, `sighold` and its
//! kin of System V.
//!
//! The system's calls would let handlers run on a processor, in the midst of the runtime. So each
//! call here is [`fibre_sigmask`] in other words.

use crate::errno;
use crate::sigmask::fibre_sigmask;
use crate::signal::may_be_sent;
use fibre_io::posix::signal_set::{bit, read, write};
use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;

/// What is called for a signal; or `SIG_DFL` and its kin.
pub type fibre_handler_t = Option<unsafe extern "C" fn(signal: c_int)>;

/// `SIG_HOLD`.
const HOLD: usize = 2;

/// Changes the caller's mask; returns what it was.
fn change(how: c_int, signals: u64) -> u64 {
    // SAFETY: sets of our own; all zeros are such.
    unsafe {
        let (mut set, mut before) = mem::zeroed::<(libc::sigset_t, libc::sigset_t)>();
        write(&raw mut set, signals);
        fibre_sigmask(how, &raw const set, &raw mut before);
        read(&raw const before)
    }
}

/// The first 32 signals of a mask, of which these calls know.
const fn first(signals: u64) -> c_int {
    signals as u32 as c_int
}

/// Those signals, of a word.
const fn of(word: c_int) -> u64 {
    word as u32 as u64
}

/// Changes whether the caller blocks a signal; returns whether it did, or nothing and `EINVAL` if
/// there is none of this number.
fn change_one(how: c_int, signal: c_int) -> Option<bool> {
    if signal == 0 || !may_be_sent(signal) {
        errno::set(libc::EINVAL);
        return None;
    }
    Some(change(how, bit(signal)) & bit(signal) != 0)
}

/// Zero, or -1.
const fn done(held: Option<bool>) -> c_int {
    match held {
        Some(_) => 0,
        None => -1,
    }
}

/// `sigblock`: blocks these signals, a bit for each, from the lowest on; returns those that were
/// blocked.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_sigblock(signals: c_int) -> c_int {
    first(change(libc::SIG_BLOCK, of(signals)))
}

/// `sigsetmask`: blocks these signals and no others; returns those that were blocked.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_sigsetmask(signals: c_int) -> c_int {
    first(change(libc::SIG_SETMASK, of(signals)))
}

/// `siggetmask`: which signals are blocked.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_siggetmask() -> c_int {
    fibre_sigblock(0)
}

/// `sighold`: blocks a signal. -1 and `EINVAL` for no signal.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_sighold(signal: c_int) -> c_int {
    done(change_one(libc::SIG_BLOCK, signal))
}

/// `sigrelse`: lets a signal in. -1 and `EINVAL` for no signal.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_sigrelse(signal: c_int) -> c_int {
    done(change_one(libc::SIG_UNBLOCK, signal))
}

/// `sigset`: has the function called for a signal, which is let in; or, with `SIG_HOLD`, blocks it.
/// Returns what was called for it, `SIG_HOLD` if it was blocked, or `SIG_ERR` and `EINVAL` for no
/// signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sigset(signal: c_int, handler: fibre_handler_t) -> fibre_handler_t {
    // SAFETY: numbers stand for such functions where the system says so.
    let handler = unsafe { mem::transmute::<fibre_handler_t, *mut c_void>(handler) };
    // SAFETY: numbers stand for such functions where the system says so.
    unsafe { mem::transmute::<*mut c_void, fibre_handler_t>(set(signal, handler)) }
}

/// See [`fibre_sigset`].
fn set(signal: c_int, handler: *mut c_void) -> *mut c_void {
    let holds = handler.addr() == HOLD;
    // SAFETY: an action of our own; all zeros is one.
    let mut before = unsafe { mem::zeroed::<libc::sigaction>() };
    let mut wanted = before;
    wanted.sa_sigaction = handler.expose_provenance();
    let wanted = if holds {
        ptr::null()
    } else {
        &raw const wanted
    };
    // SAFETY: the caller's function, and room for the old one.
    if unsafe { libc::sigaction(signal, wanted, &raw mut before) } < 0 {
        return ptr::without_provenance_mut(libc::SIG_ERR);
    }
    let how = if holds {
        libc::SIG_BLOCK
    } else {
        libc::SIG_UNBLOCK
    };
    match change_one(how, signal) {
        None => ptr::without_provenance_mut(libc::SIG_ERR),
        Some(true) => ptr::without_provenance_mut(HOLD),
        Some(false) => ptr::with_exposed_provenance_mut(before.sa_sigaction),
    }
}
