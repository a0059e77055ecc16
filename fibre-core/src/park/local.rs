//! Fibre-local storage: what `thread_local!` is to threads.
//!
//! A value of a [`LocalKey`] belongs to one fibre. It is made when the fibre first asks for it, and
//! the fibre drops it at its end, before it is finished (see [`crate::fibre::local_table`]). The
//! value moves with the fibre, so a reference to it may be held across calls that block. On a plain
//! thread it belongs to the thread.
//!
//! `T` need not be `Send`: a fibre stays on its kernel thread once it has started, and so do its
//! values. If a cluster was built with the `unsafe` opt-in to move started fibres, that opt-in's
//! contract covers these values, as it covers data on the fibres' stacks.

use crate::fibre::ControlBlock;
use crate::fibre::local_table::{Key, Locals};
use crate::fibre::switch_hooks::SwitchedFibre;
use crate::processor::{Processor, with_running};
use crate::stack::forget_values;
use crate::sys::current;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// Declares values of which each fibre, and each plain thread, has its own. See [`LocalKey`].
///
/// ```
/// use std::cell::Cell;
///
/// fibre::fibre_local! {
///     /// Requests that this fibre has served.
///     static SERVED: Cell<u32> = Cell::new(0);
/// }
///
/// SERVED.set(SERVED.get() + 1);
/// let other = fibre::spawn(|| SERVED.get());
/// assert_eq!((SERVED.get(), other.join().unwrap()), (1, 0));
/// ```
#[doc(alias("thread_local", "task_local"))]
#[macro_export]
macro_rules! fibre_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr; $($rest:tt)*) => {
        $crate::fibre_local!($(#[$attribute])* $visibility static $name: $type = $value);
        $crate::fibre_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr) => {
        $(#[$attribute])*
        $visibility static $name: $crate::LocalKey<$type> = {
            fn first() -> $type {
                $value
            }
            $crate::LocalKey::new(first)
        };
    };
}

/// A value of which each fibre, and each plain thread, has its own; declared by
/// [`fibre_local!`].
///
/// A value is made when its fibre first asks for it. The fibre drops it at its end. The destructor
/// may block, panic, and make values again: up to four times over; then values are leaked. The same
/// holds at the end of a thread.
///
/// ```
/// fibre::fibre_local! {
///     static NAME: String = format!("fibre {:?}", fibre::id());
/// }
///
/// let same = fibre::spawn(|| {
///     NAME.with(|name| {
///         fibre::yield_now(); // the reference is good for as long as one likes
///         *name == format!("fibre {:?}", fibre::id())
///     })
/// });
/// assert!(same.join().unwrap());
/// ```
#[derive(Debug)]
pub struct LocalKey<T: 'static> {
    /// The key, made when first used.
    key: OnceLock<Key>,
    /// Makes a value.
    first: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    /// Makes a key. For [`fibre_local!`].
    #[doc(hidden)]
    #[must_use]
    pub const fn new(first: fn() -> T) -> Self {
        Self {
            key: OnceLock::new(),
            first,
        }
    }

    /// Calls `f` with the caller's value.
    ///
    /// # Panics
    ///
    /// With the panic of `f`, or of the expression that makes the value.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let key = self.key();
        let mut value: *mut T = value_of(key).cast();
        if value.is_null() {
            value = self.make(key);
        }
        // SAFETY: the owner drops the value at its end only, when no call of `with` is left.
        f(unsafe { &*value })
    }

    /// Calls `f` with the value of a fibre that is switched to or from. For switch hooks, on the
    /// thread on which the hook is called. The expression that makes the value runs there, too, so
    /// it must not block. `None`: the fibre has ended, and so have its values; or they end for
    /// good, in destructors that give way, and this one was not there.
    ///
    /// The fibre may be in a call of [`with`](Self::with) for the same value.
    ///
    /// # Panics
    ///
    /// As [`with`](Self::with), and a hook must not panic.
    pub fn with_switched<R>(
        &'static self,
        fibre: &SwitchedFibre<'_>,
        f: impl FnOnce(&T) -> R,
    ) -> Option<R> {
        let locals = &fibre.block()?.locals;
        let key = self.key();
        let mut value: *mut T = locals.get(key).cast();
        if value.is_null() {
            if locals.is_closed() {
                return None;
            }
            let made = Box::new((self.first)());
            // The expression may have asked for the value itself: then that one stays.
            value = locals.get(key).cast();
            if value.is_null() {
                value = Box::into_raw(made);
                locals.set_by_hook(key, value.cast());
            }
        }
        // SAFETY: as in `with`; the fibre does not run during the call.
        Some(f(unsafe { &*value }))
    }

    /// [`with_switched`](Self::with_switched) for values that are there. `None`: the fibre has none
    /// of this key, or has ended.
    pub fn with_switched_if_any<R>(
        &'static self,
        fibre: &SwitchedFibre<'_>,
        f: impl FnOnce(&T) -> R,
    ) -> Option<R> {
        let value: *mut T = fibre.block()?.locals.get(*self.key.get()?).cast();
        // SAFETY: as in `with_switched`.
        unsafe { value.as_ref() }.map(f)
    }

    /// The key.
    fn key(&self) -> Key {
        // SAFETY: the values are those of `make` and `with_switched`, which make them alike.
        let new = || unsafe { Key::new_typed(drop_value::<T>) };
        *self.key.get_or_init(new)
    }

    /// Makes the caller's value. The expression may block, and may itself ask for the value: then
    /// the value that the inner call made stays.
    #[cold]
    fn make(&self, key: Key) -> *mut T {
        let made = Box::new((self.first)());
        let inner: *mut T = value_of(key).cast();
        if !inner.is_null() {
            return inner;
        }
        let value = Box::into_raw(made);
        // SAFETY: the value is what `drop_value` and `with` expect of this key.
        unsafe { key.set(value.cast()) };
        value
    }
}

/// Drops the value of a [`LocalKey`].
unsafe extern "C-unwind" fn drop_value<T>(value: *mut c_void) {
    // SAFETY: made by `make`, and taken out of its table.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Replaces the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// Returns a copy of the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the type's default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Replaces the value and returns the old one.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Calls `f` with a shared borrow of the value.
    ///
    /// # Panics
    ///
    /// If it is mutably borrowed.
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Calls `f` with a mutable borrow of the value.
    ///
    /// # Panics
    ///
    /// If it is borrowed.
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Replaces the value.
    ///
    /// # Panics
    ///
    /// If it is borrowed.
    pub fn set(&'static self, value: T) {
        self.with(|cell| {
            cell.replace(value);
        });
    }

    /// Takes the value and leaves the type's default.
    ///
    /// # Panics
    ///
    /// If it is borrowed.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Replaces the value and returns the old one.
    ///
    /// # Panics
    ///
    /// If it is borrowed.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl Key {
    /// Returns the caller's value of this key; null if it has none, or if the key was deleted.
    #[must_use]
    pub fn get(self) -> *mut c_void {
        if self.is_alive() {
            value_of(self)
        } else {
            ptr::null_mut()
        }
    }

    /// Sets the caller's value of this key. `false`: the key was deleted. The old value is not
    /// ended.
    ///
    /// # Safety
    ///
    /// The key's destructor may be called with the value, here, and readers of the key's values
    /// expect such a value.
    ///
    /// ```compile_fail,E0133
    /// // SAFETY: there is no destructor.
    /// let key = unsafe { fibre::Key::new(None) };
    /// key.set(std::ptr::dangling_mut());
    /// ```
    #[allow(clippy::must_use_candidate, reason = "most callers know")]
    pub unsafe fn set(self, value: *mut c_void) -> bool {
        let alive = self.is_alive();
        if alive {
            with_running(|fibre| fibre.locals.set(self, value))
                .unwrap_or_else(|| of_thread_or_new().set(self, value));
        }
        alive
    }
}

/// The caller's value of a key that has not been deleted.
#[inline]
fn value_of(key: Key) -> *mut c_void {
    with_running(|fibre| fibre.locals.get(key))
        .unwrap_or_else(|| of_thread().map_or(ptr::null_mut(), |locals| locals.get(key)))
}

/// The table of the calling thread, if it has one.
fn of_thread() -> Option<&'static Locals> {
    // SAFETY: it is freed at the thread's end only, when nobody uses it.
    unsafe { current::locals().cast::<Locals>().as_ref() }
}

/// The table of the calling thread, made if there is none.
fn of_thread_or_new() -> &'static Locals {
    of_thread().unwrap_or_else(|| {
        let locals: &'static Locals = Box::leak(Box::default());
        current::set_locals(ptr::from_ref(locals).cast());
        let notice = NOTICE.get().copied().unwrap_or(current::set_at_end);
        notice(end_of_thread);
        locals
    })
}

/// Has a function called when the calling thread ends.
type Notice = fn(at_end: fn());

/// The function set by [`notice_thread_ends_by`].
static NOTICE: OnceLock<Notice> = OnceLock::new();

/// Lets a layer above notice the ends of plain threads that get values from now on. `notice` is
/// called on such a thread, and has its argument called when the thread ends. Without it, ends are
/// noticed by std's thread-locals, for which an exit of the process ends the thread that asks for
/// it. The first call counts.
///
/// # Safety
///
/// `notice` has its argument called when the thread has come to its end, on that thread and nowhere
/// else: it ends the thread's values, of which nothing is borrowed any more.
///
/// ```compile_fail,E0133
/// fibre_core::internal::notice_thread_ends_by(|at_end| at_end());
/// ```
pub unsafe fn notice_thread_ends_by(notice: fn(at_end: fn())) {
    NOTICE.get_or_init(|| notice);
}

/// Whether the caller has any value, of any key.
///
/// ```
/// // SAFETY: there is no destructor, and nothing is borrowed from a value.
/// unsafe {
///     let key = fibre::Key::new(None);
///     assert!(!fibre_core::internal::has_locals());
///     key.set(7 as *mut _);
///     assert!(fibre_core::internal::has_locals());
///     fibre_core::internal::end_locals();
///     assert!(!fibre_core::internal::has_locals() && key.get().is_null());
/// }
/// ```
#[inline]
#[must_use]
pub fn has_locals() -> bool {
    with_running(|fibre| !fibre.locals.is_empty()).unwrap_or_else(|| of_thread().is_some())
}

/// Ends the caller's values now, as its end would; blocks for as long as their destructors block.
/// For layers above that end fibres and threads in ways of their own: a destructor may leave this
/// call for ever, and it may be called again for the other values.
///
/// # Safety
///
/// Nothing is borrowed from any of the caller's values: it is in no call of [`LocalKey::with`], or
/// never goes on with it.
///
/// ```compile_fail,E0133
/// fibre::fibre_local!(static TEXT: String = "text".to_owned());
/// TEXT.with(|text| {
///     fibre_core::internal::end_locals();
///     println!("{text}");
/// });
/// ```
pub unsafe fn end_locals() {
    with_running(ControlBlock::end_locals).unwrap_or_else(end_of_thread);
}

/// Forgets the values of the calling fibre, without calling their destructors: for a fibre that
/// ends together with the process. Where its thread-locals are its own, that includes its values of
/// the C library's keys. The values of a plain thread stay.
///
/// # Safety
///
/// As for [`end_locals`]: a value that is made anew is another one, and what the destructors would
/// have undone stays as it is.
///
/// ```compile_fail,E0133
/// fibre_core::internal::forget_locals();
/// ```
pub unsafe fn forget_locals() {
    let is_thread = |here: &Processor| here.domain().settings.own_thread_locals;
    let forget = |fibre: &ControlBlock| {
        fibre.locals.forget();
        if Processor::here(is_thread) == Some(true) {
            // SAFETY: the caller's promise; each fibre of such a cluster has a block.
            unsafe { forget_values() };
        }
    };
    let _ = with_running(forget);
}

/// Ends the values of a thread that ends, and frees their table.
fn end_of_thread() {
    if let Some(locals) = of_thread() {
        locals.end();
        let locals = ptr::from_ref(locals).cast_mut();
        current::set_locals(ptr::null());
        // SAFETY: leaked by `of_thread_or_new`, and out of reach now.
        drop(unsafe { Box::from_raw(locals) });
    }
}
