//! Where memory ends, in models: frames of those who wait, and objects that somebody frees.
//!
//! Nothing is freed in truth. What others may reach by its address lies on the heap for ever, and loom is told when
//! its memory would be given back: as a write to all of its atomics and cells. An access that does not
//! happen before that is a use after free, and one that comes later in no order is, too.

use loom::cell::Cell;
use loom::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::ops::Deref;

/// What loom can be told the end of.
pub trait EndOfFrame {
    /// Says that the memory is given back here.
    fn end_of_frame(&mut self);
}

impl<T: Copy> EndOfFrame for Cell<T> {
    fn end_of_frame(&mut self) {
        self.set(self.get());
    }
}

impl<T> EndOfFrame for AtomicPtr<T> {
    fn end_of_frame(&mut self) {
        self.with_mut(|_| ());
    }
}

/// The same for the other atomics.
macro_rules! end_of_atomics {
    ($($atomic:ty),*) => {
        $(impl EndOfFrame for $atomic {
            fn end_of_frame(&mut self) {
                self.with_mut(|_| ());
            }
        })*
    };
}
end_of_atomics!(AtomicU8, AtomicU32, AtomicU64, AtomicUsize);

/// A boolean whose end can be told, which loom's cannot.
#[derive(Debug, Default)]
pub struct AtomicBool(AtomicU8);

impl AtomicBool {
    /// This value.
    #[must_use]
    pub fn new(value: bool) -> Self {
        Self(AtomicU8::new(value.into()))
    }

    /// Reads it.
    pub fn load(&self, order: Ordering) -> bool {
        self.0.load(order) != 0
    }

    /// Writes it.
    pub fn store(&self, value: bool, order: Ordering) {
        self.0.store(value.into(), order);
    }

    /// Replaces it; returns the old value.
    pub fn swap(&self, value: bool, order: Ordering) -> bool {
        self.0.swap(value.into(), order) != 0
    }

    /// Replaces `current` by `new`.
    ///
    /// # Errors
    ///
    /// The value that was there instead.
    pub fn compare_exchange(
        &self,
        current: bool,
        new: bool,
        success: Ordering,
        failure: Ordering,
    ) -> Result<bool, bool> {
        let result = self
            .0
            .compare_exchange(current.into(), new.into(), success, failure);
        result.map(|old| old != 0).map_err(|old| old != 0)
    }
}

impl EndOfFrame for AtomicBool {
    fn end_of_frame(&mut self) {
        self.0.end_of_frame();
    }
}

/// Something in the frame of one who waits, which others reach by its address.
#[derive(Debug)]
pub struct Framed<T: EndOfFrame + 'static>(*mut T);

impl<T: EndOfFrame> Framed<T> {
    /// The value, whose frame is the caller's.
    pub fn new(value: T) -> Self {
        Self(Box::into_raw(Box::new(value)))
    }
}

impl<T: EndOfFrame> Deref for Framed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: never freed in truth.
        unsafe { &*self.0 }
    }
}

impl<T: EndOfFrame> Drop for Framed<T> {
    fn drop(&mut self) {
        // A model that has failed has nothing more to find out.
        if !std::thread::panicking() {
            // SAFETY: never freed in truth; that nobody else uses it any more is what loom checks.
            unsafe { (*self.0).end_of_frame() };
        }
    }
}

/// An object that the threads of a model share, and that one of them may free.
#[derive(Debug)]
pub struct Shared<T: 'static>(*mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

// SAFETY: gives shared access only, but for `free`, whose order loom checks.
unsafe impl<T: Sync> Send for Shared<T> {}

impl<T> Shared<T> {
    /// An object that is alive.
    #[must_use]
    pub fn new(object: T) -> Self {
        Self(Box::into_raw(Box::new(object)))
    }

    /// The same as a reference, for what borrows it.
    #[must_use]
    pub fn get(self) -> &'static T {
        // SAFETY: never freed in truth.
        unsafe { &*self.0 }
    }

    /// Tells loom that the caller frees the object here.
    pub fn free(self)
    where
        T: EndOfFrame,
    {
        // SAFETY: never freed in truth; that nobody else uses it any more is what loom checks.
        unsafe { (*self.0).end_of_frame() };
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.get()
    }
}
