//! Wake-ups delayed until everything has been queued.
//!
//! A waker that makes many fibres ready at once should queue all of them before it wakes a
//! processor: a processor woken for the first fibre may take the CPU, or touch its queue at the
//! same time. Then the waker wakes each sleeping processor with a new fibre once (thesis, section
//! 3.4.2, "Batching").

use crate::idle::shared_queues::SharedQueues;
use crate::sys::current;
use std::cell::RefCell;
use std::ptr;
use std::sync::Arc;

/// The most wake-ups that are put off at once; later ones are not.
const MOST: usize = 64;

/// The processors to wake. A processor is in here once, as only the first push to a sleeping one
/// says that it has to be woken.
#[derive(Default)]
struct Deferred(RefCell<Vec<(Arc<SharedQueues>, usize)>>);

/// Ends the batch, also if the waker unwinds.
struct Scope<'a>(&'a Deferred);

/// Calls `f`, which may make fibres ready, and wakes processors for them after it.
///
/// # Safety
///
/// `f` does not leave this stack: it neither blocks the fibre nor yields.
pub unsafe fn wake_after<R>(f: impl FnOnce() -> R) -> R {
    let deferred = Deferred::default();
    current::set_deferred(ptr::from_ref(&deferred).cast());
    let scope = Scope(&deferred);
    let result = f();
    drop(scope);
    result
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        current::set_deferred(ptr::null());
        for (shared_queues, processor) in self.0.0.take() {
            shared_queues.sleeper(processor).unpark();
        }
    }
}

/// Wakes a processor for a fibre that has been pushed to it, or puts that off.
pub(crate) fn wake(shared_queues: &Arc<SharedQueues>, processor: usize) {
    let deferred: *const Deferred = current::deferred().cast();
    // SAFETY: not null means that `wake_after` is in progress on this thread, which has not
    // left that stack since.
    if let Some(deferred) = unsafe { deferred.as_ref() } {
        let mut waiting = deferred.0.borrow_mut();
        if waiting.len() < MOST {
            waiting.push((Arc::clone(shared_queues), processor));
            return;
        }
    }
    shared_queues.sleeper(processor).unpark();
}
