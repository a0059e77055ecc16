//! Running users' destructors in places that a panic must not leave.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f`. Its panic has been printed by the panic hook, and ends here.
pub fn quietly(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // The payload's destructor is not trusted either.
        std::mem::forget(payload);
    }
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::panic::resume_unwind;

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
}
