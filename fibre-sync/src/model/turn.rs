//! The turns of models; see `turn.rs`.

use crate::faults;
use fibre_core::sync::planted;
use loom::sync::{Mutex, MutexGuard};

/// The turns of one word.
#[derive(Debug)]
pub(crate) struct Turn(&'static Mutex<()>);

/// A turn that a caller has taken.
pub(crate) type ModelLock = Option<MutexGuard<'static, ()>>;

impl Turn {
    /// The turns of a word. They outlive the word, so they play no part in when that may be
    /// freed.
    pub(crate) fn new() -> Self {
        Self(Box::leak(Box::new(Mutex::new(()))))
    }

    /// Waits for a turn.
    #[allow(clippy::unwrap_used, reason = "a poisoned model has failed already")]
    pub(crate) fn take(&self) -> ModelLock {
        let spins = planted(faults::turn::NOT_TAKEN);
        (!spins).then(|| self.0.lock().unwrap())
    }
}
