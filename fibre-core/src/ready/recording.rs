//! The event trace of what is made ready.
//!
//! The owner of a ready queue writes one track, so the track is kept here: each thread knows its
//! own queue, and so knows where to record.

use super::ReadyQueue;
use crate::sys::current;
use crate::trace::{TraceKind, Track, new_track, on_plain_thread};
use std::sync::Arc;

impl ReadyQueue {
    /// Makes the owner, which is the calling thread, record events from now on, if the process
    /// does: as a processor of the cluster with this name and number.
    pub(crate) fn begin_track(&self, cluster: &str, number: u64) {
        if let Some(track) = new_track(cluster, number, self.index) {
            // There is one already if another thread was the owner before.
            let _ = self.track.set(track);
        }
    }

    /// Where the owner records events, if it does. For the owner.
    #[inline]
    pub(crate) fn track(&self) -> Option<&Arc<Track>> {
        self.track.get()
    }

    /// Records that this thread has made a fibre ready or spawned it. `here` is its queue, if it is
    /// a processor.
    #[cold]
    pub(super) fn record_ready(here: Option<&Self>, kind: TraceKind, fibre: u64) {
        match here {
            Some(here) => {
                if let Some(track) = here.track() {
                    track.record_ready(kind, fibre);
                }
            }
            None => on_plain_thread(|track, thread| track.record_fibre(kind, fibre, thread)),
        }
    }
}

/// Records that the calling thread has made a fibre ready, or spawned it.
#[cold]
pub(crate) fn record_ready_here(kind: TraceKind, fibre: u64) {
    let here: *const ReadyQueue = current::ready().cast();
    // SAFETY: the queue of this thread, or null.
    ReadyQueue::record_ready(unsafe { here.as_ref() }, kind, fibre);
}

/// Records a mark of the calling fibre or thread.
#[cold]
pub(crate) fn record_mark_here(text: &str) {
    on_own_track(|track| track.record_mark(text));
}

/// Records something that the calling thread has done, and that is about no fibre.
#[cold]
pub(crate) fn record_here(kind: TraceKind, word: u64) {
    on_own_track(|track| track.record(kind, word));
}

/// Calls `f` with the track of the calling thread, if it has one. On that of all plain threads its
/// number comes first.
fn on_own_track(f: impl FnOnce(&Track)) {
    let here: *const ReadyQueue = current::ready().cast();
    // SAFETY: the queue of this thread, or null.
    match unsafe { here.as_ref() } {
        Some(here) => {
            if let Some(track) = here.track() {
                f(track);
            }
        }
        None => on_plain_thread(|track, thread| {
            track.record(TraceKind::Thread, thread);
            f(track);
        }),
    }
}
