//! Cancelling fibres in two steps, with one system call for many.
//!
//! A fibre that waits at home says so without a read-modify-write. A canceller therefore marks the
//! fibre, makes every running thread see the mark with a system call, and only then looks at the
//! fibre's wait (`fibre/state.rs` has the protocol). A fibre that goes on meanwhile waits for its
//! canceller. So fibres that are cancelled together share the system call, but only a few at a
//! time.

use crate::wait::waiter::Wakeable;
use std::ptr::NonNull;

/// Something that can be cancelled; implemented by the fibre's control block.
pub(crate) trait Cancellable: Wakeable {
    /// Adds a reference.
    ///
    /// # Safety
    ///
    /// The caller knows of a reference that is not given up meanwhile.
    unsafe fn retain(this: NonNull<Self>);

    /// Cancels all later waits of a fibre that does not run yet.
    ///
    /// # Safety
    ///
    /// The caller has a reference, and the fibre does not run yet.
    unsafe fn cancel_later(this: NonNull<Self>);

    /// Takes the first step. Any thread. `true`: the caller calls
    /// [`membarrier_all`](Self::membarrier_all) once, and then [`end_cancel`](Self::end_cancel),
    /// soon: the fibre may wait for that.
    ///
    /// # Safety
    ///
    /// The caller has a reference.
    unsafe fn begin_cancel(this: NonNull<Self>) -> bool;

    /// Lets the fibres that wait see that they are being cancelled. A system call.
    fn membarrier_all();

    /// Takes the second step.
    ///
    /// # Safety
    ///
    /// See [`begin_cancel`](Self::begin_cancel); the caller still has its reference.
    unsafe fn end_cancel(this: NonNull<Self>);

    /// Gives a reference up.
    ///
    /// # Safety
    ///
    /// The reference is the caller's.
    unsafe fn release(this: NonNull<Self>);
}

/// How many fibres share a system call. Those that go on meanwhile wait for it.
const AT_ONCE: usize = 64;

/// Fibres that have had their first step, and not the second. The second follows when there are
/// enough of them, or at the drop.
#[derive(Debug)]
pub(crate) struct Cancelling<F: Cancellable> {
    /// The fibres. An array, as nothing may be allocated here: they may be waiting for us.
    begun: [Option<NonNull<F>>; AT_ONCE],
    /// How many fibres there are.
    count: usize,
}

impl<F: Cancellable> Cancelling<F> {
    /// A batch without fibres.
    pub(crate) const fn new() -> Self {
        Self {
            begun: [None; AT_ONCE],
            count: 0,
        }
    }

    /// Cancels one fibre.
    ///
    /// # Safety
    ///
    /// The caller has a reference, until this has been dropped.
    pub(crate) unsafe fn cancel(&mut self, fibre: NonNull<F>) {
        // SAFETY: the caller's promise.
        if unsafe { F::begin_cancel(fibre) } {
            self.begun[self.count] = Some(fibre);
            self.count += 1;
            if self.count == AT_ONCE {
                self.end();
            }
        }
    }

    /// Takes the second step for all fibres.
    fn end(&mut self) {
        if self.count > 0 {
            F::membarrier_all();
        }
        for fibre in self.begun[..self.count].iter_mut().filter_map(Option::take) {
            // SAFETY: the first step has been done, and the caller of `cancel` has kept its
            // reference.
            unsafe { F::end_cancel(fibre) };
        }
        self.count = 0;
    }
}

impl<F: Cancellable> Drop for Cancelling<F> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// How many have had the first step, and not the second.
    static BEGUN: AtomicUsize = AtomicUsize::new(0);

    /// How often all had to see.
    static SEEN: AtomicUsize = AtomicUsize::new(0);

    /// Notes what is done to it. An odd one needs no second step.
    struct Noted {
        odd: bool,
        ended: Cell<u32>,
    }

    impl Wakeable for Noted {
        unsafe fn resume(_: NonNull<Self>) {
            unreachable!("nothing waits in these tests");
        }

        unsafe fn resume_at_home(_: NonNull<Self>) {
            unreachable!("nothing waits in these tests");
        }
    }

    impl Cancellable for Noted {
        unsafe fn retain(_: NonNull<Self>) {}

        unsafe fn cancel_later(_: NonNull<Self>) {}

        unsafe fn begin_cancel(this: NonNull<Self>) -> bool {
            // SAFETY: alive in these tests.
            let needed = !unsafe { this.as_ref() }.odd;
            BEGUN.fetch_add(usize::from(needed), Ordering::Relaxed);
            needed
        }

        fn membarrier_all() {
            assert!((1..=AT_ONCE).contains(&BEGUN.load(Ordering::Relaxed)));
            SEEN.fetch_add(1, Ordering::Relaxed);
        }

        unsafe fn end_cancel(this: NonNull<Self>) {
            // SAFETY: alive in these tests.
            let ended = &unsafe { this.as_ref() }.ended;
            ended.set(ended.get() + 1);
            assert!(SEEN.load(Ordering::Relaxed) > 0);
            BEGUN.fetch_sub(1, Ordering::Relaxed);
        }

        unsafe fn release(_: NonNull<Self>) {}
    }

    #[test]
    fn many_share_a_system_call_and_none_is_forgotten() {
        for (count, calls) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (2 * AT_ONCE, 1),
            (2 * AT_ONCE + 2, 2),
            (1000, 8),
        ] {
            SEEN.store(0, Ordering::Relaxed);
            let all: Vec<_> = (0..count)
                .map(|index| Noted {
                    odd: index % 2 == 0,
                    ended: Cell::new(0),
                })
                .collect();
            let mut cancelling = Cancelling::new();
            for one in &all {
                // SAFETY: it stays.
                unsafe { cancelling.cancel(NonNull::from(one)) };
            }
            drop(cancelling);
            assert_eq!(BEGUN.load(Ordering::Relaxed), 0, "{count}");
            assert_eq!(SEEN.load(Ordering::Relaxed), calls, "{count}");
            assert!(all.iter().all(|one| one.ended.get() == u32::from(!one.odd)));
        }
    }
}
