//! The event trace, for whoever looks for a fault.

use crate::boundary::keep_errno;
use fibre_core::trace_mark;
use fibre_inspect::write_trace;
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

/// Writes the newest events of all processors to a descriptor, for the tool `fibre-trace`: which
/// fibres ran, why they waited, what made them ready. `FIBRE_TRACE` has them recorded, and written
/// when SIGUSR2 comes. Returns zero or an error number: `ENOTSUP` if nothing is recorded, or that
/// of the write. Blocks the fibre's kernel thread while it writes.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn fibre_trace(descriptor: c_int) -> c_int {
    keep_errno(|| {
        // Of a standard library whose descriptors are never negative.
        if descriptor < 0 {
            return libc::EBADF;
        }
        // SAFETY: a descriptor that the caller has, and which is not closed here.
        let mut output = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
        match write_trace(&mut *output) {
            Ok(()) => 0,
            Err(error) => error.raw_os_error().unwrap_or(libc::ENOTSUP),
        }
    })
}

/// Leaves a mark in the event trace: a text. The first 64 bytes are kept. Does next to
/// nothing unless `FIBRE_TRACE` has the process record events.
///
/// # Safety
///
/// A text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_trace_mark(text: *const c_char) {
    keep_errno(|| {
        // SAFETY: the caller's promise.
        trace_mark(&unsafe { CStr::from_ptr(text) }.to_string_lossy());
    });
}
