//! What every call that moves bytes has to work out before and after.

use crate::source::Left;
use std::ops::{Deref, Range};

/// Slices that the kernel takes at once (`UIO_MAXIOV`).
const MOST_SLICES: usize = 1024;

/// The slices to pass to the kernel: from the first that is not empty, and not too many.
/// `None`: all are empty.
pub fn useful<T: Deref<Target = [u8]>>(buffers: &[T]) -> Option<Range<usize>> {
    let first = buffers.iter().position(|buffer| !buffer.is_empty())?;
    Some(first..buffers.len().min(first + MOST_SLICES))
}

/// What reading or writing `count` of `wanted` bytes says about the rest. An end of
/// file, or an empty buffer, says nothing.
pub fn left(count: usize, wanted: usize) -> Left {
    if count == 0 || count == wanted {
        Left::More
    } else {
        Left::Nothing
    }
}

/// The bytes that all slices have room for, or hold.
pub fn total<T: Deref<Target = [u8]>>(buffers: &[T]) -> usize {
    buffers.iter().map(|buffer| buffer.len()).sum()
}
