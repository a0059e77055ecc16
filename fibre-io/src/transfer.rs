//! The computations before and after every call that moves bytes. `storage` has what a file's bytes
//! come from.

pub(crate) mod storage;

use crate::funnel::Left;
use std::ops::{Deref, Range};

/// How many slices the kernel takes at once (`UIO_MAXIOV`).
const MOST_SLICES: usize = 1024;

/// The slices to pass to the kernel: from the first that is not empty, and not too many. `None` if
/// all are empty.
pub(crate) fn useful<T: Deref<Target = [u8]>>(buffers: &[T]) -> Option<Range<usize>> {
    let first = buffers.iter().position(|buffer| !buffer.is_empty())?;
    Some(first..buffers.len().min(first + MOST_SLICES))
}

/// Whether a read or write of `count` of `wanted` bytes proves that nothing is left. An end of
/// file, or an empty buffer, proves nothing.
pub(crate) fn left(count: usize, wanted: usize) -> Left {
    if count == 0 || count == wanted {
        Left::More
    } else {
        Left::Nothing
    }
}

/// The length of all slices together, in bytes.
pub(crate) fn total<T: Deref<Target = [u8]>>(buffers: &[T]) -> usize {
    buffers.iter().map(|buffer| buffer.len()).sum()
}
