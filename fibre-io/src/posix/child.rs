//! Waiting for child processes.
//!
//! For one child that has not ended, a fibre waits on a descriptor of the process (`pidfd`). Any
//! process has one, so the fibre first asks whether this is a child. There is no descriptor for
//! *any* child, nor for a group: a thread of its own makes such a call for the fibre, which
//! interrupts it when cancelled.

use super::switching::{Switching, borrow};
use super::syscall::Syscall;
use super::temporary_fd::TemporaryFd;
use crate::raw::{Failure, wait};
use crate::readiness::Readiness;
use fibre_core::cancellation_point;
use rustix::io::Errno;
use std::ffi::{c_int, c_uint};

/// What a call waits for.
#[derive(Debug, Clone, Copy)]
enum Awaited {
    /// The end of this child.
    Child(libc::pid_t),
    /// The end of the child that this descriptor stands for.
    Descriptor(c_int),
    /// Something else that no descriptor reports.
    Other,
}

/// `wait4`: for a child, one of a group or any. Blocks the fibre.
///
/// # Errors
///
/// Those of the call; that the fibre has been cancelled.
pub fn wait4(
    pid: libc::pid_t,
    options: c_int,
    call: Syscall,
    switching: Switching,
) -> Result<usize, Failure> {
    // Of a child that stops and goes on its descriptor does not tell.
    let for_end = options & (libc::WUNTRACED | libc::WCONTINUED) == 0;
    let awaited = match pid {
        1.. if for_end => Awaited::Child(pid),
        _ => Awaited::Other,
    };
    await_child(call, options, awaited, switching, |call| {
        match call.with(2, options | libc::WNOHANG).here()? {
            0 => Ok(None),
            ended => Ok(Some(ended)),
        }
    })
}

/// `waitid`: for a child (`P_PID`, `P_PIDFD`), one of a group or any. Blocks the fibre.
///
/// # Errors
///
/// As [`wait4`].
pub fn waitid(
    kind: c_uint,
    id: c_uint,
    options: c_int,
    call: Syscall,
    switching: Switching,
) -> Result<usize, Failure> {
    let for_end = options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
    let awaited = match (kind, id.cast_signed()) {
        (libc::P_PID, pid @ 1..) if for_end => Awaited::Child(pid),
        (libc::P_PIDFD, fd @ 0..) if for_end => Awaited::Descriptor(fd),
        _ => Awaited::Other,
    };
    await_child(call, options, awaited, switching, |call| {
        // SAFETY: all zeros is a valid value.
        let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = options | libc::WNOHANG | libc::WNOWAIT;
        call.with(2, &raw mut found).with(3, options).here()?;
        let is_there = found.si_signo != 0;
        is_there.then(|| call.here()).transpose()
    })
}

/// Waits for what is awaited. `ask` makes the call if it need not wait.
fn await_child(
    call: Syscall,
    options: c_int,
    awaited: Awaited,
    switching: Switching,
    ask: impl FnOnce(Syscall) -> Result<Option<usize>, Errno>,
) -> Result<usize, Failure> {
    if options & libc::WNOHANG != 0 {
        return Ok(call.here()?);
    }
    if switching == Switching::Freely {
        cancellation_point()?;
        if matches!(awaited, Awaited::Other) {
            return call.until_cancelled();
        }
    }
    if let Some(ended) = ask(call)? {
        return Ok(ended);
    }
    let waited = match awaited {
        Awaited::Child(pid) => match TemporaryFd::of_process(pid) {
            Ok(mut process) => process.wait(None),
            // There are no descriptors left, or none of this kind.
            Err(_) => return call.until_cancelled(),
        },
        Awaited::Descriptor(fd) => wait(borrow(fd), Readiness::READ, None).map(drop),
        Awaited::Other => return call.until_cancelled(),
    };
    waited?;
    Ok(call.here()?)
}
