//! Locales of fibres.
//!
//! `uselocale` sets the locale of the kernel thread. So a fibre that calls it has a locale of its
//! own from then on ([`crate::float`]). A new one begins with that of the process, as POSIX
//! has it.

use crate::boundary::fail;
use crate::float::own_locale;
use std::ffi::c_void;
use std::ptr;

/// `LC_GLOBAL_LOCALE`: that of the process.
const GLOBAL: usize = usize::MAX;

/// `uselocale`: sets the locale of the calling fibre, unless it is null, and returns the one
/// before. Null, with `errno` `EINVAL`, if there is no such locale, or `ENOMEM` without memory to
/// keep it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_uselocale(locale: *mut c_void) -> *mut c_void {
    if !locale.is_null() && locale.addr() != GLOBAL && !own_locale() {
        fail(libc::ENOMEM);
        return ptr::null_mut();
    }
    // SAFETY: passed on.
    unsafe { libc::uselocale(locale.cast()) }.cast()
}
