//! Models of the lock that is held for a few instructions.
//!
//! Run by `cargo xtask loom`. Each property has a twin with a planted bug, which the
//! model must find.

use fibre_core::internal::short_lock::ShortLock;
use fibre_core::model::{self, finds_bug};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// A number that loom watches for races, behind the lock.
type Guarded = ShortLock<Arc<Number>>;

/// The number.
struct Number(UnsafeCell<u32>);

// SAFETY: the lock is to guard it; loom checks that it does.
unsafe impl Sync for Number {}
// SAFETY: as above.
unsafe impl Send for Number {}

impl Number {
    /// Counts one up.
    fn change(&self) {
        // SAFETY: the lock is what is being checked.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }
}

/// Changes the number under the lock.
fn change(guarded: &Guarded) {
    guarded.lock().change();
}

/// Changes the number, having given the lock back too early.
fn change_late(guarded: &Guarded) {
    let number = Arc::clone(&*guarded.lock());
    number.change();
}

/// Two threads that change it.
fn two_change(other: fn(&Guarded)) {
    let guarded = Arc::new(ShortLock::new(Arc::new(Number(UnsafeCell::new(0)))));
    let thread = {
        let guarded = Arc::clone(&guarded);
        thread::spawn(move || {
            other(&guarded);
            other(&guarded);
        })
    };
    change(&guarded);
    thread.join().unwrap();
    // SAFETY: the thread has ended.
    let changes = guarded.lock().0.with(|number| unsafe { *number });
    assert_eq!(changes, 3);
}

/// One holder at a time, which sees what the one before did.
#[test]
fn holders_follow_each_other() {
    model::check(|| two_change(change));
}

/// Planted: the lock is given back before the work is done.
#[test]
fn planted_early_release_is_found() {
    finds_bug(|| two_change(change_late));
}
