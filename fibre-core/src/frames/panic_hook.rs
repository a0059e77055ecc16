//! Whether the calling fibre is in the panic hook.
//!
//! `std::thread::panicking()` is true in the hook and while the stack is unwound, but what a wait
//! may do differs. In the hook, std keeps a flag for the kernel thread, which makes the next panic
//! there abort the process, and holds the lock that `set_hook` waits for. std does not say which of
//! the two it is; the stack does. The functions of std's that call the hook have frames there,
//! while those of a panic that unwinds have gone.
//!
//! They are found in the program's table of symbols, when a fibre first waits while it panics. A
//! program that was stripped has no such table, so there the two cannot be told apart.
//!
//! The names are std's own affair and may change; `tests/panic_hook.rs` notices.

use crate::fibre::ControlBlock;
use crate::frames::symbols::functions;
use crate::frames::walk;
use crate::stack::bounds_at;
use std::ops::Range;
use std::sync::LazyLock;

/// The parts that the names of these functions contain, one or the other: the function that calls
/// the hook, and its callers, into which it may be inlined.
const WORDS: [&str; 3] = [
    "panic_with_hook",
    "9panicking13panic_handler",
    "9panicking11begin_panic",
];

/// The addresses of these functions.
static FUNCTIONS: LazyLock<Vec<Range<usize>>> = LazyLock::new(|| {
    let found = functions(&WORDS, |_| Some(())).into_iter();
    found.map(|(code, ())| code).collect()
});

/// The place of a caller whose thread is panicking.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// In the panic hook.
    Inside,
    /// In a destructor while the stack is unwound, or in a fibre other than the one that panics.
    Outside,
    /// In one of these; it is not known which.
    Unknown,
}

/// Finds the place of the calling fibre, whose thread is panicking.
#[cold]
pub(crate) fn whereabouts(fibre: &ControlBlock) -> Whereabouts {
    let (Some(first), Some(last)) = (FUNCTIONS.first(), FUNCTIONS.last()) else {
        return Whereabouts::Unknown;
    };
    // Other fibres come by here, too, for as long as one of the thread waits while it unwinds.
    let here = 0_usize;
    let here = (&raw const here).addr();
    if let Some(end) = end_of_own_stack(fibre, here)
        && !walk::has_word([here, end], [first.start, last.end], is_inside)
    {
        return Whereabouts::Outside;
    }
    if walk::innermost(|address| is_inside(address).then_some(())).is_some() {
        Whereabouts::Inside
    } else {
        Whereabouts::Outside
    }
}

/// The end of the stack that has this address, if it is the fibre's own: the hook may have run
/// there, and the caller be on another stack.
fn end_of_own_stack(fibre: &ControlBlock, address: usize) -> Option<usize> {
    let stack = bounds_at(address)?;
    // SAFETY: the calling fibre.
    (stack.end == unsafe { fibre.root() }).then_some(stack.end)
}

/// Whether this return address lies in one of the functions.
fn is_inside(address: usize) -> bool {
    let after = FUNCTIONS.partition_point(|code| code.start < address);
    // A call may be the last instruction.
    let before = after.checked_sub(1).and_then(|index| FUNCTIONS.get(index));
    before.is_some_and(|code| address <= code.end)
}
