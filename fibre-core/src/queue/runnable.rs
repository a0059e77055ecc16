//! A fibre that is ready, as an owned value.
//!
//! A push moves a [`Runnable`] into a queue, a pop moves it out again, and the processor that runs
//! the fibre consumes it. Only the holder of a runnable decides what happens to the fibre. If a
//! runnable is dropped, its fibre never runs again.
//!
//! Queues are intrusive: they hold the address of a link, and each link names the next one. This
//! file has the only conversion from such an address to a runnable ([`Runnable::new`]).
//!
//! # Invariants
//!
//! Whoever makes a runnable answers for these. All safe functions that get one rely on them, and
//! `unsafe` blocks elsewhere name them by their numbers.
//!
//! 1. **One.** There is at most one runnable of a fibre: a value that somebody holds, or the
//!    fibre's place in one queue.
//! 2. **Alive.** The link stays where it is, and may be read by any thread, until the runnable has
//!    been consumed. The runtime's reference to the fibre belongs to the runnable.
//! 3. **Whole.** The link is the first field of a control block, and the address is good for all of
//!    it. Tests of queues use bare links, and ask for no block.
//! 4. **Off its stack.** No thread is on the fibre's stack. A fibre that waits at home is the one
//!    exception: its waker makes it runnable while the fibre may still be leaving. That runnable
//!    goes to `local` or to the inbox of the fibre's home, and its waker asks nothing but its link
//!    and its number.
//!    The processor there takes it out between two fibres, when it has left the stack; a rescuer
//!    that meets it puts it back.

use super::link::Link;
#[cfg(not(loom))]
use crate::sync::{AtomicPtr, Ordering};
#[cfg(not(loom))]
use std::cell::Cell;
use std::ptr::NonNull;

/// A fibre that is ready to run.
#[must_use = "a runnable that is dropped never runs again"]
#[derive(Debug)]
pub struct Runnable(NonNull<Link>);

// SAFETY: one thread at a time has the runnable (invariant 1), and no thread is on the fibre's
// stack when it goes from one to another (invariant 4).
unsafe impl Send for Runnable {}

impl Runnable {
    /// The runnable of the fibre that begins with this link.
    ///
    /// # Safety
    ///
    /// The invariants of the module text hold for it.
    #[inline]
    pub unsafe fn new(node: NonNull<Link>) -> Self {
        Self(node)
    }

    /// What queues must know of the fibre.
    #[inline]
    #[must_use]
    pub fn link(&self) -> &Link {
        // SAFETY: invariant 2.
        unsafe { self.0.as_ref() }
    }

    /// The address of the link.
    #[inline]
    #[must_use]
    pub fn node(&self) -> NonNull<Link> {
        self.0
    }

    /// The runnable of a bare link, for tests. Each link outlives what it is put into, and has one
    /// runnable at a time.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn bare(link: &Link) -> Self {
        // SAFETY: what is said above is invariants 1 and 2, and tests of queues need no others.
        unsafe { Self::new(NonNull::from(link)) }
    }
}

/// A place for one runnable, which one thread fills and any thread may empty.
///
/// It is emptied by read-modify-writes (acquire) and filled with release, so that the thread that
/// takes a fibre sees the stack that was left.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub struct SharedSlot(AtomicPtr<Link>);

#[cfg(not(loom))]
impl SharedSlot {
    /// Whether it holds a fibre at this moment.
    #[inline]
    pub fn is_filled(&self) -> bool {
        !self.0.load(Ordering::Relaxed).is_null()
    }

    /// Puts a fibre in, and returns the one that was there. One thread only: where two fill it, a
    /// fibre is lost.
    pub fn fill(&self, runnable: Runnable) -> Option<Runnable> {
        if !self.is_filled() {
            // Nobody else fills it.
            self.0.store(runnable.node().as_ptr(), Ordering::Release);
            return None;
        }
        self.swap(runnable.node().as_ptr())
    }

    /// Takes the fibre out. Any thread.
    pub fn take(&self) -> Option<Runnable> {
        self.is_filled().then(|| self.swap(std::ptr::null_mut()))?
    }

    /// Replaces what is there.
    fn swap(&self, node: *mut Link) -> Option<Runnable> {
        let before = NonNull::new(self.0.swap(node, Ordering::AcqRel));
        // SAFETY: `fill` was given the runnable, and the swap gives it to one thread.
        before.map(|node| unsafe { Runnable::new(node) })
    }
}

/// A place for one runnable, for one thread.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub struct Slot(Cell<Option<NonNull<Link>>>);

#[cfg(not(loom))]
impl Slot {
    /// Puts a fibre into the empty place.
    #[inline]
    pub fn fill(&self, runnable: Runnable) {
        self.0.set(Some(runnable.node()));
    }

    /// Whether there is a fibre.
    #[inline]
    pub fn is_filled(&self) -> bool {
        self.0.get().is_some()
    }

    /// Takes the fibre out. Writes nothing if there is none.
    #[inline]
    pub fn take(&self) -> Option<Runnable> {
        let node = self.0.get()?;
        self.0.set(None);
        // SAFETY: `fill` was given the runnable, and the place is empty now.
        Some(unsafe { Runnable::new(node) })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_place_gives_back_what_was_put_in() {
        let links = [(); 2].map(|()| Link::new());
        let nodes = links.each_ref().map(NonNull::from);
        let (shared, own) = (SharedSlot::default(), Slot::default());
        assert!(!shared.is_filled() && shared.take().is_none() && own.take().is_none());
        assert!(shared.fill(Runnable::bare(&links[0])).is_none());
        let before = shared
            .fill(Runnable::bare(&links[1]))
            .map(|before| before.node());
        assert_eq!(before, Some(nodes[0]));
        assert!(shared.is_filled());
        assert_eq!(shared.take().map(|it| it.node()), Some(nodes[1]));
        own.fill(Runnable::bare(&links[0]));
        assert_eq!(own.take().map(|it| it.node()), Some(nodes[0]));
        assert!(!shared.is_filled() && shared.take().is_none() && own.take().is_none());
    }
}
