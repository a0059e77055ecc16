//! A processor's own fibre list as others see it: how to reach it, and how to look while a fibre
//! runs.

use super::{ControlBlock, FibreList, FibreRef};
use crate::queue::Link;
use crate::sync::readers::Readers;
use crate::sync::{AtomicPtr, Ordering};
use std::ptr::NonNull;

/// A processor's own fibre list. It exists only as long as the processor does.
#[derive(Debug)]
pub(crate) struct FibreListRef {
    /// The fibre list.
    fibre_list: NonNull<FibreList>,
    /// The means to look at it while a fibre runs.
    readers: NonNull<Readers>,
    /// The node of that fibre.
    running: NonNull<AtomicPtr<Link>>,
}

// SAFETY: each use of it is argued where it is used.
unsafe impl Send for FibreListRef {}

impl FibreListRef {
    /// The reference to this fibre list.
    ///
    /// # Safety
    ///
    /// The three are a processor's, which stays where it is for as long as this exists.
    pub(crate) unsafe fn new(
        fibre_list: &FibreList,
        readers: &Readers,
        running: &AtomicPtr<Link>,
    ) -> Self {
        Self {
            fibre_list: NonNull::from(fibre_list),
            readers: NonNull::from(readers),
            running: NonNull::from(running),
        }
    }

    /// Returns the fibre list.
    ///
    /// # Safety
    ///
    /// Nobody changes the fibre list meanwhile.
    pub(crate) unsafe fn get(&self) -> &FibreList {
        // SAFETY: the processor is there, as `new` was promised.
        unsafe { self.fibre_list.as_ref() }
    }

    /// The address of the fibre that the processor ran a moment ago; null if there was none.
    pub(crate) fn last(&self) -> *const ControlBlock {
        // SAFETY: the processor is there, as `new` was promised.
        let running = unsafe { self.running.as_ref() };
        // The block begins with its node.
        running.load(Ordering::Relaxed).cast_const().cast()
    }

    /// [`Readers::look`] at the fibre list, with the fibre that the processor runs.
    pub(crate) fn look<R>(&self, look: impl FnOnce(FibreRef) -> R) -> Option<R> {
        // SAFETY: the processor is there, as `new` was promised.
        let (readers, running) = unsafe { (self.readers.as_ref(), self.running.as_ref()) };
        // What runs is a fibre, and its block begins with the node.
        readers.look(running, |node| look(node.cast()))
    }
}
