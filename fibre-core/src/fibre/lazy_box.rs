//! A box that is made when it is first needed: one word, null until then.
//!
//! The owner of the enclosing object makes it; others may look meanwhile. It stays in place until
//! its owner drops it.
//!
//! # Memory ordering
//!
//! The content is released with the pointer, and a reader of the pointer acquires it.

use std::alloc::{Layout, alloc};
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The box. A debugger finds the content's address where the box is.
#[repr(transparent)]
pub(crate) struct LazyBox<T> {
    content: AtomicPtr<T>,
    _owns: PhantomData<Box<T>>,
}

impl<T> LazyBox<T> {
    /// No content yet.
    #[inline]
    pub(crate) const fn new() -> Self {
        Self {
            content: AtomicPtr::new(ptr::null_mut()),
            _owns: PhantomData,
        }
    }

    /// The content, if it has been made.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: null, or a box of ours, which is there until this is dropped.
        unsafe { self.content.load(Ordering::Acquire).as_ref() }
    }
}

impl<T: Default> LazyBox<T> {
    /// The content, made if it has not been.
    pub(crate) fn get_or_make(&self) -> &T {
        if let Some(content) = self.get() {
            return content;
        }
        self.put(Box::default())
    }

    /// [`get_or_make`](Self::get_or_make) for callers that can do without: `None` if there is no
    /// memory for the content.
    pub(crate) fn try_get_or_make(&self) -> Option<&T> {
        if let Some(content) = self.get() {
            return Some(content);
        }
        const { assert!(size_of::<T>() > 0) };
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(Layout::new::<T>()) }.cast::<T>();
        if memory.is_null() {
            return None;
        }
        // SAFETY: fresh memory of a box, which has its content then.
        let made = unsafe {
            memory.write(T::default());
            Box::from_raw(memory)
        };
        Some(self.put(made))
    }

    /// Makes this the content, unless there is one.
    fn put(&self, made: Box<T>) -> &T {
        let made = Box::into_raw(made);
        let before = self.content.compare_exchange(
            ptr::null_mut(),
            made,
            Ordering::Release,
            Ordering::Acquire,
        );
        let content = before.map_or_else(
            |other| {
                // SAFETY: made above, and nobody else knows of it.
                drop(unsafe { Box::from_raw(made) });
                other
            },
            |_| made,
        );
        // SAFETY: as in `get`; it is not null any more.
        unsafe { &*content }
    }

    /// [`get_or_make`](Self::get_or_make) for a caller that has the box alone.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        let _ = self.get_or_make();
        // SAFETY: as in `get`, and nobody else has a reference.
        unsafe { &mut **self.content.get_mut() }
    }
}

impl<T> Drop for LazyBox<T> {
    #[inline]
    fn drop(&mut self) {
        let content = *self.content.get_mut();
        if !content.is_null() {
            // SAFETY: a box of ours, which nobody refers to any more.
            drop(unsafe { Box::from_raw(content) });
        }
    }
}

impl<T> Default for LazyBox<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Clone> Clone for LazyBox<T> {
    fn clone(&self) -> Self {
        let content = self
            .get()
            .map(|content| Box::into_raw(Box::new(content.clone())));
        Self {
            content: AtomicPtr::new(content.unwrap_or(ptr::null_mut())),
            _owns: PhantomData,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for LazyBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LazyBox").field(&self.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_copied_with_its_content() {
        let mut lazy = LazyBox::<Vec<u8>>::new();
        assert_eq!(lazy.get(), None);
        assert_eq!(lazy.clone().get(), None);
        lazy.get_mut().push(7);
        let first = ptr::from_ref(lazy.get_or_make());
        assert_eq!(lazy.try_get_or_make().map(ptr::from_ref), Some(first));
        let tried = LazyBox::<Vec<u8>>::new();
        assert_eq!(tried.try_get_or_make(), Some(&Vec::new()));
        assert_eq!(tried.get(), Some(&Vec::new()));
        assert_eq!(first, ptr::from_ref(lazy.get().unwrap()));
        let copy = lazy.clone();
        lazy.get_mut().push(8);
        assert_eq!(
            (copy.get().unwrap().len(), lazy.get().unwrap().len()),
            (1, 2)
        );
    }

    #[test]
    fn threads_that_make_it_get_the_same() {
        let lazy = LazyBox::<[u64; 8]>::new();
        let address = || ptr::from_ref(lazy.get_or_make()).addr();
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(address)).collect();
            let all: Vec<_> = all
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect();
            assert_eq!(all, [address(); 4]);
        });
    }
}
