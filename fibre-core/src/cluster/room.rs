//! Whether there is enough memory for a cluster, checked before it starts.
//!
//! A cluster makes a hundred allocations. Some are std's, which aborts the process if one fails. So
//! this module first asks for as much memory as a cluster takes, with calls that can fail, and
//! gives it back at once. Other threads may take it in between, but with so little memory the
//! program will not last long anyway. If the kernel refuses something else, stacks of threads
//! included, that is an error of its own.

use crate::processor::os_thread;
use std::alloc::{Layout, alloc, dealloc};
use std::hint::black_box;
use std::io;
use std::ptr::NonNull;

/// The most that the place for a processor takes: two allocations, and its part of some more.
const EACH: usize = 2 << 10;

/// The same where memory is limited: the C library wants pages of its own for each allocation when
/// its heap cannot grow.
const EACH_IN_PAGES: usize = 12 << 10;

/// The most that the rest of a cluster takes, the look at the machine and the threads' records
/// included.
const ALL: usize = 512 << 10;

/// The size of one request: allocators keep blocks of this size, and do not return them at once to
/// the kernel, which could give them away.
const PIECE: Layout = Layout::new::<[usize; 4096]>();

/// The most such pieces that are asked for; what is wanted beyond is asked for as a whole.
const PIECES: usize = 32;

/// Asks for the memory of a cluster with so many places for processors.
///
/// # Errors
///
/// [`OutOfMemory`](io::ErrorKind::OutOfMemory), made without an allocation.
pub(super) fn look(places: usize) -> io::Result<()> {
    let each = if os_thread::is_memory_limited() {
        EACH_IN_PAGES
    } else {
        EACH
    };
    let wanted = places.saturating_mul(each).saturating_add(ALL);
    let pieces = wanted.div_ceil(PIECE.size()).min(PIECES);
    let rest = wanted.saturating_sub(pieces * PIECE.size()).max(1);
    let Ok(rest) = Layout::from_size_align(rest, 1) else {
        return Err(io::ErrorKind::OutOfMemory.into());
    };
    with_block(rest, || have_pieces(pieces))
        .filter(|all| *all)
        .map(drop)
        .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Whether `count` pieces can be had at the same time.
fn have_pieces(count: usize) -> bool {
    count == 0 || with_block(PIECE, || have_pieces(count - 1)) == Some(true)
}

/// Calls `f` while a block is allocated. `None`: there is no memory for it.
fn with_block<R>(layout: Layout, f: impl FnOnce() -> R) -> Option<R> {
    // SAFETY: no layout here is empty.
    let block = NonNull::new(unsafe { alloc(layout) })?;
    // The compiler need not allocate a block that nobody looks at.
    let result = black_box((f(), block)).0;
    // SAFETY: allocated above with this layout, and unused.
    unsafe { dealloc(block.as_ptr(), layout) };
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_some_processors_and_not_for_any_number() {
        for places in [0, 1, 64, 1000] {
            look(places).unwrap();
        }
        for places in [usize::MAX, usize::MAX / EACH, 1 << 44] {
            let error = look(places).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{places}");
        }
    }
}
