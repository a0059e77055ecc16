//! `pthread_barrier_…`.

use crate::boundary::{call, contain, keep_errno, number, on_system};
use crate::sync::object::{at, get, give, make, object, set};
use crate::sync::shared;
use crate::sync::system::barrier as system;
use fibre_sync::raw::{Barrier, Error, Result, Wait};
use std::ffi::{c_int, c_uint};

/// A barrier: `pthread_barrier_t`.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_barrier_t {
    /// The library's memory.
    words: [u64; 4],
}

/// What a barrier is made by: `pthread_barrierattr_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct fibre_barrierattr_t {
    /// Ours: one if processes share the barrier, else zero, unless destroyed.
    word: u32,
}

object!(fibre_barrier_t, Barrier, libc::pthread_barrier_t);
object!(fibre_barrierattr_t, u32, libc::pthread_barrierattr_t);

/// Of attributes: processes share the barrier.
const SHARED: u32 = 1;

/// `PTHREAD_BARRIER_SERIAL_THREAD`.
const SERIAL: c_int = -1;

/// `pthread_barrier_init`: one for so many parties. `EINVAL` for none, or for attributes that have
/// been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrier_init(
    barrier: *mut fibre_barrier_t,
    attributes: *const fibre_barrierattr_t,
    parties: c_uint,
) -> c_int {
    if parties == 0 || barrier.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's.
    unsafe {
        match attributes
            .as_ref()
            .map_or(Ok(false), |given| given.is_shared())
        {
            Ok(false) => number(contain(|| make(barrier, Barrier::new(parties)))),
            Ok(true) => on_system(|| system::make(barrier.cast(), parties, shared::SHARED)),
            Err(error) => error.number(),
        }
    }
}

/// `pthread_barrier_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrier_destroy(barrier: *mut fibre_barrier_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(barrier.cast()) {
            return on_system(|| system::destroy(barrier.cast()));
        }
        call(|| at(barrier)?.destroy())
    }
}

/// `pthread_barrier_wait`: waits until all parties have come. `PTHREAD_BARRIER_SERIAL_THREAD` (-1)
/// for one of them, zero for the others. `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrier_wait(barrier: *mut fibre_barrier_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if system::is_system(barrier.cast()) {
            return on_system(|| system::wait(barrier.cast()));
        }
        match keep_errno(|| at(barrier)?.wait(Wait::FOREVER)) {
            Ok(true) => SERIAL,
            Ok(false) => 0,
            Err(error) => error.number(),
        }
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

impl fibre_barrierattr_t {
    /// Whether processes share the barrier.
    fn is_shared(self) -> Result<bool> {
        match self.word {
            0 => Ok(false),
            SHARED => Ok(true),
            _ => Err(Error::Invalid),
        }
    }
}

/// `pthread_barrierattr_getpshared`: whether processes share the barrier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrierattr_getpshared(
    attributes: *const fibre_barrierattr_t,
    value: *mut c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { get(attributes, value, |own| own.is_shared().map(c_int::from)) }
}

/// `pthread_barrierattr_setpshared`: `PTHREAD_PROCESS_SHARED` for a barrier of the system's, which
/// processes share; else `PTHREAD_PROCESS_PRIVATE`. Errors as for `fibre_mutexattr_setpshared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_barrierattr_setpshared(
    attributes: *mut fibre_barrierattr_t,
    value: c_int,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        set(attributes, |own| {
            own.is_shared()?;
            let word = shared::wanted(value, system::is_offered())?.into();
            Ok(fibre_barrierattr_t { word })
        })
    }
}
