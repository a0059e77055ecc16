//! What several cases need.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A moment.
pub(crate) const SHORT: Duration = Duration::from_millis(2);

/// Longer than any wait that is to end by itself lasts.
pub(crate) const FOREVER: Duration = Duration::from_secs(3600);

/// Counts how often it is dropped.
pub(crate) struct Dropped(pub(crate) Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A value that counts its end, and the count.
pub(crate) fn dropped() -> (Dropped, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    (Dropped(Arc::clone(&count)), count)
}

/// The text that `f` panics with on the calling thread.
pub(crate) fn panics_with(f: impl FnOnce()) -> String {
    text_of(catch_unwind(AssertUnwindSafe(f)).unwrap_err().as_ref())
}

/// The text of a panic.
pub(crate) fn text_of(payload: &(dyn Any + Send)) -> String {
    match (
        payload.downcast_ref::<&str>(),
        payload.downcast_ref::<String>(),
    ) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "no text".to_owned(),
    }
}

/// Runs `f` on a thread that is to panic.
pub(crate) fn panics_there(f: impl FnOnce() + Send + 'static) {
    assert!(thread::spawn(f).join().is_err());
}
