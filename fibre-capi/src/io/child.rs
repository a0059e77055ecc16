//! Waiting for child processes.
//!
//! For one child a fibre waits by a descriptor of the process (`pidfd`). There is none for *any* child, nor for a group: such a
//! call is made on a thread of its own, and the fibre's cancellation does not end it.

use super::entry::{borrow, or_leave, small};
use super::plain::{Plain, plain};
use super::system::system;
use fibre_core::in_fibre;
use fibre_io::poll::Readiness;
use fibre_io::raw::{Failure, Known, close, made, wait};
use rustix::io::Errno;
use std::ffi::{c_int, c_uint, c_void};
use std::os::fd::RawFd;
use std::ptr;

/// `wait`: for any child. A cancellation point before it begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_wait(status: *mut c_int) -> libc::pid_t {
    // SAFETY: the caller's place.
    unsafe { fibre_wait4(-1, status, 0, ptr::null_mut()) }
}

/// `waitpid`: for a child, one of a group or any. For one, a cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_waitpid(
    pid: libc::pid_t,
    status: *mut c_int,
    options: c_int,
) -> libc::pid_t {
    // SAFETY: the caller's place.
    unsafe { fibre_wait4(pid, status, options, ptr::null_mut()) }
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
        await_child(pid, for_end, options, as_called)
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
        await_child(one, for_end, options, as_called)
    })
}

/// The common part.
fn await_child(
    pid: libc::pid_t,
    for_end: bool,
    options: c_int,
    as_called: Plain,
) -> Result<c_int, Failure> {
    if !in_fibre() || options & libc::WNOHANG != 0 {
        return Ok(small(as_called.here()?));
    }
    if pid <= 0 || !for_end {
        return as_called.patiently().map(small);
    }
    let Ok(process) = system!(SYS_pidfd_open, pid, 0) else {
        // It is no child, or nobody may know.
        return as_called.patiently().map(small);
    };
    let process = small(process);
    made(borrow(process), Known::NOTHING);
    let waited = wait(borrow(process), Readiness::READ, None);
    give_back(process)?;
    waited?;
    Ok(small(as_called.here()?))
}

/// Closes a descriptor that nobody else knows.
fn give_back(fd: RawFd) -> Result<(), Errno> {
    let call = || system!(SYS_close, fd);
    // SAFETY: it was made here.
    unsafe { close(fd, call) }.map(drop)
}
