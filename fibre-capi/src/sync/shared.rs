//! The attribute by which objects are shared between processes. They cannot be: those who wait are fibres of one
//! process. So the attribute has one value only.

use fibre_sync::raw::{Error, Result};
use std::ffi::c_int;

/// `PTHREAD_PROCESS_PRIVATE`.
pub const PRIVATE: c_int = 0;
/// `PTHREAD_PROCESS_SHARED`.
const SHARED: c_int = 1;

/// The answer to one who asks for this value of the attribute in `attributes`: an error number.
pub fn set<T>(attributes: *const T, value: c_int) -> c_int {
    match value {
        _ if attributes.is_null() => libc::EINVAL,
        PRIVATE => 0,
        SHARED => libc::ENOTSUP,
        _ => libc::EINVAL,
    }
}

/// The answer to one who wants to know it.
///
/// # Errors
///
/// [`Error::Invalid`] for null pointers.
///
/// # Safety
///
/// The place is null, or the caller's.
pub unsafe fn get<T>(attributes: *const T, place: *mut c_int) -> Result {
    if attributes.is_null() {
        return Err(Error::Invalid);
    }
    // SAFETY: passed on.
    unsafe { super::object::give(place, PRIVATE) }
}
