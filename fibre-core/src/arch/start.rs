//! What a thread of C begins with, on every kind of CPU.

use std::ffi::c_void;

/// What a thread of C begins with. From C, never null.
pub type Start = Option<unsafe extern "C-unwind" fn(argument: *mut c_void) -> *mut c_void>;
