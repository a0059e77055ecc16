//! The stack that the caller is on: its words, some of which are return addresses, and its frames.
//!
//! A walk through the frames is certain, and takes long; a look at the words is quick, and finds
//! all return addresses among others.

use std::arch::asm;
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
        let word: usize;
        // SAFETY: a word of the caller's stack, above the stack pointer. By an instruction, as it
        // may be anything, and may lie where AddressSanitizer allows no access of Rust's.
        unsafe {
            asm!(
                "mov {word}, [{place}]",
                place = in(reg) place,
                word = lateout(reg) word,
                options(nostack, readonly, preserves_flags)
            );
        }
        if word > lowest && word <= highest && is(word) {
            return true;
        }
        place += size_of::<usize>();
    }
    false
}

/// The context that `_Unwind_Backtrace` passes to its callback.
enum UnwindContext {}

// By these functions nothing unwinds. But a caller that the compiler knows not to unwind has no
// entry in the table of its function, and `unwinding` takes that for a call that aborts.
unsafe extern "C-unwind" {
    /// A function of the unwinder that std brings along. Calls `step` for each frame until it
    /// returns other than zero.
    fn _Unwind_Backtrace(
        step: extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int,
        search: *mut c_void,
    ) -> c_int;
    /// The address at which the frame goes on.
    fn _Unwind_GetIP(frame: *mut UnwindContext) -> usize;
    /// The frame's stack pointer.
    fn _Unwind_GetCFA(frame: *mut UnwindContext) -> usize;
    /// Where the code of the frame's function begins.
    fn _Unwind_GetRegionStart(frame: *mut UnwindContext) -> usize;
    /// What the language says about the function, for unwinding; null if it says nothing.
    fn _Unwind_GetLanguageSpecificData(frame: *mut UnwindContext) -> *const u8;
}

/// A frame that a walk has come to.
pub(super) struct Frame(*mut UnwindContext);

impl Frame {
    /// The address at which it goes on.
    pub(super) fn address(&self) -> usize {
        // SAFETY: a valid context, as the walk has not gone on.
        unsafe { _Unwind_GetIP(self.0) }
    }

    /// Its stack pointer.
    pub(super) fn stack_pointer(&self) -> usize {
        // SAFETY: as above.
        unsafe { _Unwind_GetCFA(self.0) }
    }

    /// Where the code of its function begins.
    pub(super) fn function(&self) -> usize {
        // SAFETY: as above.
        unsafe { _Unwind_GetRegionStart(self.0) }
    }

    /// What the language says about the function; null if it says nothing.
    pub(super) fn language_data(&self) -> *const u8 {
        // SAFETY: as above.
        unsafe { _Unwind_GetLanguageSpecificData(self.0) }
    }
}

/// A search through the frames.
struct Search<T, F> {
    /// The function that asks for the result at a frame.
    of: F,
    /// The result, once it is found.
    found: Option<T>,
}

/// Returns the first result of `of` at the addresses at which the frames go on, the innermost
/// first.
pub(super) fn innermost<T, F: Fn(usize) -> Option<T>>(of: F) -> Option<T> {
    first(|frame| of(frame.address()))
}

/// Returns the first result of `of` at the frames, the innermost first.
pub(super) fn first<T, F: FnMut(&Frame) -> Option<T>>(of: F) -> Option<T> {
    extern "C" fn step<T, F: FnMut(&Frame) -> Option<T>>(
        frame: *mut UnwindContext,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the place below, which is not used elsewhere during the walk.
        let search = unsafe { &mut *search.cast::<Search<T, F>>() };
        // The unwinder passes a valid context.
        search.found = (search.of)(&Frame(frame));
        c_int::from(search.found.is_some())
    }
    let mut search = Search { of, found: None };
    // SAFETY: the callback fits, and its place outlives the call.
    unsafe { _Unwind_Backtrace(step::<T, F>, (&raw mut search).cast()) };
    search.found
}
