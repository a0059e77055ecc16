//! `poll` and `select`. A fibre that passes a mask of signals blocks its processor: processors let
//! no signals in.

use crate::entry::{cancellation_point, finish, may_switch, plain, stand_in};
use fibre_io::posix::boundary::check;
use fibre_io::posix::memory::{Memory, Trusted, duration, of_milliseconds};
use fibre_io::posix::poll::poll_all;
use fibre_io::posix::select::{select_on_thread, select_timed};
use fibre_io::posix::switching::Switching::OnlyToWait;
use fibre_io::posix::syscall::syscall;
use std::ffi::c_int;
use std::ptr;
use std::time::Duration;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn poll(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: c_int,
) -> c_int {
    cancellation_point();
    if timeout == 0 || !may_switch() {
        let mut time = of_milliseconds(timeout);
        let time = time.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        let mask = ptr::null::<libc::sigset_t>();
        return plain(syscall!(SYS_ppoll, fds, count as usize, time, mask, 8));
    }
    let limit = u64::try_from(timeout).ok().map(Duration::from_millis);
    // SAFETY: the caller's descriptors.
    stand_in(|| unsafe { poll_all(fds, count, limit, OnlyToWait) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ppoll(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    cancellation_point();
    if !signals.is_null() || !may_switch() {
        // SAFETY: null, or the caller's time; the kernel writes to a copy of it.
        let mut copy = match unsafe { Trusted::fetch_any(timeout) } {
            Ok(copy) => copy,
            Err(error) => return finish(Err(error)),
        };
        let copy = copy.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        return plain(syscall!(SYS_ppoll, fds, count as usize, copy, signals, 8));
    }
    stand_in(|| {
        // SAFETY: null, or the caller's time.
        let time = unsafe { Trusted::fetch_any(timeout) }?;
        let limit = time.as_ref().map(duration).transpose()?;
        // SAFETY: the caller's descriptors.
        unsafe { poll_all(fds, count, limit, OnlyToWait) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn select(
    count: c_int,
    readable: *mut libc::fd_set,
    writable: *mut libc::fd_set,
    urgent: *mut libc::fd_set,
    timeout: *mut libc::timeval,
) -> c_int {
    cancellation_point();
    let sets = [readable, writable, urgent];
    if !may_switch() {
        // SAFETY: the caller's sets and time.
        return finish(unsafe { select_on_thread::<Trusted>(count, sets, timeout) });
    }
    // SAFETY: the caller's sets and time.
    stand_in(|| unsafe { select_timed::<Trusted>(count, sets, timeout, OnlyToWait) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __poll_chk(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: c_int,
    room: usize,
) -> c_int {
    check(count as usize, room / size_of::<libc::pollfd>());
    // SAFETY: the caller's descriptors.
    unsafe { poll(fds, count, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    signals: *const libc::sigset_t,
    room: usize,
) -> c_int {
    check(count as usize, room / size_of::<libc::pollfd>());
    // SAFETY: the caller's descriptors.
    unsafe { ppoll(fds, count, timeout, signals) }
}
