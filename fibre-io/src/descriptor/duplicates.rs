//! Whether a descriptor may have duplicates, which keep its registration with epoll.
//!
//! The kernel ends a registration by itself when the last descriptor of a file is closed. So a
//! socket that only this runtime has ever had is closed without being deregistered first. That
//! saves one of some seven system calls for a connection with one request. A duplicate would keep
//! the registration, and its events, so a descriptor that may have one is deregistered first.
//!
//! Duplicates come from three places:
//!
//! 1. The program's code, if it has borrowed the number: the descriptor's object notes that
//!    ([`Duplicates::note`]).
//! 2. This runtime, by `try_clone`, which notes it for both.
//! 3. A forked child, which has all descriptors. The parent notes that for all of them ([`forks`]);
//!    a child that is about to exec (`vfork`, `posix_spawn`) keeps none, as an exec closes ours.
//!
//! If a registration was kept after all, its event finds another generation in the slot, or none,
//! and is dropped: it costs a wake-up and does no harm.
//!
//! # Memory ordering
//!
//! Relaxed: whoever lends a descriptor has a reference to its object, and the thread that drops the
//! object has seen everything that was done through references. A fork in another thread at the
//! same moment may be missed; then its child keeps the registration as long as the descriptor.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process has been forked while it had sockets of the runtime.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether there may be duplicates of one descriptor.
#[derive(Debug)]
pub(crate) struct Duplicates(AtomicBool);

impl Duplicates {
    /// Of a descriptor that came from elsewhere: there may be some.
    pub(crate) fn possible() -> Self {
        Self(AtomicBool::new(true))
    }

    /// Of a descriptor that the runtime has just made: there is none.
    pub(crate) fn none() -> Self {
        forks();
        Self(AtomicBool::new(false))
    }

    /// Notes that there may be some from now on.
    #[inline]
    pub(crate) fn note(&self) {
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Whether there may be some.
    #[inline]
    pub(crate) fn are_possible(&self) -> bool {
        self.0.load(Ordering::Relaxed) || FORKED.load(Ordering::Relaxed)
    }
}

/// Has forks noted from now on.
#[inline]
fn forks() {
    /// Done once.
    static NOTED: Once = Once::new();
    NOTED.call_once(|| {
        // SAFETY: the handler stores to memory of its own.
        let refused = unsafe { libc::pthread_atfork(None, Some(note_fork), None) };
        // Without memory for that, forks would be missed.
        FORKED.store(refused != 0, Ordering::Relaxed);
    });
}

/// The handler, in the parent.
unsafe extern "C" fn note_fork() {
    FORKED.store(true, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_that_was_lent_may_have_duplicates() {
        assert!(Duplicates::possible().are_possible());
        let own = Duplicates::none();
        // Another test of this process may fork.
        assert!(!own.are_possible() || FORKED.load(Ordering::Relaxed));
        own.note();
        assert!(own.are_possible());
    }
}
