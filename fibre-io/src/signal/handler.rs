//! The handler of all signals that have waiters.
//!
//! The handler counts, and writes to an eventfd. A handler may do both at any moment, on any stack.
//! Both use statics that never go away, so the handler cannot race with the end of an object. Each
//! waiter remembers the counts that it has seen, and has a duplicate of the eventfd, which is never
//! read and reports each write to all of them.
//!
//! The handler also calls the handler that was there before. When a signal has no waiters left, the
//! earlier handler is restored, unless other code has installed another one over this one since,
//! which may call this one.
//!
//! # Memory ordering
//!
//! The count is incremented with release before the write; a waiter that the write has woken
//! acquires it. An earlier handler is published by release before this one is installed.

use super::number::{SIGNALS, Signal};
use crate::sequence_cursor::SequenceCursor;
use fibre_core::is_forked_child;
use fibre_core::sync::thread_mutex::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, Ordering};

/// How often each signal has come.
static COUNTS: [AtomicU64; SIGNALS] = [const { AtomicU64::new(0) }; SIGNALS];

/// The number of the eventfd, for the handler.
static NEWS: AtomicI32 = AtomicI32::new(-1);

/// What the handler does after its own work: the action that it replaced, one of [`ACTIONS`].
static BEFORE: [AtomicPtr<libc::sigaction>; SIGNALS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SIGNALS];

/// How many wait for each signal; `None`: our handler is not installed.
static USERS: Mutex<[Option<usize>; SIGNALS]> = Mutex::new([None; SIGNALS]);

/// All actions that ours has replaced, one for each that differs. Never freed, as handlers may be
/// running.
static ACTIONS: Mutex<Vec<&'static libc::sigaction>> = Mutex::new(Vec::new());

/// Somebody's interest in a signal, which keeps the handler installed.
#[derive(Debug)]
pub(super) struct Watched {
    /// The signal.
    pub signal: Signal,
    /// The count that its owner has seen.
    seen: SequenceCursor,
}

impl Watched {
    /// From now on. Installs the handler if need be.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for signals that tell of a fault or that cannot be caught; those of
    /// `sigaction`.
    pub(super) fn new(signal: Signal) -> io::Result<Self> {
        if is_fault(signal) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{signal} cannot be waited for"),
            ));
        }
        let mut users = USERS.lock();
        let count = &mut users[signal.index()];
        // Somebody may have put back what was there before ours. Another handler may call ours.
        if count.is_none() || is_unhandled(signal)? {
            install(signal)?;
        }
        *count = Some(count.unwrap_or(0) + 1);
        let seen = SequenceCursor::up_to(COUNTS[signal.index()].load(Ordering::Acquire));
        Ok(Self { signal, seen })
    }

    /// Whether it has come since it was taken last; takes it.
    pub(super) fn take(&self) -> bool {
        let arrivals = || COUNTS[self.signal.index()].load(Ordering::Acquire);
        self.seen.take(arrivals)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut users = USERS.lock();
        let count = &mut users[self.signal.index()];
        *count = match *count {
            Some(1) if restore(self.signal) => None,
            count => count.map(|users| users - 1),
        };
    }
}

/// The eventfd that the handler writes to.
///
/// # Errors
///
/// When there is no descriptor left.
pub(super) fn news() -> io::Result<BorrowedFd<'static>> {
    static FD: OnceLock<OwnedFd> = OnceLock::new();
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock();
    let fd = match FD.get() {
        Some(fd) => fd,
        None => {
            let new = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            FD.get_or_init(|| new)
        }
    };
    NEWS.store(fd.as_raw_fd(), Ordering::Release);
    Ok(fd.as_fd())
}

/// Whether a signal is raised by what a thread does itself, or cannot be caught.
fn is_fault(signal: Signal) -> bool {
    matches!(
        signal.as_raw(),
        libc::SIGSEGV
            | libc::SIGBUS
            | libc::SIGFPE
            | libc::SIGILL
            | libc::SIGTRAP
            | libc::SIGSYS
            | libc::SIGABRT
            | libc::SIGKILL
            | libc::SIGSTOP
    )
}

/// Installs the handler.
fn install(signal: Signal) -> io::Result<()> {
    let before = action(signal, None)?;
    // Other code may have put this handler back, having saved it: then it must not call itself.
    if before.sa_sigaction != handler_address() {
        let before = ptr::from_ref(kept(before)).cast_mut();
        BEFORE[signal.index()].store(before, Ordering::Release);
    }
    // SAFETY: all zeros are a valid value; the handler is async-signal-safe.
    let mut ours: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    ours.sa_sigaction = handler_address();
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // A thread's stack for signals has room for one frame, or a few: handlers take turns.
    // SAFETY: a set of our own.
    unsafe { libc::sigfillset(&raw mut ours.sa_mask) };
    action(signal, Some(&ours)).map(drop)
}

/// An action that stays, the same for equal ones.
fn kept(action: libc::sigaction) -> &'static libc::sigaction {
    let mut all = ACTIONS.lock();
    let known = all.iter().find(|known| is_equal(known, &action));
    if let Some(known) = known {
        return known;
    }
    let new: &_ = Box::leak(Box::new(action));
    all.push(new);
    new
}

/// Set by the C library in actions that it installs, whether they have a handler or not.
const SA_RESTORER: c_int = 0x0400_0000;

/// Whether two actions do the same.
fn is_equal(one: &libc::sigaction, other: &libc::sigaction) -> bool {
    let blocks = |action: &libc::sigaction, signal: usize| {
        // SAFETY: a set that the C library has written.
        unsafe { libc::sigismember(&raw const action.sa_mask, signal as c_int) == 1 }
    };
    one.sa_sigaction == other.sa_sigaction
        && (one.sa_flags ^ other.sa_flags) & !SA_RESTORER == 0
        && (1..SIGNALS).all(|signal| blocks(one, signal) == blocks(other, signal))
}

/// Whether a signal has no handler.
fn is_unhandled(signal: Signal) -> io::Result<bool> {
    let now = action(signal, None)?.sa_sigaction;
    Ok(now == libc::SIG_DFL || now == libc::SIG_IGN)
}

/// Puts the earlier action back. Returns `false` if other code has changed the action since.
fn restore(signal: Signal) -> bool {
    let before = BEFORE[signal.index()].load(Ordering::Acquire);
    let is_ours = action(signal, None).is_ok_and(|now| now.sa_sigaction == handler_address());
    // SAFETY: never freed.
    is_ours && unsafe { before.as_ref() }.is_some_and(|before| action(signal, Some(before)).is_ok())
}

/// Sets the action of a signal, if one is given; returns the one before.
fn action(signal: Signal, new: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let new = new.map_or(ptr::null(), ptr::from_ref);
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: null, or a valid action with a handler that is async-signal-safe or somebody else's;
    // room for the old one.
    match unsafe { libc::sigaction(signal.as_raw(), new, before.as_mut_ptr()) } {
        // SAFETY: written by the kernel.
        0 => Ok(unsafe { before.assume_init() }),
        // The one error that there can be: the C library keeps the signal for itself.
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// What is in the kernel's record of our handler.
fn handler_address() -> usize {
    on_signal as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize
}

/// The handler. Async-signal-safe, and leaves `errno` alone.
extern "C" fn on_signal(number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(signal) = Signal::from_raw(number) else {
        return;
    };
    // In a forked child the eventfd is the parent's, too.
    if !is_forked_child() {
        COUNTS[signal.index()].fetch_add(1, Ordering::Release);
        let news = NEWS.load(Ordering::Acquire);
        if news >= 0 {
            // SAFETY: never closed.
            let news = unsafe { BorrowedFd::borrow_raw(news) };
            // It cannot fail before the counter is full, in centuries.
            let _ = rustix::io::write(news, &1_u64.to_ne_bytes());
        }
    }
    // SAFETY: never freed.
    let Some(before) = (unsafe { BEFORE[signal.index()].load(Ordering::Acquire).as_ref() }) else {
        return;
    };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {}
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the flag says that the handler is such a function.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(number, info, context);
        }
        handler => {
            // SAFETY: no default and no flag: such a function.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::SIGURG;
    use super::*;

    /// A waiter that comes and goes leaves one record behind, and not one each time.
    #[test]
    fn records_are_used_again() {
        let record = || {
            drop(Watched::new(SIGURG).unwrap());
            BEFORE[SIGURG.index()].load(Ordering::Acquire)
        };
        let first = record();
        assert!(!first.is_null());
        assert!((0..100).all(|_| record() == first));
    }
}
