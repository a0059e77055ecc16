//! Waiting for child processes.
//!
//! For one child that has not ended a fibre waits by a descriptor of the process (`pidfd`), which
//! any process has: so it asks first. There is no descriptor for *any* child, nor for a group: the
//! fibre has such a call made on a thread of its own, and interrupts it when it is cancelled.

use super::entry::waits;
use super::syscall::{Syscall, syscall};
use fibre_core::cancellation_point;
use fibre_io::posix::temporary_fd::TemporaryFd;
use rustix::io::Errno;
use std::ffi::{c_int, c_uint, c_void};
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
    // Of a child that stops and goes on its descriptor does not tell.
    let for_end = options & (libc::WUNTRACED | libc::WCONTINUED) == 0;
    let one = if for_end { pid } else { -1 };
    await_child(
        syscall!(SYS_wait4, pid, status, options, usage),
        options,
        one,
        |call| match call.with(2, options | libc::WNOHANG).here()? {
            0 => Ok(None),
            ended => Ok(Some(ended)),
        },
    )
}

/// `waitid`: for a child (`P_PID`), one of a group or any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_waitid(
    kind: c_uint,
    id: c_uint,
    information: *mut c_void,
    options: c_int,
) -> c_int {
    let for_end = options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
    let is_one = kind == libc::P_PID && for_end;
    let one = if is_one { id.cast_signed() } else { -1 };
    await_child(
        syscall!(SYS_waitid, kind, id, information, options, 0),
        options,
        one,
        |call| {
            // SAFETY: all zeros is a valid value.
            let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
            let options = options | libc::WNOHANG | libc::WNOWAIT;
            call.with(2, &raw mut found).with(3, options).here()?;
            let is_there = found.si_signo != 0;
            is_there.then(|| call.here()).transpose()
        },
    )
}

/// Waits for the end of one child, or, if that is not positive, by a thread. `ask` makes the call
/// if it need not wait.
fn await_child(
    call: Syscall,
    options: c_int,
    one: libc::pid_t,
    ask: impl FnOnce(Syscall) -> Result<Option<usize>, Errno>,
) -> c_int {
    waits(call, |call| {
        if options & libc::WNOHANG != 0 {
            return Ok(call.here()?);
        }
        if one <= 0 {
            return call.until_cancelled();
        }
        cancellation_point()?;
        if let Some(ended) = ask(call)? {
            return Ok(ended);
        }
        match TemporaryFd::of_process(one) {
            Ok(mut process) => process.wait(None)?,
            // There are no descriptors left, or none of this kind.
            Err(_) => return call.until_cancelled(),
        }
        Ok(call.here()?)
    })
}
