//! What all fibres do, for whoever looks for a fault.

use crate::boundary::keep_errno;
use fibre_inspect::{Format, content};
use std::ffi::c_int;
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

/// Writes all fibres that have started to a descriptor, as text: what each does or waits for, who
/// has that, and its stack. A SIGQUIT does the same, to standard error or the file that
/// `FIBRE_DUMP` names, unless the program handles that signal or `FIBRE_QUIT` says otherwise.
/// Returns how many fibres there are, whether they could be written or not; zero in a forked child.
/// Blocks the fibre, and its kernel thread while it writes.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn fibre_dump(descriptor: c_int) -> c_int {
    keep_errno(|| {
        let Ok((text, fibres)) = content(Format::Text) else {
            return 0;
        };
        if descriptor >= 0 {
            // SAFETY: a descriptor that the caller has, and which is not closed here.
            let mut output = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
            let _ = output.write_all(text.as_bytes());
        }
        c_int::try_from(fibres).unwrap_or(c_int::MAX)
    })
}
