//! Functions of layers above that are called when the process starts its first cluster.
//!
//! The loader calls the registering code before `main`. So the table has a fixed size and no lock:
//! a counter assigns a place, which is filled afterwards. The process has one thread then. A
//! function that another thread registers while the first cluster starts may come too late.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many functions there may be.
const MOST: usize = 8;

/// The functions, and whether they have been called.
struct Observers {
    functions: [OnceLock<fn()>; MOST],
    /// How many places are taken.
    taken: AtomicUsize,
    called: OnceLock<()>,
}

/// The functions of the process.
static OBSERVERS: Observers = Observers::new();

impl Observers {
    /// No function.
    const fn new() -> Self {
        Self {
            functions: [const { OnceLock::new() }; MOST],
            taken: AtomicUsize::new(0),
            called: OnceLock::new(),
        }
    }

    /// The functions, in the order of registration.
    fn all(&self) -> impl Iterator<Item = &fn()> {
        self.functions.iter().filter_map(OnceLock::get)
    }

    /// Adds a function, unless it is there.
    fn add(&self, f: fn()) {
        let is_known = self.all().any(|known| *known as usize == f as usize);
        let place = || self.taken.fetch_add(1, Ordering::Relaxed);
        if !is_known && let Some(place) = self.functions.get(place()) {
            let _ = place.set(f);
        }
    }

    /// Calls them, unless that has been done. A second caller waits until the first is through.
    fn call(&self) {
        self.called.get_or_init(|| self.all().for_each(|f| f()));
    }
}

/// Has `f` called, once, when the process starts its first cluster, on the thread that does, in the
/// order of registration. Does nothing if the function has been registered before. May be called
/// before `main`.
pub fn on_first_cluster(f: fn()) {
    OBSERVERS.add(f);
}

/// Calls the functions, unless that has been done.
pub(super) fn call() {
    OBSERVERS.call();
}

#[cfg(test)]
mod tests {
    use super::*;

    static CALLS: AtomicUsize = AtomicUsize::new(0);

    fn first() {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }

    fn second() {
        CALLS.fetch_add(10, Ordering::Relaxed);
    }

    #[test]
    fn each_is_called_once() {
        let observers = Observers::new();
        for f in [first, second, first, second] {
            observers.add(f);
        }
        assert_eq!(CALLS.load(Ordering::Relaxed), 0);
        observers.call();
        observers.call();
        assert_eq!(CALLS.load(Ordering::Relaxed), 11);
    }

    #[test]
    fn those_for_whom_there_is_no_room_are_left_out() {
        let observers = Observers::new();
        (0..MOST).for_each(|_| assert!(observers.taken.fetch_add(1, Ordering::Relaxed) < MOST));
        observers.add(first);
        assert_eq!(observers.all().count(), 0);
    }
}
