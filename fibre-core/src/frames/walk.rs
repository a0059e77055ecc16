//! The stack that the caller is on: its words (some are return addresses) and its frames.
//!
//! A walk through the frames is certain, and takes long; a look at the words is quick, and finds
//! all return addresses among others.

use crate::arch;
use std::ffi::{c_int, c_void};

/// Whether one of the words between these addresses, on the caller's stack and above its stack
/// pointer, is one that `is` wants, above `lowest` and at most `highest`.
pub(super) fn has_word(
    [begin, end]: [usize; 2],
    [lowest, highest]: [usize; 2],
    is: impl Fn(usize) -> bool,
) -> bool {
    let mut place = begin.next_multiple_of(size_of::<usize>());
    // Kept plain: builds with debug assertions are seldom optimised.
    while place + size_of::<usize>() <= end {
        // SAFETY: a word of the caller's stack, above the stack pointer.
        let word = unsafe { arch::stack_word(place) };
        if word > lowest && word <= highest && is(word) {
            return true;
        }
        place += size_of::<usize>();
    }
    false
}

/// The context that `_Unwind_Backtrace` passes to its callback.
enum UnwindContext {}

unsafe extern "C-unwind" {
    /// A function of the unwinder that std brings along. Calls `step` for each frame until it
    /// returns other than zero.
    fn _Unwind_Backtrace(
        step: extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int,
        search: *mut c_void,
    ) -> c_int;
    /// The address where the frame goes on.
    fn _Unwind_GetIP(frame: *mut UnwindContext) -> usize;
}

/// A search through the frames.
struct Search<T, F> {
    /// The function that asks for the result at an address.
    of: F,
    /// The result, once it is found.
    found: Option<T>,
}

/// Returns the first result of `of` at the addresses where the frames go on, the innermost first.
pub(super) fn innermost<T, F: Fn(usize) -> Option<T>>(of: F) -> Option<T> {
    extern "C" fn step<T, F: Fn(usize) -> Option<T>>(
        frame: *mut UnwindContext,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the place below, which is not used elsewhere during the walk, and a valid
        // context.
        let (search, address) =
            unsafe { (&mut *search.cast::<Search<T, F>>(), _Unwind_GetIP(frame)) };
        search.found = (search.of)(address);
        c_int::from(search.found.is_some())
    }
    let mut search = Search { of, found: None };
    // SAFETY: the callback fits, and its place outlives the call.
    unsafe { _Unwind_Backtrace(step::<T, F>, (&raw mut search).cast()) };
    search.found
}
