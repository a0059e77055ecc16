//! Memory in models: loom's atomics and cells, when they end, and how long others may reach them.
//!
//! This module adds two things to loom's. First, each of them has an *end of frame*: its memory is
//! given back there, and loom catches a thread that touches it without having happened before. In
//! truth nothing is freed: frames of waiting threads ([`Framed`]) and objects that a thread frees
//! ([`Shared`]) lie on the heap for ever, so that a bug does no harm beyond the model.
//!
//! Second, all of them do nothing once the model has *failed*. The panic that reports the failure
//! unwinds the threads of the model, and their destructors still unlock and wake. But loom has
//! ended by then, and a second panic would abort the process. A model with threads that panic on
//! purpose says so ([`expecting_panics`]).

use loom::cell;
use loom::sync::atomic::{self, Ordering};
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Kernel threads of models with threads that panic on purpose.
fn expectant() -> MutexGuard<'static, Vec<ThreadId>> {
    static EXPECTANT: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());
    EXPECTANT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a model, or a part of it, where a panic is no failure.
pub fn expecting_panics<R>(model: impl FnOnce() -> R) -> R {
    let here = thread::current().id();
    expectant().push(here);
    let result = model();
    let mut expectant = expectant();
    let own = expectant.iter().rposition(|thread| *thread == here);
    own.map(|own| expectant.swap_remove(own));
    result
}

/// Whether the model of this kernel thread has failed, and is being unwound.
pub fn has_failed() -> bool {
    thread::panicking() && !expectant().contains(&thread::current().id())
}

/// An object with an end that loom can be told of.
pub trait EndOfFrame {
    /// Says that the memory is given back here.
    fn end_of_frame(&mut self);
}

/// What integers and pointers have in common.
macro_rules! atomic {
    ([$($generic:ident)?] $atomic:ty, $name:ident, $loom:ident, $value:ty, $nothing:expr) => {
        #[doc = concat!("`std`'s `", stringify!($name), "`, as loom has it. See the module text.")]
        pub struct $name $(<$generic>)? (atomic::$loom $(<$generic>)?);

        #[allow(missing_docs, reason = "std's")]
        #[allow(clippy::missing_errors_doc, reason = "std's")]
        impl $(<$generic>)? $atomic {
            #[must_use]
            pub fn new(value: $value) -> Self {
                Self(atomic::$loom::new(value))
            }

            pub fn load(&self, order: Ordering) -> $value {
                if has_failed() { $nothing } else { self.0.load(order) }
            }

            pub fn store(&self, value: $value, order: Ordering) {
                if !has_failed() {
                    self.0.store(value, order);
                }
            }

            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                if has_failed() { $nothing } else { self.0.swap(value, order) }
            }

            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                if has_failed() {
                    return Ok(current);
                }
                self.0.compare_exchange(current, new, success, failure)
            }

            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                if has_failed() {
                    return Ok($nothing);
                }
                self.0.fetch_update(set, fetch, change)
            }

            pub fn with_mut<R>(&mut self, change: impl FnOnce(&mut $value) -> R) -> R {
                self.0.with_mut(change)
            }
        }

        impl $(<$generic>)? fmt::Debug for $atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl $(<$generic>)? EndOfFrame for $atomic {
            fn end_of_frame(&mut self) {
                self.0.with_mut(|_| ());
            }
        }

        impl $(<$generic>)? Default for $atomic {
            fn default() -> Self {
                Self::new($nothing)
            }
        }
    };
}

/// What integers have beyond that.
macro_rules! integer {
    ($name:ident, $value:ty) => {
        atomic!([] $name, $name, $name, $value, 0);
        integer!($name, $value, fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max);
    };
    ($name:ident, $value:ty, $($change:ident),*) => {
        #[allow(missing_docs, reason = "std's")]
        impl $name {
            $(pub fn $change(&self, value: $value, order: Ordering) -> $value {
                if has_failed() { 0 } else { self.0.$change(value, order) }
            })*
        }
    };
}

integer!(AtomicU8, u8);
integer!(AtomicU32, u32);
integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);
atomic!([T] AtomicPtr<T>, AtomicPtr, AtomicPtr, *mut T, std::ptr::null_mut());

/// `std`'s `AtomicBool`; the end of loom's cannot be told.
#[derive(Debug, Default)]
pub struct AtomicBool(AtomicU8);

#[allow(missing_docs, reason = "std's")]
#[allow(clippy::missing_errors_doc, reason = "std's")]
impl AtomicBool {
    #[must_use]
    pub fn new(value: bool) -> Self {
        Self(AtomicU8::new(value.into()))
    }

    pub fn load(&self, order: Ordering) -> bool {
        self.0.load(order) != 0
    }

    pub fn store(&self, value: bool, order: Ordering) {
        self.0.store(value.into(), order);
    }

    pub fn swap(&self, value: bool, order: Ordering) -> bool {
        self.0.swap(value.into(), order) != 0
    }

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

/// `std`'s `Cell`. loom finds uses of it by two threads at the same time.
#[derive(Default)]
pub struct Cell<T> {
    /// The cell that loom watches in the value's stead.
    watched: cell::UnsafeCell<()>,
    value: std::cell::Cell<T>,
}

#[allow(missing_docs, reason = "std's")]
impl<T> Cell<T> {
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            watched: cell::UnsafeCell::new(()),
            value: std::cell::Cell::new(value),
        }
    }

    pub fn get(&self) -> T
    where
        T: Copy,
    {
        if !has_failed() {
            self.watched.with(|_| ());
        }
        self.value.get()
    }

    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    pub fn replace(&self, value: T) -> T {
        self.watch_change();
        self.value.replace(value)
    }

    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Tells loom of an exclusive use.
    fn watch_change(&self) {
        if !has_failed() {
            self.watched.with_mut(|_| ());
        }
    }
}

impl<T> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cell")
    }
}

impl<T> EndOfFrame for Cell<T> {
    fn end_of_frame(&mut self) {
        self.watch_change();
    }
}

/// A value in the frame of a waiting thread, which others reach by its address.
#[derive(Debug)]
pub struct Framed<T: EndOfFrame>(*mut T);

impl<T: EndOfFrame> Framed<T> {
    /// The value, in a frame of the caller's.
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
        if !has_failed() {
            // SAFETY: never freed in truth; loom checks that no other thread uses it any more.
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

// SAFETY: gives shared access only, but for `free`, and loom checks the order of that.
unsafe impl<T: Sync> Send for Shared<T> {}

impl<T> Shared<T> {
    /// Makes an object that is alive.
    #[must_use]
    pub fn new(object: T) -> Self {
        Self(Box::into_raw(Box::new(object)))
    }

    /// The object as a reference, for what borrows it.
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
        // SAFETY: never freed in truth; loom checks that no other thread uses it any more.
        unsafe { (*self.0).end_of_frame() };
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.get()
    }
}
