//! What the program says for the event trace: marks, and names that change.

use crate::ready::record_mark_here;
use crate::trace::{self, keep_name};

/// Leaves a mark in the event trace, where and when the calling fibre or thread is. Its first 64
/// bytes are kept. Does nothing but look at a flag unless `FIBRE_TRACE` has the process record
/// events. Blocks nothing.
///
/// ```
/// fibre::spawn(|| fibre::trace::mark("the table is full")).join().unwrap();
/// ```
#[inline]
pub fn trace_mark(text: &str) {
    if trace::is_on() {
        record_mark_here(text);
    }
}

/// Tells the event trace that a fibre has another name from now on. For layers above.
pub fn rename(fibre: u64, name: &str) {
    if trace::is_on() {
        keep_name(fibre, name);
    }
}
