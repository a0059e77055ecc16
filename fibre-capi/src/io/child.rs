//! Waiting for child processes: how is said in [`fibre_io::posix::child`].

use super::entry::waits;
use fibre_io::posix::child::{wait4, waitid};
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::syscall::syscall;
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
    let call = syscall!(SYS_wait4, pid, status, options, usage);
    waits(call, |call| wait4(pid, options, call, Freely))
}

/// `waitid`: for a child (`P_PID`), one of a group or any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_waitid(
    kind: c_uint,
    id: c_uint,
    information: *mut c_void,
    options: c_int,
) -> c_int {
    let call = syscall!(SYS_waitid, kind, id, information, options, 0);
    waits(call, |call| waitid(kind, id, options, call, Freely))
}
