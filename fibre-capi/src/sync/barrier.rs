//! `pthread_barrier_…`.

use crate::boundary::{call, contain, keep_errno, number};
use crate::sync::object::{at, give, make, object};
use crate::sync::shared;
use fibre_sync::raw::{Barrier, Error, Wait};
use std::ffi::{c_int, c_uint};

/// A barrier: `pthread_barrier_t`.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_barrier_t {
    /// Ours.
    words: [u64; 4],
}

/// What a barrier is made by: `pthread_barrierattr_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_barrierattr_t {
    /// Ours: zero, unless destroyed.
    word: u32,
}

object!(fibre_barrier_t, Barrier, libc::pthread_barrier_t);
object!(fibre_barrierattr_t, u32, libc::pthread_barrierattr_t);

/// `PTHREAD_BARRIER_SERIAL_THREAD`.
const SERIAL: c_int = -1;

/// `pthread_barrier_init`: one for so many parties. `EINVAL` for none, or for attributes that have been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrier_init(
    barrier: *mut fibre_barrier_t,
    attributes: *const fibre_barrierattr_t,
    parties: c_uint,
) -> c_int {
    number(contain(|| {
        // SAFETY: the caller's.
        let destroyed = unsafe { attributes.as_ref() }.is_some_and(|given| given.word != 0);
        if destroyed || parties == 0 {
            return Err(Error::Invalid);
        }
        // SAFETY: the caller's.
        unsafe { make(barrier, Barrier::new(parties)) }
    }))
}

/// `pthread_barrier_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrier_destroy(barrier: *mut fibre_barrier_t) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(barrier) }?.destroy())
}

/// `pthread_barrier_wait`: waits until all parties have come. `PTHREAD_BARRIER_SERIAL_THREAD` (-1) for one of them, zero for the
/// others. `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrier_wait(barrier: *mut fibre_barrier_t) -> c_int {
    // SAFETY: the caller's.
    match keep_errno(|| unsafe { at(barrier) }?.wait(Wait::FOREVER)) {
        Ok(true) => SERIAL,
        Ok(false) => 0,
        Err(error) => error.number(),
    }
}

/// `pthread_barrierattr_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrierattr_init(attributes: *mut fibre_barrierattr_t) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { give(attributes, fibre_barrierattr_t { word: 0 }) })
}

/// `pthread_barrierattr_destroy`: they are of no use any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrierattr_destroy(attributes: *mut fibre_barrierattr_t) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { give(attributes, fibre_barrierattr_t { word: u32::MAX }) })
}

/// `pthread_barrierattr_getpshared`: `PTHREAD_PROCESS_PRIVATE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrierattr_getpshared(
    attributes: *const fibre_barrierattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { shared::get(attributes, value) })
}

/// `pthread_barrierattr_setpshared`: `ENOTSUP` for `PTHREAD_PROCESS_SHARED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrierattr_setpshared(
    attributes: *mut fibre_barrierattr_t,
    value: c_int,
) -> c_int {
    shared::set(attributes, value)
}
