//! The thread that the process began with, while `main` is a fibre: it does for the fibre what only a kernel thread can do.

use crate::record::fibre_t;
use crate::signal_set;
use fibre_sync::{AutoEvent, Event};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the fibre wants of the thread.
struct Wishes {
    /// The fibre; nobody yet.
    fibre: AtomicU64,
    /// The signals to block.
    signals: AtomicU64,
    /// "There is a wish, or the fibre has ended."
    made: AutoEvent,
    /// "It has been granted."
    granted: AutoEvent,
}

/// See there.
static WISHES: Wishes = Wishes {
    fibre: AtomicU64::new(0),
    signals: AtomicU64::new(0),
    made: AutoEvent::new(),
    granted: AutoEvent::new(),
};

/// Has the thread that the process began with block these signals, if `main` is the fibre with this handle, which calls.
pub fn block(handle: fibre_t, signals: u64) {
    if handle == WISHES.fibre.load(Ordering::Relaxed) {
        WISHES.signals.store(signals, Ordering::Relaxed);
        WISHES.made.set();
        WISHES.granted.wait();
    }
}

/// Grants wishes until the fibre has ended, which is the caller's to know.
pub fn serve(ended: &Event) {
    loop {
        WISHES.made.wait();
        if ended.is_set() {
            return;
        }
        signal_set::block(WISHES.signals.load(Ordering::Relaxed));
        WISHES.granted.set();
    }
}

/// Says which fibre it is: the caller.
pub fn enter(handle: fibre_t) {
    WISHES.fibre.store(handle, Ordering::Relaxed);
}

/// Says that the fibre has ended.
pub fn leave() {
    WISHES.made.set();
}
