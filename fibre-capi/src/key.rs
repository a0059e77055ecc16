//! Values of which each fibre has its own: `pthread_key_create` and its kind.
//!
//! They are the fibre-local values of fibre-core, whose keys have numbers. There may be as many
//! keys as there is memory for. Plain threads have values, too.

use crate::boundary::contain;
use crate::init;
use crate::record::fibre_routine_t;
use crate::reserve;
use fibre_core::Key;
use std::ffi::{c_int, c_void};
use std::ptr;

/// A key of values of which each fibre has its own.
pub type fibre_key_t = u32;

/// `pthread_key_create`: a new key, whose values are null. When a fibre ends, the destructor is
/// called with its value, if that is not null; up to four times over, if destructors set values
/// again. `ENOMEM` if there is no memory for it; `EAGAIN` is never returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_key_create(
    key: *mut fibre_key_t,
    destructor: fibre_routine_t,
) -> c_int {
    if reserve::is_low() {
        return libc::ENOMEM;
    }
    let made = contain(|| {
        init::notice_thread_ends();
        // SAFETY: the destructor may be called with the values that the program sets.
        unsafe { Key::try_new(destructor) }
    });
    let Some(made) = made else {
        return libc::ENOMEM;
    };
    // SAFETY: the caller's place.
    unsafe { *key = made.number() };
    0
}

/// The key that has this number, if the program has made it.
fn key_of(number: fibre_key_t) -> Option<Key> {
    // SAFETY: found are only keys that are made by `Key::new`, which in this process are those of
    // the program. What it does with its own is its own affair.
    unsafe { Key::numbered(number) }
}

/// `pthread_key_delete`: nobody has a value of it any more, and no destructor is called. `EINVAL`
/// if there is no such key.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_key_delete(key: fibre_key_t) -> c_int {
    match contain(|| key_of(key).is_some_and(Key::delete)) {
        true => 0,
        false => libc::EINVAL,
    }
}

/// `pthread_setspecific`: sets the caller's value. `EINVAL` if there is no such key.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_setspecific(key: fibre_key_t, value: *const c_void) -> c_int {
    if reserve::is_low() && !value.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the program sets values that its destructor may be called with.
    let set = |key: Key| unsafe { key.set(value.cast_mut()) };
    match contain(|| key_of(key).is_some_and(set)) {
        true => 0,
        false => libc::EINVAL,
    }
}

/// `pthread_getspecific`: the caller's value; null if it has none, or if there is no such key.
#[unsafe(no_mangle)]
pub extern "C" fn fibre_getspecific(key: fibre_key_t) -> *mut c_void {
    key_of(key).map_or(ptr::null_mut(), Key::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_keys_are_refused() {
        let mut key = 0;
        // SAFETY: a place of this frame.
        assert_eq!(unsafe { fibre_key_create(&raw mut key, None) }, 0);
        let value = (&raw const key).cast();
        assert_eq!(fibre_setspecific(key, value), 0);
        assert_eq!(fibre_getspecific(key).cast_const(), value);
        assert_eq!(fibre_key_delete(key), 0);
        assert_eq!(fibre_key_delete(key), libc::EINVAL);
        assert_eq!(fibre_setspecific(key, value), libc::EINVAL);
        assert!(fibre_getspecific(key).is_null());
        assert_eq!(fibre_key_delete(u32::MAX), libc::EINVAL);
    }
}
