//! The thread that the process began with, while `main` is a fibre: it does for the fibre what only
//! a kernel thread can do.

use crate::delivery::note_initial;
use crate::record::fibre_t;
use fibre_core::is_forked_child;
use fibre_io::posix::signal_set;
use fibre_sync::{AutoEvent, Event};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the fibre wants of the thread.
struct Wishes {
    /// The first fibre; zero before it is there.
    fibre: AtomicU64,
    /// What the system calls the thread; before the fibre is there.
    thread: AtomicU64,
    /// The signals to block.
    signals: AtomicU64,
    /// "There is a wish, or the fibre has ended."
    made: AutoEvent,
    /// "It has been granted."
    granted: AutoEvent,
}

/// The wishes of the first fibre.
static WISHES: Wishes = Wishes {
    fibre: AtomicU64::new(0),
    thread: AtomicU64::new(0),
    signals: AtomicU64::new(0),
    made: AutoEvent::new(),
    granted: AutoEvent::new(),
};

/// Has the thread that the process began with block these signals, if `main` is the fibre with this
/// handle, which calls; returns whether it is.
pub fn block(handle: fibre_t, signals: u64) -> bool {
    let is_main = is_served(handle);
    if is_main {
        WISHES.signals.store(signals, Ordering::Relaxed);
        WISHES.made.set();
        WISHES.granted.wait();
        note_initial(signals, true);
    }
    is_main
}

/// Whether `main` is the fibre with this handle.
pub fn is_served(handle: fibre_t) -> bool {
    handle == WISHES.fibre.load(Ordering::Relaxed)
}

/// What the system calls the thread that the process began with, if `main` is the fibre with this
/// handle. That thread stays as long as the process, of which a forked child is another one.
pub fn thread_of(handle: fibre_t) -> Option<libc::pthread_t> {
    let is_main = is_served(handle) && !is_forked_child();
    is_main.then(|| WISHES.thread.load(Ordering::Relaxed))
}

/// Says that the caller is that thread, which is about to serve a fibre.
pub fn begin() {
    // SAFETY: no requirement.
    let own = unsafe { libc::pthread_self() };
    WISHES.thread.store(own, Ordering::Relaxed);
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
