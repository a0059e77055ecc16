//! The memory under stacks: given back, fetched, looked at; many at a time.
//!
//! A stack grows down from its top, so what has been touched is its upper pages. The top
//! [`KEPT`] bytes are touched by nearly every fibre and stay as long as a stack is *warm*; what
//! lies deeper goes back to the kernel when a stack leaves its processor. Asking the
//! kernel whether there *is* anything deeper costs three times as much as giving it back unasked.

use super::size::{CLASSES, PAGE};
use super::slab::Stack;
use super::system::{self, Advice, PIECES, Piece};
use corosensei::stack::Stack as _;
use rustix::io::Errno;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes at the top of a warm stack that keep their pages: what nearly every fibre touches.
const KEPT: usize = 2 * PAGE;

/// The deepest use seen, by class.
static DEEPEST: [AtomicUsize; CLASSES] = [const { AtomicUsize::new(0) }; CLASSES];

/// Gives the deep pages of stacks back.
pub(super) fn release_deep(stacks: &[Stack]) {
    each(stacks, Advice::Release, |stack| Piece {
        start: stack.guard().end,
        length: stack.size() - KEPT,
    });
}

/// Gives all pages of stacks back: they become cold, and read as zeros.
pub(super) fn release_all(stacks: &[Stack]) {
    each(stacks, Advice::Release, |stack| Piece {
        start: stack.guard().end,
        length: stack.size(),
    });
}

/// Fetches the top pages of cold stacks, which costs less than one fault for each.
pub(super) fn warm(stacks: &[Stack]) {
    each(stacks, Advice::Populate, |stack| Piece {
        start: stack.guard().end + stack.size() - PAGE,
        length: PAGE,
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
        // SAFETY: whoever has a stack has it for himself, and nobody runs on it; nothing on it
        // is read again before it is written, but the owner's address, which is null.
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
/// pages do not go, and what is on them would stay; so the slab is unlocked.
#[cold]
fn release_locked(stack: &Stack, piece: Piece) {
    // SAFETY: as in `each`; who is on the slab's other stacks does not notice.
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

/// How many bytes below `base` lie above the lowest page in memory, and how many bytes are in
/// memory, of a stack whose lowest byte is at `bottom`.
pub(super) fn depth_and_residence(bottom: usize, base: usize) -> (usize, usize) {
    /// Pages looked at in one call.
    const WINDOW: usize = 1024;
    let mut window = [0_u8; WINDOW];
    let (mut lowest, mut resident) = (None, 0);
    let mut start = bottom;
    while start < base {
        let length = (base - start).next_multiple_of(PAGE).min(WINDOW * PAGE);
        let pages = &mut window[..length / PAGE];
        if system::residence(Piece { start, length }, pages).is_ok() {
            let there = |page: &&u8| **page & 1 != 0;
            resident += pages.iter().filter(there).count() * PAGE;
            let first = pages.iter().position(|page| page & 1 != 0);
            lowest = lowest.or(first.map(|page| start + page * PAGE));
        }
        start += length;
    }
    (
        lowest.map_or(0, |lowest| base.saturating_sub(lowest)),
        resident,
    )
}
