//! In builds with debug assertions, warns of fibres that leave their stack inside an initialiser of
//! std's.
//!
//! std treats a thread as one flow of control. While the initialiser of a `thread_local!` waits,
//! another fibre of the thread may initialise the same value. The later one then replaces a value
//! that the earlier one has lent, which is undefined behaviour. A fibre that asks for a `LazyLock`,
//! `OnceLock` or `Once` blocks its thread while the initialiser waits, and for ever if the
//! initialiser runs on that thread. A library can fix neither, as std does not say that an
//! initialiser runs. But the stack shows it.
//!
//! So this module checks each fibre that leaves its stack. The program's symbol table has the
//! addresses of std's initialising functions. A word on the stack that points into one of them may
//! be a return address, or a leftover from an earlier call. Such a word is rare. Only if there is
//! one, the module walks the stack frame by frame, and that decides. It reports each function once.
//! A program without a symbol table gets no warning. `FIBRE_INITIALISERS=0` switches this off.
//!
//! The names are internal to std and may change; `tests/bounds/soundness/initialising.rs` notices.

use crate::config::debug_flag::DebugFlag;
use crate::fibre::ControlBlock;
use crate::frames::symbols::functions;
use crate::frames::walk;
use crate::stack::bounds_at;
use crate::sys::stderr;
use std::backtrace::Backtrace;
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether fibres are looked at.
static SWITCH: DebugFlag = DebugFlag::new("FIBRE_INITIALISERS").on_in_debug_builds();

/// std's functions that call initialisers, by address.
static FUNCTIONS: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let function = |(code, kind)| Function {
        code,
        kind,
        told: AtomicBool::new(false),
    };
    let found = functions(&WORDS, kind_of).into_iter();
    found.map(function).collect()
});

/// The parts that the names of these functions contain, one or the other.
const WORDS: [&str; 2] = ["native4lazy", "4once5futex"];

/// How many bytes of a stack are looked at: the use of an ordinary initialiser.
const DEPTH: usize = 16 << 10;

/// How many bytes have to be left on a stack for a backtrace.
const ROOM: usize = 96 << 10;

/// Whether a fibre that asks for a `LazyLock`, `OnceLock` or `Once` waits as a fibre, where names
/// of the C library may stand in. Relaxed: it is set once, before the names do anything.
static ONCE_IS_FIBRES: AtomicBool = AtomicBool::new(false);

/// Says that waits for std's `Once` and its kin block the fibre from now on, as `fibre-libc` has
/// it: nothing is wrong with an initialiser that waits then, so it is not reported.
///
/// ```
/// fibre_core::internal::once_blocks_fibres();
/// ```
pub fn once_blocks_fibres() {
    ONCE_IS_FIBRES.store(true, Ordering::Relaxed);
}

/// A kind of initialiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of a `thread_local!`.
    ThreadLocal,
    /// Of a `LazyLock`, a `OnceLock`, or the closure of a `Once`.
    Once,
}

/// One of std's functions.
#[derive(Debug)]
struct Function {
    /// The addresses of its instructions.
    code: Range<usize>,
    kind: Kind,
    /// Whether it has been reported.
    told: AtomicBool,
}

/// The kind of a function with this name, as linkers have it, if it is one of std's.
fn kind_of(name: &[u8]) -> Option<Kind> {
    let has = |part: &str| name.windows(part.len()).any(|it| it == part.as_bytes());
    if has("12thread_local6native4lazy") && (has("16get_or_init_slow") || has("10initialize")) {
        Some(Kind::ThreadLocal)
    } else if has("4sync4once5futex") && has("4Once4call") {
        Some(Kind::Once)
    } else {
        None
    }
}

/// Looks at the calling fibre, which is about to leave its stack. Thread-locals matter only if it
/// `shares` them with others, and `Once` only if its waits cannot be a fibre's.
#[inline(never)]
pub(crate) fn look(fibre: &ControlBlock, shares: bool, lets_stand_in: bool) {
    if !SWITCH.is_on() || FUNCTIONS.is_empty() {
        return;
    }
    let here = 0_usize;
    let here = (&raw const here).addr();
    let Some(stack) = bounds_at(here) else { return };
    if may_be_inside(here, stack.end.min(here + DEPTH))
        && let Some(function) = walk::innermost(function_at)
        && match function.kind {
            Kind::ThreadLocal => shares,
            Kind::Once => !(lets_stand_in && ONCE_IS_FIBRES.load(Ordering::Relaxed)),
        }
        && !function.told.swap(true, Ordering::Relaxed)
    {
        tell(fibre, function.kind, here - stack.start > ROOM);
    }
}

/// Whether a word of the stack may be a return address into one of the functions.
fn may_be_inside(begin: usize, end: usize) -> bool {
    let (Some(first), Some(last)) = (FUNCTIONS.first(), FUNCTIONS.last()) else {
        return false;
    };
    let addresses = [first.code.start, last.code.end];
    walk::has_word([begin, end], addresses, |word| function_at(word).is_some())
}

/// The function that this return address lies in.
fn function_at(address: usize) -> Option<&'static Function> {
    let after = FUNCTIONS.partition_point(|function| function.code.start < address);
    let function = FUNCTIONS.get(after.checked_sub(1)?)?;
    // A call may be the last instruction.
    (address <= function.code.end).then_some(function)
}

/// Writes the warning.
#[cold]
fn tell(fibre: &ControlBlock, kind: Kind, with_backtrace: bool) {
    let what = match kind {
        Kind::ThreadLocal => {
            "the initialiser of a std `thread_local!`. Another fibre of its thread may initialise the same value meanwhile, and what \
             one of them has borrowed is then replaced: this is undefined behaviour. Use `fibre::fibre_local!`, or have the \
             initialiser wait for nothing"
        }
        Kind::Once => {
            "the initialiser of a std `LazyLock`, `OnceLock` or `Once`. Another fibre of its thread that asks for the value \
             blocks the thread, for ever. Use `fibre::sync::LazyLock`, `OnceLock` or `Once`, or have the initialiser wait for nothing"
        }
    };
    let name = fibre.attributes.name().unwrap_or_default();
    let number = fibre.id();
    stderr::warn(format_args!(
        "fibre {number} {name:?} waits, or lets others run, in {what}"
    ));
    if with_backtrace {
        stderr::warn(format_args!(
            "it does so here:\n{}",
            Backtrace::force_capture()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn names_of_both_manglings_are_known() {
        let lazy =
            b"_ZN3std3sys12thread_local6native4lazy20Storage$LT$T$C$D$GT$16get_or_init_slow17h8dE";
        assert_eq!(kind_of(lazy), Some(Kind::ThreadLocal));
        let once = b"_RNvMs0_NtNtNtNtCsj_3std3sys4sync4once5futexNtB5_4Once4call";
        assert_eq!(kind_of(once), Some(Kind::Once));
        let destroy = b"_ZN3std3sys12thread_local6native4lazy7destroy17h839E";
        assert_eq!((kind_of(destroy), kind_of(b"")), (None, None));
    }

    /// This program has such functions, and addresses are found in them and nowhere else.
    #[test]
    fn functions_are_found_by_addresses() {
        assert!(FUNCTIONS.iter().any(|it| it.kind == Kind::ThreadLocal));
        assert!(FUNCTIONS.is_sorted_by_key(|it| it.code.start));
        for function in &*FUNCTIONS {
            let inside = function.code.start + 1;
            assert!(ptr::eq(function_at(inside).unwrap(), function));
        }
        assert!(function_at(1).is_none() && function_at(usize::MAX).is_none());
        assert!(function_at((look as fn(&ControlBlock, bool, bool) as usize) + 1).is_none());
    }
}
