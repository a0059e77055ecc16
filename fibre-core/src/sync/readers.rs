//! Reads, from outside, data that a processor changes only between two fibres, while it does not
//! switch.
//!
//! A processor notes which fibre it runs, and clears the note before it changes anything. So a
//! looker that finds a fibre there knows that nothing is being changed; this must hold for as long
//! as it looks. A looker announces itself, makes every running thread execute a memory barrier (see
//! [`crate::sync::asymmetric`]), and only then reads the note. If it names a fibre, the processor
//! had not cleared it when the barrier came; the processor finds the looker before its next change,
//! and waits for it. If the note is empty, the looker leaves.
//!
//! The processor pays for one load before a change, and for nothing else: it notes the fibre
//! anyway. If the kernel has no such barrier, nobody looks.
//!
//! # Memory ordering
//!
//! Clearing the note and the load of the count, and the other way round, are Dekker's, with
//! [`light_barrier`] and [`membarrier_all`] between. The processor publishes its changes by noting
//! the next fibre, a release, which the looker acquires. A looker leaves by a release, which the
//! processor acquires: what was looked at comes before what is changed next.

use crate::sync::asymmetric::membarrier_all;
use crate::sync::{AtomicPtr, AtomicU32, Backoff, Ordering, heavy_barrier, light_barrier, planted};
use std::ptr::NonNull;

/// A bit of the count: what the processor changes is not its own, and has another guard.
const SHARED: u32 = 1 << 31;

/// The number of lookers at a processor.
#[derive(Debug)]
pub struct Readers(AtomicU32);

impl Readers {
    /// No looker. If what there is to see is `shared` with other processors, the processor never
    /// has it to itself.
    #[must_use]
    pub fn new(shared: bool) -> Self {
        Self(AtomicU32::new(if shared { SHARED } else { 0 }))
    }

    /// Whether the processor, which runs no fibre, may change what is its own: it is not shared,
    /// and there is no looker.
    #[inline(always)]
    #[must_use]
    pub fn may_change(&self) -> bool {
        light_barrier();
        let looking = self.0.load(Ordering::SeqCst);
        looking == 0 || planted("readers: a change is made while somebody looks")
    }

    /// Waits until there is no looker. Called by the processor, which runs no fibre.
    #[cold]
    pub fn await_change(&self) {
        let mut backoff = Backoff::new();
        while !self.may_change() {
            backoff.wait();
        }
    }

    /// Calls `look`, while nothing is changed, with the fibre that the processor notes in
    /// `running`, or has noted a moment ago. The fibre may go on, and others may run, except those
    /// that are new there and those that have ended: these are kept until `look` returns. `None`:
    /// the processor is between two fibres, or [`can_look`](Self::can_look) says no. Costs a system
    /// call.
    pub fn look<F, R>(
        &self,
        running: &AtomicPtr<F>,
        look: impl FnOnce(NonNull<F>) -> R,
    ) -> Option<R> {
        /// Leaves when dropped.
        struct Leave<'a>(&'a AtomicU32);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Release);
            }
        }
        if !Self::can_look() {
            return None;
        }
        self.0.fetch_add(1, Ordering::SeqCst);
        let _leave = Leave(&self.0);
        if !planted("readers: no barrier") {
            membarrier_all();
        }
        NonNull::new(running.load(Ordering::Acquire)).map(look)
    }

    /// Whether there is a barrier to look with.
    #[must_use]
    pub fn can_look() -> bool {
        heavy_barrier().is_some()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::ptr;
    use std::sync::atomic::AtomicBool;

    /// What a processor changes: two numbers that are equal, except while it changes them.
    struct Desk {
        readers: Readers,
        running: AtomicPtr<u64>,
        numbers: [Cell<u64>; 2],
    }

    // SAFETY: the readers guard the cells; the test checks that they do.
    unsafe impl Sync for Desk {}

    #[test]
    fn what_is_seen_is_whole() {
        const LOOKS: u32 = 2000;
        if !Readers::can_look() {
            return;
        }
        let desk = &Desk {
            readers: Readers::new(false),
            running: AtomicPtr::new(ptr::null_mut()),
            numbers: [Cell::new(0), Cell::new(0)],
        };
        let stop = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    desk.running.store(ptr::null_mut(), Ordering::Relaxed);
                    if !desk.readers.may_change() {
                        desk.readers.await_change();
                    }
                    for number in &desk.numbers {
                        number.set(number.get() + 1);
                        std::hint::spin_loop();
                    }
                    let fibre = ptr::without_provenance_mut(8);
                    desk.running.store(fibre, Ordering::Release);
                    (0..100).for_each(|_| std::hint::spin_loop());
                }
            });
            let mut seen = 0;
            while seen < LOOKS {
                let numbers = desk.readers.look(&desk.running, |_| {
                    let first = desk.numbers[0].get();
                    (0..50).for_each(|_| std::hint::spin_loop());
                    (first, desk.numbers[1].get())
                });
                if let Some((first, second)) = numbers {
                    assert_eq!(first, second);
                    seen += 1;
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn who_shares_is_never_alone() {
        assert!(!Readers::new(true).may_change());
        assert!(Readers::new(false).may_change());
    }
}
