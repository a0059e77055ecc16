//! Signals that threads which are fibres send to each other, and wait for: `pthread_kill`,
//! `sigwait` and their kin.
//!
//! A fibre waits for signals that are sent to the process and that no thread lets in: a program
//! blocks them before it creates threads, and processors block them in any case. It takes a signal
//! by a call that never waits. While there is none, it waits for a descriptor that becomes readable
//! with the next one (`signalfd`), or looks every few milliseconds if there is no descriptor to
//! spare.
//!
//! The kernel has no signals for one fibre. What is sent to a thread that blocks the signal goes to
//! the process, if the thread of `main` blocks it as well: then it stays pending until some thread
//! waits for it, or the one that it was sent to does. All else that is sent to a fibre is refused.

use super::thread::Thread;
use crate::entry::{cancellation_point, may_switch, stand_in};
use crate::errno;
use crate::next::call_next;
use fibre_core::sleep_within;
use fibre_io::posix::memory::{Memory, Trusted, duration};
use fibre_io::posix::signal_set::{LAST, bit, read};
use fibre_io::posix::syscall::syscall;
use fibre_io::posix::temporary_fd::TemporaryFd;
use fibre_io::raw::Failure;
use libc::{pthread_t, siginfo_t, sigset_t, timespec};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

/// How often a fibre looks that has no descriptor to wait for.
const BETWEEN: Duration = Duration::from_millis(10);

/// Bytes of a set, in the kernel's own form.
const SET: usize = size_of::<u64>();

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    // SAFETY: the caller's thread.
    let Some(ours) = (unsafe { Thread::of(thread) }) else {
        return call_next!(pthread_kill: fn(thread => pthread_t, signal => c_int) -> c_int);
    };
    // SAFETY: numbers.
    send(ours, signal, || unsafe {
        libc::kill(libc::getpid(), signal)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigqueue(
    thread: pthread_t,
    signal: c_int,
    value: *mut c_void,
) -> c_int {
    // SAFETY: the caller's thread.
    let Some(ours) = (unsafe { Thread::of(thread) }) else {
        return call_next!(pthread_sigqueue: fn(
            thread => pthread_t, signal => c_int, value => *mut c_void
        ) -> c_int);
    };
    let value = libc::sigval { sival_ptr: value };
    // SAFETY: numbers, and the caller's value.
    send(ours, signal, || unsafe {
        libc::sigqueue(libc::getpid(), signal, value)
    })
}

/// Sends a signal to a thread that is a fibre, by a call that sends it to the process. Returns an
/// error number.
fn send(thread: &Thread, signal: c_int, call: impl FnOnce() -> c_int) -> c_int {
    match signal {
        0 => 0,
        1..=LAST if thread.blocked() & bit(signal) != 0 && main_blocks(signal) => {
            let before = errno::get();
            let number = if call() == 0 { 0 } else { errno::get() };
            errno::set(before);
            number
        }
        1..=LAST => libc::ESRCH,
        _ => libc::EINVAL,
    }
}

/// Whether the thread of `main` blocks a signal; no, if that cannot be told. Without an allocation,
/// as a handler may ask.
fn main_blocks(signal: c_int) -> bool {
    const LINE: &[u8] = b"\nSigBlk:\t";
    const DIGITS: usize = 2 * SET;
    let mut text = [0_u8; 4096];
    let asked = open(
        "/proc/self/status",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    let Ok(length) = asked.and_then(|file| rustix::io::read(&file, &mut text[..])) else {
        return false;
    };
    let text = &text[..length];
    let line = text.windows(LINE.len()).position(|part| part == LINE);
    let digits = line.and_then(|at| text.get(at + LINE.len()..at + LINE.len() + DIGITS));
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    let blocked = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    blocked.is_some_and(|blocked| blocked & bit(signal) != 0)
}

/// `sigwait`: returns an error number.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    if !waits_as_fibre() {
        return call_next!(sigwait: fn(set => *const sigset_t, signal => *mut c_int) -> c_int);
    }
    // SAFETY: the caller's set.
    match unsafe { sigtimedwait(set, std::ptr::null_mut(), std::ptr::null()) } {
        taken @ 1.. => {
            // SAFETY: the caller's room.
            unsafe { signal.write(taken) };
            0
        }
        _ => errno::get(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    // SAFETY: passed on, without a limit.
    unsafe { sigtimedwait(set, info, std::ptr::null()) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    time: *const timespec,
) -> c_int {
    if !waits_as_fibre() {
        return call_next!(sigtimedwait: fn(
            set => *const sigset_t, info => *mut siginfo_t, time => *const timespec
        ) -> c_int);
    }
    cancellation_point();
    stand_in(|| {
        // SAFETY: null, or the caller's time.
        let time = unsafe { Trusted::fetch_any(time) }?;
        let limit = time.as_ref().map(duration).transpose()?;
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        // SAFETY: the caller's set.
        wait(unsafe { read(set) }, info, deadline)
    })
}

/// Whether the caller waits for signals by a descriptor.
fn waits_as_fibre() -> bool {
    may_switch() && Thread::of_caller().is_some()
}

/// Waits for one of these signals, or until the deadline: `EAGAIN`.
fn wait(signals: u64, info: *mut siginfo_t, deadline: Option<Instant>) -> Result<usize, Failure> {
    let no_time = [0_u64; 2];
    let mut watch = None;
    loop {
        let (set, now) = (&raw const signals, no_time.as_ptr());
        match syscall!(SYS_rt_sigtimedwait, set, info, now, SET).here() {
            Err(Errno::AGAIN) if deadline.is_none_or(|end| Instant::now() < end) => {}
            taken => return Ok(taken?),
        }
        let fd = match watch.take() {
            Some(fd) => Ok(fd),
            None => TemporaryFd::of_signals(signals),
        };
        let waited = fd.map_err(Failure::from).and_then(|mut fd| {
            fd.wait(deadline)?;
            watch = Some(fd);
            Ok(())
        });
        match waited {
            Ok(()) => {}
            Err(Failure::Cancelled) => return Err(Failure::Cancelled),
            Err(Failure::Errno(_)) => {
                let soon = Instant::now() + BETWEEN;
                sleep_within(deadline.map_or(soon, |end| end.min(soon)))
                    .map_err(|_| Failure::Cancelled)?;
            }
        }
    }
}
