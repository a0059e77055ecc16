//! The memory under stacks: given back, fetched, looked at; many at a time.
//!
//! A stack grows down from its top, so its touched pages are the upper ones. Nearly every fibre
//! touches the top [`KEPT`] bytes, which stay as long as a stack is *warm*. Deeper pages go back to
//! the kernel when a stack leaves its processor. Asking the kernel whether there *are* any costs
//! three times as much as giving them back unasked.

use super::size::{CLASSES, page_size};
use super::slab::Stack;
use super::system::{self, Advice, PIECES, Piece};
use rustix::io::Errno;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes at the top of a warm stack that keep their pages: what nearly every fibre touches.
const KEPT: usize = 8192;

/// Pages in a row that are not in memory; nothing is looked for below them: more than a frame has,
/// and what is looked at in one call.
const GAP: usize = 256;

/// The deepest use seen, by class.
static DEEPEST: [AtomicUsize; CLASSES] = [const { AtomicUsize::new(0) }; CLASSES];

/// Gives the deep pages of stacks back.
pub(super) fn release_deep(stacks: &[Stack]) {
    each(stacks, Advice::Release, |stack| Piece {
        start: stack.guard().end,
        length: stack.length() - kept(stack),
    });
}

/// Bytes at the top of a warm stack that keep their pages.
fn kept(stack: &Stack) -> usize {
    stack
        .kept_for_block()
        .max(KEPT)
        .next_multiple_of(page_size())
        .min(stack.length())
}

/// Gives all pages of stacks back: they become cold, and read as zeros.
pub(super) fn release_all(stacks: &[Stack]) {
    each(stacks, Advice::Release, |stack| Piece {
        start: stack.guard().end,
        length: stack.length(),
    });
}

/// Fetches the top pages of cold stacks, which costs less than one fault for each.
pub(super) fn warm(stacks: &[Stack]) {
    each(stacks, Advice::Populate, |stack| Piece {
        start: stack.guard().end + stack.length() - page_size(),
        length: page_size(),
    });
}

/// Gives this advice about a part of each stack. Errors only mean that pages stay, or come later.
fn each(stacks: &[Stack], advice: Advice, part: impl Fn(&Stack) -> Piece) {
    for stacks in stacks.chunks(PIECES) {
        if advice == Advice::Release {
            // One for all: looking costs more than releasing.
            stacks.first().map(note_depth);
        }
        let mut pieces = [Piece {
            start: 0,
            length: 0,
        }; PIECES];
        for (piece, stack) in pieces.iter_mut().zip(stacks) {
            *piece = part(stack);
        }
        // SAFETY: the caller owns the stacks, and nobody runs on them; nothing on them is read
        // again before it is written, but the owner's address, which is null.
        let done = unsafe { system::advise_each(&pieces[..stacks.len()], advice) };
        if done.is_err() && advice == Advice::Release {
            stacks
                .iter()
                .zip(&pieces)
                .for_each(|(stack, piece)| release_locked(stack, *piece));
        }
    }
}

/// Gives a part of a stack back that the process may have locked since its slab was made. Locked
/// pages do not go, and their content would stay; so the slab is unlocked.
#[cold]
fn release_locked(stack: &Stack, piece: Piece) {
    // SAFETY: as in `each`; fibres on the slab's other stacks do not notice.
    unsafe {
        if system::advise(piece, Advice::Release) == Err(Errno::INVAL)
            && system::unlock(stack.slab.whole()).is_ok()
        {
            let _ = system::advise(piece, Advice::Release);
        }
    }
}

/// Notes how deep this stack has been used, if that is a record.
fn note_depth(stack: &Stack) {
    let (deepest, _) = depth_and_residence(stack.guard().end, stack.base().get());
    note_deepest(stack.class(), deepest);
}

/// Notes that a stack of this class has been used so deep.
pub(super) fn note_deepest(class: usize, bytes: usize) {
    if DEEPEST[class].load(Ordering::Relaxed) < bytes {
        DEEPEST[class].fetch_max(bytes, Ordering::Relaxed);
    }
}

/// The deepest use seen in this class.
pub(super) fn deepest(class: usize) -> usize {
    DEEPEST[class].load(Ordering::Relaxed)
}

/// For a stack with its lowest byte at `bottom`: how many bytes below `base` lie above the lowest
/// page in memory, and how many bytes are in memory. The search goes down from the top, and stops
/// at [`GAP`] pages in a row that are not in memory: that takes as long as the stack has been used
/// deep, however much is reserved for it.
pub(super) fn depth_and_residence(bottom: usize, base: usize) -> (usize, usize) {
    look_down(bottom, base, system::residence)
}

/// The search of [`depth_and_residence`]; `residence` reports which pages are in memory.
fn look_down(
    bottom: usize,
    base: usize,
    mut residence: impl FnMut(Piece, &mut [u8]) -> Result<(), Errno>,
) -> (usize, usize) {
    let mut window = [0_u8; GAP];
    let (mut lowest, mut resident, mut absent) = (base, 0, 0);
    let mut end = base.next_multiple_of(page_size());
    while end > bottom && absent < GAP {
        let pages = &mut window[..GAP.min((end - bottom) / page_size())];
        let length = pages.len() * page_size();
        end -= length;
        let looked = residence(Piece { start: end, length }, pages);
        let is_there = |page: &u8| looked.is_ok() && page & 1 != 0;
        match pages.iter().position(is_there) {
            Some(first) => (lowest, absent) = (end + first * page_size(), first),
            None => absent += pages.len(),
        }
        resident += pages.iter().filter(|page| is_there(page)).count() * page_size();
    }
    (base.saturating_sub(lowest), resident)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at a stack of `size` bytes with the pages `there` in memory, counted from the top;
    /// returns what was found, and how many pages were asked about.
    fn look(size: usize, there: &[usize]) -> ((usize, usize), usize) {
        let bottom = 1 << 46;
        let base = bottom + size - 16;
        let mut asked = 0;
        let found = look_down(bottom, base, |piece, pages| {
            assert_eq!(piece.length, pages.len() * page_size());
            assert!(piece.start >= bottom && piece.start + piece.length <= bottom + size);
            asked += pages.len();
            for (index, page) in pages.iter_mut().enumerate() {
                let from_top = (bottom + size - piece.start) / page_size() - 1 - index;
                *page = u8::from(there.contains(&from_top));
            }
            Ok(())
        });
        (found, asked)
    }

    #[test]
    fn what_has_been_touched_is_found() {
        let page = |count: usize| count * page_size();
        for size in [8, 64, 65, 1000, 1 << 24].map(page) {
            assert_eq!(look(size, &[]).0, (0, 0));
            assert_eq!(look(size, &[0]).0, (page(1) - 16, page(1)));
            assert_eq!(look(size, &[0, 1, 2]).0, (page(3) - 16, page(3)));
            // A frame with a large array; only the far end has been used.
            assert_eq!(look(size, &[0, 7]).0, (page(8) - 16, page(2)));
        }
        let deep: Vec<usize> = (0..900).step_by(3).collect();
        assert_eq!(look(page(1000), &deep).0, (page(898) - 16, page(300)));
    }

    /// However much is reserved, only a little more is looked at than has been used.
    #[test]
    fn what_is_only_reserved_is_not_looked_at() {
        for bits in [20, 36, 44] {
            for used in [0, 1, 10, 1000, 5000] {
                let pages: Vec<usize> = (0..used.min((1 << bits) / page_size())).collect();
                let ((depth, _), asked) = look(1 << bits, &pages);
                assert_eq!(
                    depth.next_multiple_of(page_size()),
                    pages.len() * page_size()
                );
                assert!(asked <= pages.len() + 2 * GAP, "2^{bits}, {used}: {asked}");
            }
        }
    }

    #[test]
    fn a_kernel_that_does_not_tell_is_not_asked_for_ever() {
        let mut asked = 0;
        let found = look_down(0, 1 << 44, |_, pages| {
            // What a failed call leaves there means nothing.
            pages.fill(1);
            asked += 1;
            Err(Errno::NOSYS)
        });
        assert_eq!((found, asked), ((0, 0), 1));
    }
}
