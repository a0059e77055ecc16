//! Writing to standard error without being held up.
//!
//! A pipe may be full that nobody reads, and the descriptor may be closed. What cannot be written
//! is left out: there is no place where that could be said.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr, write};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The bytes of a piece: what a pipe takes as a whole, once it can be written to.
const PIECE: usize = 4096;

/// Writes a text to standard error, as long as somebody reads it within this time. Blocks the
/// thread meanwhile. `false`: not all of it was written.
pub(crate) fn write_error(text: &str, patience: Duration) -> bool {
    // SAFETY: borrowed for the call; if the program closes it meanwhile, nothing is written.
    let output = unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        if !can_write(output, patience) {
            return false;
        }
        match write(output, &rest[..rest.len().min(PIECE)]) {
            // Another thread may have filled the pipe since.
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) | Err(_) => return false,
            Ok(count) => rest = &rest[count..],
        }
    }
    true
}

/// Whether a piece can be written, or will be in time.
fn can_write(output: BorrowedFd<'_>, patience: Duration) -> bool {
    let mut wanted = [PollFd::new(&output, PollFlags::OUT)];
    let limit = Timespec {
        tv_sec: patience.as_secs() as i64,
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    let ready = retry_on_intr(|| poll(&mut wanted, Some(&limit)));
    ready.is_ok_and(|count| count > 0) && !wanted[0].revents().contains(PollFlags::NVAL)
}
