//! `pthread_spin_…`.

use crate::boundary::{attempt, call, contain, number};
use crate::sync::object::{at, make, object};
use fibre_sync::raw::{Spin, Wait};
use std::ffi::c_int;

/// A spin lock: `pthread_spinlock_t`. All zeros is a free one.
#[derive(Debug)]
#[repr(C)]
pub struct fibre_spinlock_t {
    /// The library's memory.
    word: c_int,
}

object!(fibre_spinlock_t, Spin, libc::pthread_spinlock_t);

/// `pthread_spin_init`: a free one. Processes may share it, as nobody sleeps on it, if all of them
/// use this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_spin_init(lock: *mut fibre_spinlock_t, _shared: c_int) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { make(lock, Spin::new()) })
}

/// `pthread_spin_destroy`. `EBUSY` if somebody has it, `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_spin_destroy(lock: *mut fibre_spinlock_t) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe { at(lock) }?.destroy()))
}

/// `pthread_spin_lock`: tries until it is the caller's; between the tries other fibres run.
/// `EINVAL` if it has been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_spin_lock(lock: *mut fibre_spinlock_t) -> c_int {
    // SAFETY: the caller's.
    call(|| unsafe { at(lock) }?.lock(Wait::FOREVER))
}

/// `pthread_spin_trylock`. `EBUSY` if it is not free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_spin_trylock(lock: *mut fibre_spinlock_t) -> c_int {
    // SAFETY: the caller's.
    number(attempt(|| unsafe { at(lock) }?.try_lock()))
}

/// `pthread_spin_unlock`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_spin_unlock(lock: *mut fibre_spinlock_t) -> c_int {
    // SAFETY: the caller's.
    number(contain(|| unsafe { at(lock)?.unlock() }))
}
