//! Waiting for signals: `sigwait` and its kin.
//!
//! A fibre waits for signals that are sent to the process and that no thread lets in: a program
//! blocks them before it creates threads, as everywhere, and processors block them in any case. The
//! fibre takes a signal by a call that never waits. While there is none, it waits for a descriptor
//! that becomes readable with the next one (`signalfd`). Several fibres may wait for the same
//! signal, and one of them takes it. Without a descriptor to spare, a fibre looks every few
//! milliseconds.
//!
//! Fibres have no signals of their own: what `pthread_kill` sends to one goes to the process, and
//! so to any caller that waits for it here. On a plain thread these are the system's calls.

use super::entry::or_leave;
use crate::boundary::{keep_errno_cancellable, look_before};
use crate::delivery::Waiting;
use crate::errno;
use crate::exit::leave;
use crate::init::let_go;
use crate::memory::{duration, fetch, fetch_any, writable};
use crate::sigmask;
use fibre_core::internal::yield_point_cancellable;
use fibre_core::{Limit, in_fibre, sleep_within};
use fibre_io::posix::temporary_fd::TemporaryFd;
use fibre_io::raw::Failure;
use rustix::io::Errno;
use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::time::{Duration, Instant};

/// How often a fibre looks that has no descriptor to wait for.
const BETWEEN: Duration = Duration::from_millis(10);

/// `sigwait`: returns an error number. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sigwait(set: *const libc::sigset_t, signal: *mut c_int) -> c_int {
    if !in_fibre() {
        let_go();
        // SAFETY: the caller's set.
        let _waiting = unsafe { waiting(set) };
        // SAFETY: passed on.
        return unsafe { libc::sigwait(set, signal) };
    }
    // SAFETY: the caller's set, and room for a number.
    match keep_errno_cancellable(|| unsafe { Wanted::new(set, ptr::null_mut()).wait(None) }) {
        Ok(taken) => {
            // SAFETY: the caller's room for a number.
            unsafe { signal.write(taken) };
            0
        }
        Err(Failure::Cancelled) => leave(),
        Err(Failure::Errno(error)) => look_before(error.raw_os_error()),
    }
}

/// `sigwaitinfo`: returns the signal. In a fibre it is not interrupted. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sigwaitinfo(
    set: *const libc::sigset_t,
    info: *mut libc::siginfo_t,
) -> c_int {
    // SAFETY: passed on.
    unsafe { fibre_sigtimedwait(set, info, ptr::null()) }
}

/// `sigtimedwait`: [`fibre_sigwaitinfo`], for so long at most, then -1 and `EAGAIN`; `NULL` for no
/// limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_sigtimedwait(
    set: *const libc::sigset_t,
    info: *mut libc::siginfo_t,
    timeout: *const libc::timespec,
) -> c_int {
    if !in_fibre() {
        let_go();
        // SAFETY: the caller's set.
        let _waiting = unsafe { waiting(set) };
        // SAFETY: passed on.
        return unsafe { libc::sigtimedwait(set, info, timeout) };
    }
    or_leave(|| {
        // SAFETY: null, or the caller's time.
        let timeout = unsafe { fetch_any(timeout) }?;
        let timeout = timeout.as_ref().map(duration).transpose()?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        // SAFETY: the caller's set, and null or room for what there is to say.
        let taken = unsafe { Wanted::new(set, info).wait(deadline) }?;
        Ok(taken.unsigned_abs() as usize)
    })
}

/// Says that the caller waits for a set, if there is one.
///
/// # Safety
///
/// What can be read there is a set.
unsafe fn waiting(set: *const libc::sigset_t) -> Option<Waiting> {
    // SAFETY: the caller's promise; a set begins with these bits.
    unsafe { fetch(set.cast::<u64>()) }.ok().map(Waiting::new)
}

/// What a fibre waits for.
struct Wanted {
    /// These signals.
    set: *const libc::sigset_t,
    /// Where what is known of the one is to go, if anywhere.
    info: *mut libc::siginfo_t,
    /// Becomes readable with one of them.
    watch: Option<TemporaryFd>,
}

impl Wanted {
    /// # Safety
    ///
    /// There is a set, and room for what is known unless that is null, until this is dropped.
    const unsafe fn new(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> Self {
        let watch = None;
        Self { set, info, watch }
    }

    /// Waits for one, until the deadline: `EAGAIN`.
    fn wait(mut self, deadline: Option<Instant>) -> Result<c_int, Failure> {
        yield_point_cancellable()?;
        // SAFETY: see `new`.
        let _waiting = unsafe { waiting(self.set) };
        // SAFETY: see `new`.
        if let Some(signal) = unsafe { sigmask::take(self.set) } {
            self.describe(signal)?;
            return Ok(signal);
        }
        loop {
            match self.take() {
                Err(Errno::AGAIN) if deadline.is_none_or(|end| Instant::now() < end) => {}
                taken => return Ok(taken?),
            }
            match self.watch(deadline) {
                Err(Failure::Cancelled) => return Err(Failure::Cancelled),
                Ok(()) => {}
                Err(Failure::Errno(_)) => {
                    let soon = Instant::now() + BETWEEN;
                    sleep_within(Limit::Deadline(deadline.map_or(soon, |end| end.min(soon))))?;
                }
            }
        }
    }

    /// Says of a signal that the fibre has raised it.
    fn describe(&self, signal: c_int) -> Result<(), Errno> {
        // SAFETY: all zeros are such values.
        let mut info: libc::siginfo_t = unsafe { mem::zeroed() };
        info.si_signo = signal;
        info.si_code = libc::SI_USER;
        // SAFETY: the kernel has the sender's process and user after these three numbers and a gap.
        unsafe {
            let numbers = (&raw mut info).cast::<c_int>();
            numbers.add(4).write(libc::getpid());
            numbers.add(5).cast::<libc::uid_t>().write(libc::getuid());
        }
        if !self.info.is_null() {
            writable(self.info, 1)?;
            // SAFETY: see `new`.
            unsafe { self.info.write_unaligned(info) };
        }
        Ok(())
    }

    /// Takes one that is there, or `EAGAIN`.
    fn take(&self) -> Result<c_int, Errno> {
        // SAFETY: see `new`; all zeros is a time.
        let taken = unsafe { libc::sigtimedwait(self.set, self.info, &mem::zeroed()) };
        if taken < 0 {
            return Err(Errno::from_raw_os_error(errno::get()));
        }
        Ok(taken)
    }

    /// Waits until there may be one, or for the deadline.
    fn watch(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        if self.watch.is_none() {
            // SAFETY: see `new`; a set begins with these bits.
            let signals = unsafe { fetch(self.set.cast::<u64>()) }?;
            self.watch = Some(TemporaryFd::of_signals(signals)?);
        }
        let waited = self.watch.as_mut().map_or(Ok(()), |it| it.wait(deadline));
        if waited == Err(Errno::BADF.into()) {
            self.watch = None;
            return Ok(());
        }
        waited
    }
}
