//! Runs users' destructors in places that a panic must not leave.
//!
//! A destructor that panics while a panic unwinds ends the process. So users' values are dropped
//! one by one. Their panics end there ([`Quiet`]), or the first one goes on when all values are
//! gone ([`Unwind`]).

use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::panicking;

/// A panic of users' code, which the panic hook has printed.
type Payload = Box<dyn Any + Send>;

/// Calls `f`. Its panic has been printed by the panic hook, and ends here.
pub fn quietly(f: impl FnOnce()) {
    let mut panics = Unwind::none();
    panics.note(f);
}

/// Drops a user's value, [`quietly`].
pub fn drop_quietly<V>(value: V) {
    quietly(|| drop(value));
}

/// A user's value that is dropped [`quietly`], wherever that is: also beside others of its kind,
/// and while a panic unwinds, where a second panic would end the process.
pub struct Quiet<V>(ManuallyDrop<V>);

impl<V> Quiet<V> {
    /// Takes a value in.
    pub const fn new(value: V) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// The value, which is its new owner's to drop.
    pub fn into_inner(self) -> V {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used any more, and its drop does not run.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<V> Drop for Quiet<V> {
    fn drop(&mut self) {
        // SAFETY: nobody can use it after its drop, which runs once.
        drop_quietly(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

impl<V> Deref for Quiet<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.0
    }
}

impl<V> DerefMut for Quiet<V> {
    fn deref_mut(&mut self) -> &mut V {
        &mut self.0
    }
}

impl<V> fmt::Debug for Quiet<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quiet").finish_non_exhaustive()
    }
}

/// The first of several panics.
#[derive(Debug, Default)]
#[must_use = "the panic is to go on"]
pub struct Unwind(Option<Payload>);

impl Unwind {
    /// No panic.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Calls `f`, and keeps its panic if it is the first one.
    pub fn note(&mut self, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            match &self.0 {
                None => self.0 = Some(payload),
                // The payload's destructor is not trusted either.
                Some(_) => std::mem::forget(payload),
            }
        }
    }

    /// Drops values of users', each by itself.
    pub fn note_drops<V>(&mut self, values: impl IntoIterator<Item = V>) {
        values
            .into_iter()
            .for_each(|value| self.note(|| drop(value)));
    }

    /// Whether there has been one.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.is_some()
    }

    /// Lets the first one go on, if there has been any. Not for destructors.
    pub fn go_on(mut self) {
        if let Some(payload) = self.0.take() {
            resume_unwind(payload);
        }
    }

    /// Lets the first one go on, if there has been any, unless the thread unwinds already.
    pub fn go_on_if_none_does(self) {
        if !panicking() {
            self.go_on();
        }
    }
}

impl Drop for Unwind {
    fn drop(&mut self) {
        std::mem::forget(self.0.take());
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Counts its end, and panics then.
    struct Bomb<'a>(&'a Cell<u32>);

    impl Drop for Bomb<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            resume_unwind(Box::new("the end of a bomb"));
        }
    }

    #[test]
    fn values_end_beside_others_and_while_a_panic_unwinds() {
        let ended = Cell::new(0);
        let bombs = || [0; 3].map(|_| Quiet::new(Bomb(&ended)));
        drop(bombs());
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let _bombs = bombs();
            resume_unwind(Box::new("first"));
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"first"));
        assert_eq!(ended.get(), 6);
        assert_eq!(Quiet::new(7).into_inner(), 7);
    }

    #[test]
    fn all_are_dropped_and_the_first_panic_goes_on() {
        let ended = Cell::new(0);
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            let mut panics = Unwind::none();
            panics.note(|| resume_unwind(Box::new("first")));
            panics.note_drops([0; 3].map(|_| Bomb(&ended)));
            assert!(panics.is_any());
            panics.go_on_if_none_does();
        }));
        assert_eq!(dropped.unwrap_err().downcast_ref(), Some(&"first"));
        assert_eq!(ended.get(), 3);
        drop_quietly(Bomb(&ended));
        assert_eq!(ended.get(), 4);
        Unwind::none().go_on();
    }
}
