//! What is not in use, of the stacks of threads, or is the search's own.

use super::heap::word;
use super::maps::{Kind, Mapping};
use super::region::Region;
use crate::sample::hold::Place;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::{ptr, thread};

/// The bytes below a stack pointer that a function may use.
pub(super) const RED_ZONE: usize = 128;

/// The bytes of glibc's record of a thread, of those versions that have the fewest.
const THREAD_RECORD: usize = 0x700;

/// How far below its noted variable a thread's stack may reach that waits in [`Rest::wait`]. The
/// kernel puts more on a stack before it calls a handler.
const WAITING: usize = 768;

/// The call of a fibre or thread that waits for the search. Its frames have nothing but the
/// search's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    /// An address on its stack, which all that the program has there lies above.
    pub boundary: usize,
    /// Its thread, if it is no fibre.
    pub thread: Option<CallersThread>,
}

/// A thread that waits for the search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallersThread {
    /// The thread pointer.
    pub pointer: usize,
    /// The address of a variable of the function that it waits in.
    pub waits_at: usize,
}

impl Caller {
    /// Where a thread is; of the caller's the place of the call. If a handler of the program runs
    /// there, which may have references of its own, it is where it is.
    pub(super) fn place(caller: Option<Self>, place: Place) -> Place {
        let its = caller.filter(|caller| {
            caller.thread.is_some_and(|thread| {
                let below = thread.waits_at.checked_sub(place.stack);
                thread.pointer == place.pointer && below.is_some_and(|below| below < WAITING)
            })
        });
        its.map_or(place, |caller| Place {
            stack: caller.boundary + RED_ZONE,
            frame: caller.boundary,
            ..place
        })
    }
}

/// What a thread waits with until a search has ended.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// The address of a variable of [`wait`](Self::wait); zero: nobody is there.
    waits_at: AtomicUsize,
    /// Whether the search has ended.
    ended: AtomicU32,
}

impl Rest {
    /// Waits for the end. Blocks the thread.
    #[inline(never)]
    pub(super) fn wait(&self) {
        let ended = self.ended.as_ptr();
        self.waits_at
            .store((&raw const ended).addr(), Ordering::Release);
        while self.ended.load(Ordering::Acquire) == 0 {
            // SAFETY: waits while the word is zero.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    ended,
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    0,
                    ptr::null::<libc::timespec>(),
                )
            };
        }
    }

    /// The address of a variable of the function that a thread waits in, which is about to be
    /// there. Blocks the thread.
    pub(super) fn waits_at(&self) -> usize {
        loop {
            let at = self.waits_at.load(Ordering::Acquire);
            if at != 0 {
                return at;
            }
            thread::yield_now();
        }
    }

    /// Says that the search has ended, once the result is dropped.
    pub(super) fn ends(&self) -> Ends<'_> {
        Ends(self)
    }
}

/// Ends a [`Rest`] when it is dropped.
#[must_use = "dropped, it says that the search has ended"]
pub(super) struct Ends<'a>(&'a Rest);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let ended = &self.0.ended;
        ended.store(1, Ordering::Release);
        // SAFETY: wakes those that wait on the word.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                ended.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                i32::MAX,
            )
        };
    }
}

/// Adds memory that is not in use, or the search's, to the holes in the roots. `false`: there is no
/// room.
///
/// # Safety
///
/// The mappings are there.
pub(super) unsafe fn add_unused(
    (own, frames): (&[Range<usize>], &[usize]),
    mappings: &[Mapping],
    places: impl Iterator<Item = Place>,
    holes: &mut Region<(usize, usize)>,
) -> bool {
    let mut fits = own.iter().all(|own| holes.push((own.start, own.end)));
    for place in places {
        // SAFETY: passed on.
        let dead = unsafe { dead_part(mappings, place) };
        fits &= dead.is_none_or(|dead| holes.push(dead));
    }
    for frame in frames {
        fits &= below(mappings, *frame).is_none_or(|dead| holes.push(dead));
    }
    holes.sort_unstable();
    fits
}

/// The part of a thread's stack that is not in use, if it is known where the stack begins.
///
/// # Safety
///
/// The mappings are there.
unsafe fn dead_part(mappings: &[Mapping], place: Place) -> Option<(usize, usize)> {
    if place.lent {
        // It may lie above frames in use.
        return None;
    }
    let at = mappings
        .iter()
        .position(|its| its.addresses().contains(&place.stack))?;
    let mapping = mappings[at];
    let mut used = place.stack - RED_ZONE;
    if mapping.addresses().contains(&place.frame) {
        used = used.min(place.frame);
    }
    let known = match mapping.kind {
        Kind::Stack => true,
        // A stack that the C library has made: a guard lies below, and the thread's record, in
        // the same mapping, says that its memory begins there.
        Kind::Anonymous if mapping.addresses().contains(&place.pointer) => {
            let guard = mappings[..at]
                .last()
                .filter(|guard| guard.high == mapping.low);
            let record = place.pointer..mapping.high.min(place.pointer + THREAD_RECORD);
            guard.is_some_and(|guard| {
                // SAFETY: within the mapping.
                let noted = |at: usize| unsafe { word(at) } == guard.low;
                !guard.counts() && place.stack < place.pointer && record.step_by(8).any(noted)
            })
        }
        _ => false,
    };
    known
        .then_some((mapping.low, used & !7))
        .filter(|(low, high)| low < high)
}

/// What is below an address on the stack of a thread that has a guard.
fn below(mappings: &[Mapping], frame: usize) -> Option<(usize, usize)> {
    let at = mappings
        .iter()
        .position(|its| its.addresses().contains(&frame))?;
    let guard = mappings[..at].last()?;
    let is_guarded = guard.high == mappings[at].low && !guard.counts();
    let known = is_guarded && mappings[at].kind == Kind::Anonymous;
    known.then_some((mappings[at].low, frame & !7))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::resume_unwind;
    use std::sync::Arc;

    #[test]
    fn a_wait_ends_though_the_search_panics() {
        let rest = Arc::new(Rest::default());
        let looks = Arc::clone(&rest);
        let search = thread::spawn(move || {
            let _ends = looks.ends();
            assert_ne!(looks.waits_at(), 0);
            resume_unwind(Box::new(()));
        });
        rest.wait();
        assert!(search.join().is_err());
    }
}
