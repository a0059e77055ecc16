//! The panic count of the calling fibre or thread, which a fibre takes along when it leaves its
//! stack.
//!
//! std counts panics by kernel thread, from the call of the hook to the end of the unwinding, and
//! has a flag for a running hook. A fibre that waits in a destructor or in a hook would leave both
//! to the next fibres on its thread. These would seem to unwind, their guards of std's would not
//! see their own panics, and nobody could say whether *this* fibre unwinds. So a switch exchanges
//! both ([`take`], [`put_back`]), and std's answer is the fibre's own.
//!
//! std has no function for that. Its count lies in a thread-local, and this module *finds it by
//! trying*: it begins two panics, one in a destructor of the other, without a hook. The count is
//! the one word among this program's thread-locals that is 1, 2, 1 and 0 when it should be. The
//! flag lies beside it, as in any pair of these types. This is done once, on a thread that does not
//! panic, and takes some microseconds. It needs no name and no symbol table.
//!
//! A place is a distance from the thread pointer, the same for all threads: `current` has a
//! variable of the initial-exec model, so the block with this program's thread-locals exists from a
//! thread's beginning, in its static part.
//!
//! If no word fits, or more than one does, the count stays with the thread, and [`panics`] says
//! that it does not know. That may happen with another std, or if std is a shared library.
//! `tests/objects/limits/unwinding.rs` and `tests/bounds/panic_hook.rs` notice.

use crate::arch;
use crate::sys::current;
use crate::sys::modules;
use crate::sys::plain_thread::PlainThread;
use crate::sys::signal_mask::SignalMask;
use std::mem::offset_of;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::thread;

/// What std keeps for a thread: how many panics are under way, and whether a hook runs.
type Kept = (usize, bool);

/// The place of what std keeps, or one of the two values below, which no place has: it is a
/// multiple of eight, and below the thread pointer.
static PLACE: AtomicIsize = AtomicIsize::new(NOT_SOUGHT);

/// Nobody has needed it yet.
const NOT_SOUGHT: isize = 0;
/// It could not be found.
const NOT_FOUND: isize = 1;

/// The panics of a fibre or thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panics {
    /// How many are under way, one in a destructor or a hook of the other.
    count: usize,
    /// Whether the last one has its hook called.
    in_hook: bool,
}

impl Panics {
    /// The panics of a caller that does not panic.
    pub(crate) const NONE: Self = Self {
        count: 0,
        in_hook: false,
    };

    /// How many are under way.
    pub(crate) fn count(self) -> usize {
        self.count
    }

    /// Whether the last one has its hook called.
    pub(crate) fn is_in_hook(self) -> bool {
        self.in_hook
    }

    /// The same, of a caller that is in a hook if `in_hook` says so.
    pub(crate) fn or_in_hook(self, in_hook: bool) -> Self {
        Self {
            in_hook: self.in_hook || in_hook,
            ..self
        }
    }
}

/// The caller's panics; `None` if that is not known.
#[inline]
pub(crate) fn panics() -> Option<Panics> {
    match current::panicking() {
        true => place().map(read),
        false => Some(Panics::NONE),
    }
}

/// Whether the caller is in a panic hook, as far as is known.
#[inline]
pub(crate) fn is_in_hook() -> bool {
    of_hook().is_some()
}

/// Takes the caller's panics from its thread, which then has none; `None`: they stay there.
pub(crate) fn take() -> Option<Panics> {
    let place = place()?;
    let panics = read(place);
    write(place, Panics::NONE);
    Some(panics)
}

/// Makes these the panics of the calling thread, in the place of those that it has.
pub(crate) fn put_back(panics: Panics) {
    if let Some(place) = place() {
        write(place, panics);
    }
}

/// The caller's panics, if it is in a hook. std does not count a panic that begins there, but its
/// end; so who catches one there puts these back.
pub(crate) fn of_hook() -> Option<Panics> {
    panics().filter(|panics| panics.in_hook)
}

/// Has std count a panic that begins now, also in a hook.
pub(crate) fn leave_hook() {
    if let Some(panics) = of_hook() {
        put_back(Panics {
            in_hook: false,
            ..panics
        });
    }
}

/// Looks for the place now, while the caller does not panic: then no thread is needed for it.
#[cold]
pub(crate) fn seek_early() {
    if !current::panicking() {
        let _ = place();
    }
}

/// The place of what std keeps, as a distance from the thread pointer.
#[inline]
fn place() -> Option<isize> {
    match PLACE.load(Ordering::Relaxed) {
        NOT_SOUGHT => seek(),
        NOT_FOUND => None,
        place => Some(place),
    }
}

/// Looks for the place. Several threads may do so at once.
#[cold]
fn seek() -> Option<isize> {
    let found = match current::panicking() {
        true => on_a_thread(),
        false => find_by_trying(),
    };
    // Once given up, for good: a count that has been left with its thread must not be taken later.
    let outcome = found.unwrap_or(NOT_FOUND);
    let first = PLACE.compare_exchange(NOT_SOUGHT, outcome, Ordering::Relaxed, Ordering::Relaxed);
    Some(first.map_or_else(|other| other, |_| outcome)).filter(|&place| place != NOT_FOUND)
}

/// Looks for the place on a thread that does not panic; `None` also if there can be no thread.
fn on_a_thread() -> Option<isize> {
    let (_quiet, _plain) = (SignalMask::asynchronous(), PlainThread::begin());
    let thread = thread::Builder::new().spawn(find_by_trying);
    thread.ok()?.join().ok().flatten()
}

/// Finds the place on this thread, which does not panic.
fn find_by_trying() -> Option<isize> {
    if cfg!(panic = "abort") {
        return None;
    }
    let block = own_block()?;
    let mut words = Vec::new();
    let is = |count: usize| {
        move |&place: &isize| {
            // SAFETY: the places are those of this program's thread-locals.
            unsafe { arch::thread_word(place) == count }
        }
    };
    in_a_destructor(|| {
        words = block
            .clone()
            .step_by(size_of::<usize>())
            .filter(is(1))
            .collect();
        in_a_destructor(|| words.retain(is(2)));
        words.retain(is(1));
    });
    words.retain(is(0));
    let [word] = words[..] else { return None };
    let place = word - offset_of!(Kept, 0).cast_signed();
    let end = place + size_of::<Kept>().cast_signed();
    let is_there = block.start <= place && end <= block.end && read(place) == Panics::NONE;
    is_there.then_some(place)
}

/// Calls `f` in a destructor, while the stack unwinds.
fn in_a_destructor(f: impl FnMut()) {
    /// Calls its closure when it is dropped.
    struct AtDrop<F: FnMut()>(F);
    impl<F: FnMut()> Drop for AtDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let unwinds = || {
        let _calls = AtDrop(f);
        resume_unwind(Box::new(()));
    };
    let _ = catch_unwind(AssertUnwindSafe(unwinds));
}

/// The thread-locals of this program, or of the library that this is part of: their places.
fn own_block() -> Option<Range<isize>> {
    modules::find(|module| {
        let size = module.thread_local_header()?.p_memsz as usize;
        let start = module.thread_locals().addr();
        let start = start.wrapping_sub(arch::thread_pointer());
        let block = start.cast_signed()..start.wrapping_add(size).cast_signed();
        block.contains(&current::place()).then_some(block)
    })
}

/// Reads what std keeps.
#[inline(always)]
fn read(place: isize) -> Panics {
    let [count, flag] = [offset_of!(Kept, 0), offset_of!(Kept, 1)].map(usize::cast_signed);
    // SAFETY: the calling thread's own count and flag.
    unsafe {
        Panics {
            count: arch::thread_word(place + count),
            in_hook: arch::thread_byte(place + flag) != 0,
        }
    }
}

/// Writes what std keeps.
#[inline(always)]
fn write(place: isize, panics: Panics) {
    let [count, flag] = [offset_of!(Kept, 0), offset_of!(Kept, 1)].map(usize::cast_signed);
    // SAFETY: the calling thread's own count and flag, which nobody has borrowed: std copies them.
    unsafe {
        arch::set_thread_word(place + count, panics.count);
        arch::set_thread_byte(place + flag, u8::from(panics.in_hook));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::thread::panicking;

    /// The place is found, on a thread that panics and on one that does not, and is the same.
    #[test]
    fn the_count_is_found() {
        let found = find_by_trying().unwrap();
        assert_eq!(on_a_thread(), Some(found));
        in_a_destructor(|| assert_eq!(seek(), Some(found)));
        assert_eq!(panics(), Some(Panics::NONE));
    }

    /// std's own answers follow what is taken and put back, in panics within panics.
    #[test]
    fn std_counts_what_is_put_back() {
        in_a_destructor(|| {
            in_a_destructor(|| {
                assert_eq!(panics().unwrap().count(), 2);
                let taken = take().unwrap();
                assert!(!panicking() && panics() == Some(Panics::NONE));
                in_a_destructor(|| assert_eq!(panics().unwrap().count(), 1));
                assert!(!panicking());
                put_back(taken);
                assert!(panicking() && !is_in_hook());
            });
            assert_eq!(panics().unwrap().count(), 1);
        });
        assert!(!panicking());
    }
}
