//! What calls on the system's objects have in common.

use std::ffi::{c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A word of an object, as other processes may change it.
///
/// # Safety
///
/// The object is there, and has such a word.
#[inline(always)]
pub unsafe fn word<C>(object: *const C, offset: usize) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { (*object.byte_add(offset).cast::<AtomicU32>()).load(Ordering::Relaxed) }
}

/// Whether the system makes objects whose words tell whether processes share them. Asked once.
///
/// `make` makes one at a place, shared or private; `has_tag` looks.
pub fn has_tags<C>(
    once: &OnceLock<bool>,
    make: impl Fn(*mut C, c_int) -> c_int,
    has_tag: impl Fn(*const C) -> bool,
) -> bool {
    *once.get_or_init(|| {
        let is_told = |shared| {
            let mut sample = MaybeUninit::<C>::zeroed();
            // No code keeps it, and destroying it would free nothing.
            let made = make(sample.as_mut_ptr(), shared) == 0;
            made && has_tag(sample.as_ptr()) == (shared != 0)
        };
        is_told(1) && is_told(0)
    })
}

/// Leaves zeros where an object of the system's was, which it has been asked to destroy with this
/// result.
///
/// # Safety
///
/// No caller uses the object any more.
pub unsafe fn clear<C>(object: *mut C, number: c_int) -> c_int {
    if number == 0 {
        // SAFETY: the caller's memory.
        unsafe { ptr::write_bytes(object.cast::<c_void>().cast::<u8>(), 0, mem::size_of::<C>()) };
    }
    number
}
