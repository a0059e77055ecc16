//! A value that is written once, for fibres.
//!
//! It behaves like `std::sync::OnceLock`. It is never poisoned: without a value, nothing is half
//! done. So after an initialiser that has panicked (or failed), the next caller or a waiter tries
//! again.
//!
//! The value lies beside a [`Once`]. Its completion says that the value is there. Only the owner of
//! the cell takes it out.

use crate::once::{Once, OnceState};
use fibre_core::internal::within;
use fibre_core::{Limit, WaitError};
use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// A cell that the first caller writes once, and that all can read from then on.
///
/// ```
/// use fibre::sync::OnceLock;
///
/// static ANSWER: OnceLock<u32> = OnceLock::new();
///
/// let asked = fibre::spawn(|| *ANSWER.wait());
/// assert_eq!(*ANSWER.get_or_init(|| 6 * 7), 42);
/// assert_eq!(ANSWER.set(43), Err(43));
/// assert_eq!(asked.join().unwrap(), 42);
/// ```
#[doc(alias("OnceCell"))]
pub struct OnceLock<T> {
    once: Once,
    /// The value; it is there once the `Once` is complete.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: one caller writes the value before the others read it. It may be dropped on another
// thread than it was made on, so it has to be `Send`, too.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}

fibre_core::end_of_frame!(OnceLock<T>: once; for T);

impl<T> OnceLock<T> {
    fibre_core::const_outside_models! {
        /// A cell without a value.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                once: Once::new(),
                value: UnsafeCell::new(None),
            }
        }
    }

    /// The value, if it is there. Blocks nothing.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: complete, hence written, and for as long as it is shared, for good.
        self.once
            .is_completed()
            .then(|| unsafe { self.value_unchecked() })
    }

    /// The value, if it is there; the exclusive borrow proves that no other caller uses the cell.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Writes the value, unless there is one. While an initialiser is running, blocks the fibre (or
    /// thread).
    ///
    /// # Errors
    ///
    /// The value given, if there is one already.
    ///
    /// # Panics
    ///
    /// If the caller initialises this cell.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        let write = || match value.take() {
            Some(value) => value,
            None => unreachable!("a turn comes once"),
        };
        self.get_or_init(write);
        value.map_or(Ok(()), Err)
    }

    /// The value; if there is none, the one that `init` makes. While another initialiser is
    /// running, blocks the fibre, or the thread if the caller is not a fibre. `init` may block,
    /// too. Does not notice cancellation.
    ///
    /// # Panics
    ///
    /// If `init` panics; then there is no value, and the next caller tries. Also if the caller is
    /// within `init` of this cell already.
    #[inline]
    pub fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        match self.get_or_try_init(|| Ok::<T, Infallible>(init())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// Like [`get_or_init`](Self::get_or_init), for an initialiser that may fail; the next caller
    /// tries again.
    ///
    /// ```
    /// use fibre::sync::OnceLock;
    ///
    /// let number = OnceLock::new();
    /// assert!(number.get_or_try_init(|| "many".parse::<u32>()).is_err());
    /// assert_eq!(number.get_or_try_init(|| "7".parse::<u32>()), Ok(&7));
    /// ```
    ///
    /// # Errors
    ///
    /// The error that `init` returns.
    ///
    /// # Panics
    ///
    /// As [`get_or_init`](Self::get_or_init).
    #[inline]
    pub fn get_or_try_init<E>(&self, init: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.get() {
            Some(value) => Ok(value),
            None => self.initialise(init),
        }
    }

    /// The part of [`get_or_try_init`](Self::get_or_try_init) for a value that was not there.
    #[cold]
    fn initialise<E>(&self, init: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let mut init = Some(init);
        let mut failure = None;
        let mut write = |state: &OnceState| match init.take().map(|init| init()) {
            // SAFETY: this caller is the initialiser, and no one reads before it has finished.
            Some(Ok(value)) => unsafe { *self.value.get() = Some(value) },
            Some(Err(error)) => {
                failure = Some(error);
                state.fail();
            }
            None => unreachable!("a turn comes once"),
        };
        let called = self.once.call(true, &mut write);
        called.unwrap_or_else(|refusal| refusal.panic());
        match failure {
            Some(error) => Err(error),
            // SAFETY: the call returns when it is complete, or when this caller's own turn has
            // failed.
            None => Ok(unsafe { self.value_unchecked() }),
        }
    }

    /// Waits for a value that another caller writes. Blocks the fibre, or the thread if the caller
    /// is not a fibre.
    ///
    /// # Panics
    ///
    /// If the caller initialises this cell.
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        // SAFETY: complete, hence written.
        unsafe { self.value_unchecked() }
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    pub fn wait_timeout(&self, timeout: Duration) -> Option<&T> {
        self.wait_limited(Limit::after(timeout))
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then there was no value.
    ///
    /// # Panics
    ///
    /// As [`wait`](Self::wait).
    #[inline]
    pub fn wait_within(&self, limit: impl Into<Limit>) -> Result<&T, WaitError> {
        within(limit, |limit| self.wait_limited(limit))
    }

    /// The form that all with a limit share.
    fn wait_limited(&self, limit: Limit) -> Option<&T> {
        self.once.wait_limited(limit, true);
        self.get()
    }

    /// The value out of the cell, if it has one.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value, if there is one, and leaves the cell as it was at first.
    ///
    /// ```
    /// let mut cell = fibre::sync::OnceLock::from(1);
    /// assert_eq!((cell.take(), cell.get()), (Some(1), None));
    /// assert_eq!(cell.set(2), Ok(()));
    /// ```
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    /// The value that is there.
    ///
    /// # Safety
    ///
    /// The `Once` is complete.
    #[inline]
    unsafe fn value_unchecked(&self) -> &T {
        // SAFETY: written before the completion, which the caller has seen, and never again.
        unsafe { (*self.value.get()).as_ref().unwrap_unchecked() }
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let cell = Self::new();
        let written = cell.set(value);
        debug_assert!(written.is_ok(), "nobody else knows the cell");
        cell
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(Self::new, Self::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => tuple.field(value).finish(),
            None => tuple.field(&format_args!("<no value>")).finish(),
        }
    }
}
