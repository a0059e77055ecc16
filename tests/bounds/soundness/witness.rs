//! A thread-local value that tells when its thread ends it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

thread_local!(static WITNESS: Witness = const { Witness(OnceLock::new()) });

/// The value of a thread, of which a test holds the other end.
pub struct Witness(OnceLock<Arc<AtomicBool>>);

impl Witness {
    /// Whether it has ended. Nobody can borrow it then.
    pub fn has_ended(&self) -> bool {
        self.0
            .get()
            .is_none_or(|ended| ended.load(Ordering::SeqCst))
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Some(ended) = self.0.get() {
            ended.store(true, Ordering::SeqCst);
        }
    }
}

/// Calls `f` with the value of the caller's thread, which sets `ended` when it ends.
pub fn lend<R>(ended: &Arc<AtomicBool>, f: impl FnOnce(&Witness) -> R) -> R {
    WITNESS.with(|witness| {
        witness.0.get_or_init(|| Arc::clone(ended));
        f(witness)
    })
}
