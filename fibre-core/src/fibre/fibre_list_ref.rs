//! A processor's own fibre list as others see it: how to reach it, and how to look while a fibre
//! runs.

use super::block_cache::{BlockCache, SIZES};
use super::{ControlBlock, FibreList, FibreRef};
use crate::queue::Link;
use crate::sync::readers::Readers;
use crate::sync::{AtomicPtr, Ordering};
use std::cell::Cell;
use std::ops::Range;
use std::ptr::NonNull;

/// Where the thread of a processor has what is left of earlier work.
#[derive(Debug)]
pub(crate) struct ThreadMemory {
    /// An address on its stack, above all frames of the processor.
    pub(crate) frame: usize,
    /// Its stack for signals.
    pub(crate) signals: Range<usize>,
}

/// What the thread of a processor has that is left of earlier work. It lies on that thread's stack:
/// a processor's own memory is to be small.
#[derive(Debug)]
pub(crate) struct IdleMemory {
    memory: ThreadMemory,
    /// Whether its frames have a fibre that is to run.
    holding: NonNull<Cell<bool>>,
    /// The words of its lists of blocks.
    blocks: [usize; SIZES],
}

impl IdleMemory {
    /// What a thread has; `holding` says whether the processor's frames have a fibre that is to
    /// run, while the processor stands still.
    pub(crate) fn new(memory: ThreadMemory, holding: &Cell<bool>, blocks: &BlockCache) -> Self {
        Self {
            memory,
            holding: NonNull::from(holding),
            blocks: blocks.words(),
        }
    }
}

/// A processor's own fibre list. It exists only as long as the processor does.
#[derive(Debug)]
pub(crate) struct FibreListRef {
    /// The fibre list.
    fibre_list: NonNull<FibreList>,
    /// The means to look at it while a fibre runs.
    readers: NonNull<Readers>,
    /// The node of that fibre.
    running: NonNull<AtomicPtr<Link>>,
    /// What the processor's thread has that is left of earlier work.
    unused: Option<NonNull<IdleMemory>>,
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
            unused: None,
        }
    }

    /// The same, with what the processor's thread has that is left of earlier work; it stays as the
    /// others do.
    pub(crate) fn with_unused(mut self, unused: &IdleMemory) -> Self {
        self.unused = Some(NonNull::from(unused));
        self
    }

    /// An address above all frames of the processor, unless these have a fibre that is to run; and
    /// the thread's stack for signals.
    ///
    /// # Safety
    ///
    /// The processor stands still.
    pub(crate) unsafe fn unused_memory(&self) -> Option<(usize, Range<usize>)> {
        // SAFETY: the processor is there, as the caller of `new` has promised, and does not write.
        let unused = unsafe { self.unused?.as_ref() };
        // SAFETY: the same.
        let holds = unsafe { unused.holding.as_ref() }.get();
        (!holds).then(|| (unused.memory.frame, unused.memory.signals.clone()))
    }

    /// Where the words are that name memory of fibres which have ended.
    pub(crate) fn block_words(&self) -> impl Iterator<Item = usize> {
        // SAFETY: the processor is there, as the caller of `new` has promised.
        let blocks = |unused: &NonNull<IdleMemory>| unsafe { unused.as_ref() }.blocks;
        self.unused.iter().flat_map(blocks)
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

    /// Where the words are that the processor knows its fibres by: those of the list, and the one
    /// of the fibre that it has run last.
    pub(crate) fn words(&self) -> [usize; 3] {
        // SAFETY: the processor is there, as `new` was promised; nothing of the list is read.
        let [first, walk] = unsafe { self.fibre_list.as_ref() }.words();
        [first, walk, self.running.addr().get()]
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
