//! The attribute by which objects are shared between processes.
//!
//! Objects with it are the system's own ([`super::system`]).

use fibre_sync::raw::{Error, Result};
use std::ffi::c_int;

/// `PTHREAD_PROCESS_PRIVATE`.
pub const PRIVATE: c_int = 0;
/// `PTHREAD_PROCESS_SHARED`.
pub const SHARED: c_int = 1;

/// Whether objects are to be shared, for a caller that asks for this value of the attribute.
///
/// # Errors
///
/// [`Error::Foreign`], which is `ENOTSUP`, if the system's library does not offer that as we know
/// it; [`Error::Invalid`] for another value.
pub fn wanted(value: c_int, is_offered: bool) -> Result<bool> {
    match value {
        PRIVATE => Ok(false),
        SHARED if is_offered => Ok(true),
        SHARED => Err(Error::Foreign),
        _ => Err(Error::Invalid),
    }
}

/// The answer to a caller that asks for this value of an attribute that has one value only, which
/// is zero: an error number.
pub fn refuse<T>(attributes: *const T, value: c_int) -> c_int {
    match value {
        _ if attributes.is_null() => libc::EINVAL,
        0 => 0,
        1 => libc::ENOTSUP,
        _ => libc::EINVAL,
    }
}
