//! Queues of messages and sets of semaphores that processes share, of System V and of POSIX; and
//! operations that go on by themselves.
//!
//! A fibre that has to wait there does so by a thread of its own. Its cancellation ends that wait,
//! where POSIX says so; what has been sent or received by then stays so, and the call succeeds.

use super::entry::{endures, or_leave, waits};
use crate::errno;
use fibre_core::in_fibre;
use fibre_io::posix::syscall::{Syscall, syscall};
use fibre_io::posix::worker::until_cancelled;
use fibre_io::raw::Failure;
use rustix::io::Errno;
use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::ptr;
use std::time::{Duration, Instant};

/// `msgsnd`: waits for room, unless `IPC_NOWAIT` says otherwise. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_msgsnd(
    queue: c_int,
    message: *const c_void,
    length: usize,
    flags: c_int,
) -> c_int {
    let call = syscall!(SYS_msgsnd, queue, message, length, flags);
    waits(call, unless_told(flags))
}

/// `msgrcv`: waits for a message, unless `IPC_NOWAIT` says otherwise. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_msgrcv(
    queue: c_int,
    message: *mut c_void,
    room: usize,
    kind: c_long,
    flags: c_int,
) -> isize {
    let call = syscall!(SYS_msgrcv, queue, message, room, kind, flags);
    waits(call, unless_told(flags))
}

/// How a call waits, unless these flags tell it not to.
fn unless_told(flags: c_int) -> fn(Syscall) -> Result<usize, Failure> {
    match flags & libc::IPC_NOWAIT {
        0 => Syscall::until_cancelled,
        _ => |call| Ok(call.here()?),
    }
}

/// `semop`: [`fibre_semtimedop`] for as long as it takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_semop(
    set: c_int,
    operations: *mut libc::sembuf,
    count: usize,
) -> c_int {
    // SAFETY: the caller's operations.
    unsafe { fibre_semtimedop(set, operations, count, ptr::null()) }
}

/// `semtimedop`: waits until it can do all operations, for so long at most. No cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_semtimedop(
    set: c_int,
    operations: *mut libc::sembuf,
    count: usize,
    time_out: *const libc::timespec,
) -> c_int {
    let call = syscall!(SYS_semtimedop, set, operations, count, time_out);
    endures(call, |call| fibre_io::raw::patiently(|| call.here()))
}

/// `mq_send`: [`fibre_mq_timedsend`] for as long as it takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mq_send(
    queue: c_int,
    message: *const c_char,
    length: usize,
    priority: c_uint,
) -> c_int {
    // SAFETY: the caller's message.
    unsafe { fibre_mq_timedsend(queue, message, length, priority, ptr::null()) }
}

/// `mq_timedsend`: waits for room until then at most, unless the queue is non-blocking. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mq_timedsend(
    queue: c_int,
    message: *const c_char,
    length: usize,
    priority: c_uint,
    deadline: *const libc::timespec,
) -> c_int {
    let call = syscall!(SYS_mq_timedsend, queue, message, length, priority, deadline);
    waits(call, Syscall::until_cancelled)
}

/// `mq_receive`: [`fibre_mq_timedreceive`] for as long as it takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mq_receive(
    queue: c_int,
    message: *mut c_char,
    room: usize,
    priority: *mut c_uint,
) -> isize {
    // SAFETY: the caller's room.
    unsafe { fibre_mq_timedreceive(queue, message, room, priority, ptr::null()) }
}

/// `mq_timedreceive`: waits for a message until then at most, unless the queue is non-blocking. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_mq_timedreceive(
    queue: c_int,
    message: *mut c_char,
    room: usize,
    priority: *mut c_uint,
    deadline: *const libc::timespec,
) -> isize {
    let call = syscall!(
        SYS_mq_timedreceive,
        queue,
        message,
        room,
        priority,
        deadline
    );
    waits(call, Syscall::until_cancelled)
}

/// `aio_suspend`: waits for one of several operations, for so long at most. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_aio_suspend(
    operations: *const *const libc::aiocb,
    count: c_int,
    time_out: *const libc::timespec,
) -> c_int {
    let suspend = |time_out| {
        // SAFETY: the caller's operations, which stay valid.
        match unsafe { libc::aio_suspend(operations, count, time_out) } {
            0 => Ok(0),
            _ => Err(Errno::from_raw_os_error(errno::get())),
        }
    };
    or_leave(|| {
        if !in_fibre() {
            return Ok(suspend(time_out)?);
        }
        // SAFETY: null, or the caller's time.
        let deadline = unsafe { time_out.as_ref() }.and_then(moment_after);
        let call = || {
            let left = deadline.map(left_until);
            match suspend(left.as_ref().map_or(time_out, ptr::from_ref)) {
                Err(Errno::INTR) => None,
                done => Some(done),
            }
        };
        Ok(until_cancelled(call, || None).ok_or(Failure::Cancelled)??)
    })
}

/// When this time has passed; `None` if it is none, or longer than the clock knows.
fn moment_after(time: &libc::timespec) -> Option<Instant> {
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let is_time = nanoseconds < 1_000_000_000;
    Instant::now().checked_add(is_time.then(|| Duration::new(seconds, nanoseconds))?)
}

/// How long it is until then.
fn left_until(deadline: Instant) -> libc::timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    libc::timespec {
        tv_sec: left.as_secs() as libc::time_t,
        tv_nsec: left.subsec_nanos().into(),
    }
}
