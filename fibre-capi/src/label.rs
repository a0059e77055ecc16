//! What a fibre says of itself to those who look at it from outside.

use crate::boundary::keep_errno;
use std::ffi::{CStr, c_char};

/// Gives the calling fibre a label, a key and a value: dumps, gdb, and the report of a stack
/// overflow show it beside the fibre's name. A later label with the same key takes its place; a
/// null pointer or an empty text takes it away. The labels of a fibre have room for 240 bytes
/// together; what is beyond is cut off. The first one allocates memory, which is freed with the
/// fibre; without memory the process ends. Bytes that are not UTF-8 are replaced. Does nothing on a
/// plain thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fibre_label(key: *const c_char, value: *const c_char) {
    keep_errno(|| {
        let text = |text: *const c_char| {
            // SAFETY: null, or a text that the caller has ended by a zero.
            let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
            text.map(CStr::to_string_lossy).unwrap_or_default()
        };
        fibre_core::label(&text(key), text(value));
    });
}
