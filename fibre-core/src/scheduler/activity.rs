//! What the scheduler knows of an activity: a fibre that is run again and again.
//!
//! An activity is a control block with a function that runs once each time that the activity is
//! scheduled ([`crate::fibre::activity_word`] has the protocol). Making it ready takes no
//! allocation: it is a fibre that has not started, and is queued like one, so idle processors steal
//! it, and it gets a stack only when it runs. While it waits in its function it is a started fibre
//! like others.
//!
//! The owner's value is dropped on a fibre's stack if possible, since a destructor may block. A run
//! that finds no handle left drops the value at its end; if the last handle goes just then, there
//! is one more run for that. Only the last handle of an idle activity drops the value itself.
//!
//! An idle activity is not counted: a cluster stops without waiting for it. A ready or running one
//! counts as a fibre, from the processor or thread that schedules it to the processor that ends the
//! run. It counts for the limit of a cluster's fibres only abroad, not in its own cluster.

use crate::fibre::activity_word::ActivityWord;
use crate::fibre::{ControlBlock, FibreRef};
use crate::queue::Runnable;
use crate::scheduler::domain::Domain;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// What all activities have in common. Their memory begins with it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ActivityBlock {
    /// Comes first: a pointer to it is a pointer to the whole.
    pub block: ControlBlock,
    /// Whether it has to run, and does.
    pub word: ActivityWord,
    /// The processor that ran it last, or that is to run it first.
    last: AtomicU16,
    /// What has become of the owner's value. Of the run, or of the only reference.
    value: Cell<Value>,
    /// Where it runs.
    domain: Arc<Domain>,
}

/// What has become of an owner's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// It is there.
    There,
    /// It is there, and a run is made only to drop it.
    Unwanted,
    /// It has been dropped.
    Gone,
}

impl ActivityBlock {
    /// An idle activity of this domain, which is at home on no processor yet.
    pub(crate) fn new(block: ControlBlock, domain: Arc<Domain>) -> Self {
        // No cluster has more processors than this can count.
        let first = domain.next_turn() as u16;
        Self {
            block,
            word: ActivityWord::new(),
            last: AtomicU16::new(first),
            value: Cell::new(Value::There),
            domain,
        }
    }

    /// The activity that begins with this block.
    ///
    /// # Safety
    ///
    /// The fibre is an activity, and a reference to it exists meanwhile.
    #[inline]
    pub(crate) unsafe fn of<'a>(fibre: FibreRef) -> &'a Self {
        // SAFETY: the caller's promise.
        unsafe { fibre.cast().as_ref() }
    }

    /// Whether the fibre is an activity of this domain.
    pub(crate) fn is_at_home(fibre: &ControlBlock, domain: &Domain) -> bool {
        // SAFETY: it is an activity, and the reference to its block a reference.
        let home = || unsafe { Self::of(FibreRef::from(fibre)) }.domain();
        fibre.body().is_activity && ptr::eq(Arc::as_ptr(home()), domain)
    }

    /// What has become of the owner's value. Asked by a run, or by the holder of the only
    /// reference.
    #[inline]
    pub(crate) fn value(&self) -> Value {
        self.value.get()
    }

    /// Notes what becomes of the owner's value. As [`value`](Self::value).
    pub(crate) fn set_value(&self, value: Value) {
        self.value.set(value);
    }

    /// Where it runs, unless a fibre that it is has migrated.
    #[inline]
    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// The processor that ran it last. A hint: another thread may be running it.
    #[inline]
    pub(crate) fn last(&self) -> usize {
        self.last.load(Ordering::Relaxed) as usize
    }

    /// Notes the processor that runs it.
    #[inline]
    pub(crate) fn set_last(&self, processor: usize) {
        // No cluster has more processors than this can count.
        self.last.store(processor as u16, Ordering::Relaxed);
    }

    /// The activity as what may be run, with a reference of its own.
    ///
    /// # Safety
    ///
    /// The word has told the caller to queue it.
    #[inline]
    pub(crate) unsafe fn runnable(&self) -> Runnable {
        self.block.retain_one();
        // SAFETY: the word tells one at a time, between two runs; the reference is the runnable's.
        unsafe { ControlBlock::runnable(FibreRef::from(&self.block)) }
    }
}
