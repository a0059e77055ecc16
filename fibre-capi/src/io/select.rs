//! `select` and `pselect`, see [`fibre_io::posix::select`].

use super::entry::{found, or_leave, waits};
use crate::memory::{Asked, duration, fetch_any};
use crate::sigmask::during;
use fibre_core::in_fibre;
use fibre_io::posix::select::{select, select_timed};
use fibre_io::posix::switching::Switching::Freely;
use fibre_io::posix::syscall::syscall;
use std::ffi::c_int;
use std::ptr;

/// `select`: with a time-out, of which what is left is written back, `NULL` for none. A
/// cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_select(
    count: c_int,
    readable: *mut libc::fd_set,
    writable: *mut libc::fd_set,
    urgent: *mut libc::fd_set,
    timeout: *mut libc::timeval,
) -> c_int {
    let call = syscall!(SYS_select, count, readable, writable, urgent, timeout);
    let sets = [readable, writable, urgent];
    waits(call, |_| {
        // SAFETY: the caller's sets and time.
        found(unsafe { select_timed::<Asked>(count, sets, timeout, Freely) }?)
    })
}

/// `pselect`: with a time-out, `NULL` for none. A fibre has the mask meanwhile; only what it has
/// raised itself interrupts it. A cancellation point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_pselect(
    count: c_int,
    readable: *mut libc::fd_set,
    writable: *mut libc::fd_set,
    urgent: *mut libc::fd_set,
    timeout: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    or_leave(|| {
        // SAFETY: null, or the caller's time, of which the kernel writes to a copy.
        let mut time = unsafe { fetch_any(timeout) }?;
        let limit = time.as_ref().map(duration).transpose()?;
        let time = time.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        if !in_fibre() {
            // The kernel wants a pointer to the mask and its size.
            let mask = [signals.addr(), 8];
            let mask = mask.as_ptr();
            let call = syscall!(SYS_pselect6, count, readable, writable, urgent, time, mask);
            return Ok(call.here()?);
        }
        let sets = [readable, writable, urgent];
        // SAFETY: the caller's sets and mask.
        found(unsafe { during(signals, || select::<Asked>(count, sets, limit, Freely)) }?)
    })
}
