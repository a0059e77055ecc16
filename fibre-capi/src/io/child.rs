//! Waiting for child processes.
//!
//! For one child that has not ended a fibre waits by a descriptor of the process (`pidfd`), which
//! any process has: so it asks first. There is no descriptor for *any* child, nor for a group: the
//! fibre has such a call made on a thread of its own, and interrupts it when it is cancelled.

use super::entry::{borrow, or_leave, small};
use super::plain::{Plain, plain};
use super::system::system;
use fibre_core::{cancellation_point, in_fibre};
use fibre_io::poll::Readiness;
use fibre_io::raw::{Failure, Known, close, made, wait};
use rustix::io::Errno;
use std::ffi::{c_int, c_uint, c_void};
use std::os::fd::RawFd;
use std::ptr;

/// `wait`: for any child. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_wait(status: *mut c_int) -> libc::pid_t {
    // SAFETY: the caller's place.
    unsafe { fibre_wait4(-1, status, 0, ptr::null_mut()) }
}

/// `waitpid`: for a child, one of a group or any. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_waitpid(
    pid: libc::pid_t,
    status: *mut c_int,
    options: c_int,
) -> libc::pid_t {
    // SAFETY: the caller's place.
    unsafe { fibre_wait4(pid, status, options, ptr::null_mut()) }
}

/// `wait3`: [`fibre_wait4`] for any child.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_wait3(
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    // SAFETY: the caller's places.
    unsafe { fibre_wait4(-1, status, options, usage) }
}

/// `wait4`: [`fibre_waitpid`] that also tells what the child has used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_wait4(
    pid: libc::pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    or_leave(|| {
        let as_called = plain!(SYS_wait4, pid, status, options, usage);
        // Of a child that stops and goes on its descriptor does not tell.
        let for_end = options & (libc::WUNTRACED | libc::WCONTINUED) == 0;
        let ask = || {
            let options = options | libc::WNOHANG;
            let ended = small(system!(SYS_wait4, pid, status, options, usage)?);
            Ok((ended != 0).then_some(ended))
        };
        await_child(pid, for_end, options, as_called, ask)
    })
}

/// `waitid`: for a child (`P_PID`), one of a group or any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_waitid(
    kind: c_uint,
    id: c_uint,
    information: *mut c_void,
    options: c_int,
) -> c_int {
    or_leave(|| {
        let as_called = plain!(SYS_waitid, kind, id, information, options, 0_usize);
        let one = if kind == libc::P_PID {
            id.cast_signed()
        } else {
            -1
        };
        let for_end = options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
        let ask = || {
            // SAFETY: all zeros is a valid value.
            let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
            let options = options | libc::WNOHANG | libc::WNOWAIT;
            system!(SYS_waitid, kind, id, &raw mut found, options, 0_usize)?;
            if found.si_signo == 0 {
                return Ok(None);
            }
            as_called.here().map(small).map(Some)
        };
        await_child(one, for_end, options, as_called, ask)
    })
}

/// The common part. `ask` makes the call if it need not wait.
fn await_child(
    pid: libc::pid_t,
    for_end: bool,
    options: c_int,
    as_called: Plain,
    ask: impl Fn() -> Result<Option<c_int>, Errno>,
) -> Result<c_int, Failure> {
    if !in_fibre() || options & libc::WNOHANG != 0 {
        return Ok(small(as_called.here()?));
    }
    if pid <= 0 || !for_end {
        return as_called.until_cancelled().map(small);
    }
    cancellation_point()?;
    if let Some(ended) = ask()? {
        return Ok(ended);
    }
    let Ok(process) = system!(SYS_pidfd_open, pid, 0) else {
        // There are no descriptors left, or none of this kind.
        return as_called.until_cancelled().map(small);
    };
    let process = small(process);
    made(borrow(process), Known::NOTHING);
    let waited = wait(borrow(process), Readiness::READ, None);
    give_back(process)?;
    waited?;
    Ok(small(as_called.here()?))
}

/// Closes a descriptor that no other code knows.
fn give_back(fd: RawFd) -> Result<(), Errno> {
    let call = || system!(SYS_close, fd);
    // SAFETY: it was made here.
    unsafe { close(fd, call) }.map(drop)
}
