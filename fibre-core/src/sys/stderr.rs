//! Messages to the user of the program, on standard error.
//!
//! `eprintln!` panics when it cannot write to standard error (closed, a full disk), and a panic at
//! these places would hide the report. This module does not use std's handle either: that has a
//! lock, and in a forked child its holder may not exist. It allocates nothing.

use std::fmt::Arguments;
use std::io::Write;
use std::os::fd::{BorrowedFd, RawFd};

/// The descriptor that reports go to.
const STANDARD_ERROR: RawFd = 2;

/// Bytes of the longest report; the rest is left out.
const MAX_REPORT: usize = 2048;

/// Writes a message, if standard error is open.
pub fn warn(words: Arguments<'_>) {
    let mut text = [0; MAX_REPORT];
    let mut rest = &mut text[..MAX_REPORT - 1];
    let _ = write!(rest, "fibre: {words}");
    let length = MAX_REPORT - 1 - rest.len();
    text[length] = b'\n';
    let mut unsaid = &text[..=length];
    // SAFETY: borrowed for the call; the process does not close it meanwhile, or wants no report.
    let output = unsafe { BorrowedFd::borrow_raw(STANDARD_ERROR) };
    while let Ok(written @ 1..) = rustix::io::retry_on_intr(|| rustix::io::write(output, unsaid)) {
        unsaid = &unsaid[written..];
        if unsaid.is_empty() {
            return;
        }
    }
}

/// Writes a message and ends the process.
pub fn abort_with(words: Arguments<'_>) -> ! {
    warn(words);
    std::process::abort()
}
