//! The abandoned activities of a cluster that have not been told yet.
//!
//! The runtime abandons an activity under its locks, or on a processor, while the notification is
//! the program's code ([`Work::abandoned`](crate::Work::abandoned)). So the runtime notes the
//! activity, and a thread or fibre without locks notifies it later: in the end the caller that
//! stops the cluster; after that, the thread that finds another one.

use crate::fibre::FibreRef;
use crate::sync::thread_mutex::Mutex;
use std::mem;

/// The abandoned activities of one cluster.
#[derive(Debug, Default)]
pub(crate) struct Abandoned(Mutex<Noted>);

/// What the lock protects.
#[derive(Debug, Default)]
struct Noted {
    untold: Vec<Untold>,
    /// Whether the caller that has stopped the cluster has told its share.
    stopped: bool,
}

/// An activity that has been abandoned.
#[derive(Debug)]
struct Untold {
    activity: FibreRef,
    tell: unsafe fn(FibreRef),
}

// SAFETY: an abandoned activity stays where it is, for good; see `Abandoned::note`.
unsafe impl Send for Untold {}

impl Abandoned {
    /// Notes an activity, which `tell` tells. Blocks nothing.
    ///
    /// # Safety
    ///
    /// The activity never runs again, and stays for ever. `tell` is right for it, on any thread.
    pub(crate) unsafe fn note(&self, activity: FibreRef, tell: unsafe fn(FibreRef)) {
        self.0.lock().untold.push(Untold { activity, tell });
    }

    /// Tells those that have been noted, at the end of the call that stops the cluster. Runs code
    /// of the program.
    pub(crate) fn tell_all(&self) {
        self.0.lock().stopped = true;
        self.tell_late();
    }

    /// Whether some have been noted when the cluster had been stopped.
    pub(crate) fn are_late(&self) -> bool {
        let noted = self.0.lock();
        noted.stopped && !noted.untold.is_empty()
    }

    /// Tells those that have been noted when the cluster had been stopped. Runs code of the
    /// program.
    pub(crate) fn tell_late(&self) {
        while self.are_late() {
            // Taken first: the lock would be held for the whole loop, and the program's code may
            // wait, or end up here.
            let untold = mem::take(&mut self.0.lock().untold);
            for untold in untold {
                // SAFETY: the promise of `note`.
                unsafe { (untold.tell)(untold.activity) };
            }
        }
    }
}
