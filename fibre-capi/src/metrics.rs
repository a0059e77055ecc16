//! What the processors have done so far, for monitoring.

use crate::boundary::keep_errno;
use fibre_inspect::exposition;
use std::ffi::c_int;
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

/// Writes the metrics of the process to a descriptor, as OpenMetrics text, which Prometheus reads:
/// what its processors have done so far, how many fibres live, run and wait. `FIBRE_METRICS` serves
/// the same text over HTTP. Returns its length in bytes, whether it could be written or not. Blocks
/// the fibre for some 200 µs, or 10 ms if another fibre keeps a processor, and its kernel thread
/// while it writes.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn fibre_metrics(descriptor: c_int) -> c_int {
    keep_errno(|| {
        let text = exposition();
        if descriptor >= 0 {
            // SAFETY: a descriptor that the caller has, and which is not closed here.
            let mut output = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
            let _ = output.write_all(text.as_bytes());
        }
        c_int::try_from(text.len()).unwrap_or(c_int::MAX)
    })
}
