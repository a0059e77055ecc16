//! From pointers of C programs to objects.

use crate::boundary::{contain, number};
use fibre_sync::raw::{Error, Result};
use std::ffi::c_int;

/// A type of C in which an object of ours lies.
pub trait Object {
    /// That object.
    type Held;
}

/// Says which object lies in a type of C, and that it fits, as it does in the system's type.
macro_rules! object {
    ($object:ty, $held:ty, $system:ty) => {
        impl crate::sync::object::Object for $object {
            type Held = $held;
        }
        const _: () = {
            assert!(size_of::<$object>() == size_of::<$system>());
            assert!(align_of::<$object>() <= align_of::<$system>());
            assert!(size_of::<$held>() <= size_of::<$object>());
            assert!(align_of::<$held>() <= align_of::<$object>());
        };
    };
}
pub(crate) use object;

/// The object at this place.
///
/// # Errors
///
/// [`Error::Invalid`] if the pointer is null.
///
/// # Safety
///
/// Else there is one, which outlives the call.
#[inline(always)]
pub unsafe fn at<'a, C: Object>(place: *mut C) -> Result<&'a C::Held> {
    // SAFETY: the caller's promise; it fits, as `object` has found out.
    unsafe { place.cast::<C::Held>().as_ref() }.ok_or(Error::Invalid)
}

/// Makes an object at this place.
///
/// # Errors
///
/// [`Error::Invalid`] if the pointer is null.
///
/// # Safety
///
/// Else the place is the caller's.
pub unsafe fn make<C: Object>(place: *mut C, object: C::Held) -> Result {
    if place.is_null() {
        return Err(Error::Invalid);
    }
    // SAFETY: the caller's promise; it fits, as above.
    unsafe { place.cast::<C::Held>().write(object) };
    Ok(())
}

/// Writes a value for the caller.
///
/// # Errors
///
/// [`Error::Invalid`] if the pointer is null.
///
/// # Safety
///
/// Else the place is the caller's.
pub unsafe fn give<T>(place: *mut T, value: T) -> Result {
    if place.is_null() {
        return Err(Error::Invalid);
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(value) };
    Ok(())
}

/// What an attributes object says.
///
/// # Errors
///
/// [`Error::Invalid`] if the pointer is null.
///
/// # Safety
///
/// Else there is such an object.
unsafe fn attribute<T: Copy>(place: *const T) -> Result<T> {
    // SAFETY: the caller's promise.
    unsafe { place.as_ref() }.copied().ok_or(Error::Invalid)
}

/// Writes for the caller what `read` says of attributes; returns an error number.
///
/// # Safety
///
/// Both are null, or there.
pub unsafe fn get<A: Copy, T>(
    attributes: *const A,
    place: *mut T,
    read: impl FnOnce(A) -> Result<T>,
) -> c_int {
    // SAFETY: the caller's promise.
    number(contain(|| unsafe {
        give(place, read(attribute(attributes)?)?)
    }))
}

/// Changes attributes; returns an error number.
///
/// # Safety
///
/// They are null, or there.
pub unsafe fn set<A: Copy>(attributes: *mut A, change: impl FnOnce(A) -> Result<A>) -> c_int {
    // SAFETY: the caller's promise.
    number(contain(|| unsafe {
        give(attributes, change(attribute(attributes)?)?)
    }))
}
