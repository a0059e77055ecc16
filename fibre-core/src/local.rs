//! Fibre-local storage: what `thread_local!` is to threads.
//!
//! A value of a [`LocalKey`] belongs to the fibre that first asked for it, is made then, and
//! is dropped by the fibre at its end, before it is finished (see [`crate::local_table`]). It
//! goes where the fibre goes, so a reference to it may be held across calls that block. On a
//! plain thread it belongs to the thread.
//!
//! `T` need not be `Send`: a fibre stays on its kernel thread once it has started, and so do
//! its values. Where a cluster was built with an `unsafe` opt-in to move started fibres, that
//! opt-in's contract covers them, as it covers what lies on the fibres' stacks.

use crate::current;
use crate::local_table::{Key, Locals};
use crate::park::running;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// Declares values of which each fibre, and each plain thread, has its own. See [`LocalKey`].
///
/// ```
/// use std::cell::Cell;
///
/// fibre_core::fibre_local! {
///     /// Requests that this fibre has served.
///     static SERVED: Cell<u32> = Cell::new(0);
/// }
///
/// SERVED.set(SERVED.get() + 1);
/// let other = fibre_core::spawn(|| SERVED.get());
/// assert_eq!((SERVED.get(), other.join().unwrap()), (1, 0));
/// ```
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
/// It is made when its fibre first asks for it. It is dropped at the fibre's end, by the fibre,
/// in whose place destructors may block, panic, and make values again: up to four times over;
/// then values are leaked. The same holds at the end of a thread.
///
/// ```
/// fibre_core::fibre_local! {
///     static NAME: String = format!("fibre {:?}", fibre_core::id());
/// }
///
/// let same = fibre_core::spawn(|| {
///     NAME.with(|name| {
///         fibre_core::yield_now(); // the reference is good for as long as one likes
///         *name == format!("fibre {:?}", fibre_core::id())
///     })
/// });
/// assert!(same.join().unwrap());
/// ```
#[derive(Debug)]
pub struct LocalKey<T: 'static> {
    /// Made when first used.
    key: OnceLock<Key>,
    /// Makes a value.
    first: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    /// For [`fibre_local!`].
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
        // SAFETY: the values are those of `make`.
        let new = || unsafe { Key::new(Some(drop_value::<T>)) };
        let key = *self.key.get_or_init(new);
        let mut value: *mut T = value_of(key).cast();
        if value.is_null() {
            value = self.make(key);
        }
        // SAFETY: the owner drops it at its end only, when no call of `with` is left.
        f(unsafe { &*value })
    }

    /// Makes the caller's value. Making it may block, and may ask for it: then what the
    /// inner call made stays.
    #[cold]
    fn make(&self, key: Key) -> *mut T {
        let made = Box::new((self.first)());
        let inner: *mut T = value_of(key).cast();
        if !inner.is_null() {
            return inner;
        }
        let value = Box::into_raw(made);
        key.set(value.cast());
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

    /// A copy of the value.
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
    /// The caller's value of this key; null if it has none, or if the key was deleted.
    #[must_use]
    pub fn get(self) -> *mut c_void {
        if self.is_alive() {
            value_of(self)
        } else {
            ptr::null_mut()
        }
    }

    /// Sets the caller's value of this key; `false`: the key was deleted. The old value is
    /// not ended.
    #[allow(clippy::must_use_candidate, reason = "most callers know")]
    pub fn set(self, value: *mut c_void) -> bool {
        let alive = self.is_alive();
        if alive {
            match running() {
                // SAFETY: the running fibre's own block.
                Some(fibre) => unsafe { fibre.as_ref() }.locals.set(self, value),
                None => of_thread_or_new().set(self, value),
            }
        }
        alive
    }
}

/// The caller's value of a key that has not been deleted.
#[inline]
fn value_of(key: Key) -> *mut c_void {
    match running() {
        // SAFETY: the running fibre's own block.
        Some(fibre) => unsafe { fibre.as_ref() }.locals.get(key),
        None => of_thread().map_or(ptr::null_mut(), |locals| locals.get(key)),
    }
}

/// The table of the thread that the caller is.
fn of_thread() -> Option<&'static Locals> {
    // SAFETY: it is freed at the thread's end only, when nobody uses it.
    unsafe { current::locals().cast::<Locals>().as_ref() }
}

/// The same, made if there is none.
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

/// See [`notice_thread_ends_by`].
static NOTICE: OnceLock<Notice> = OnceLock::new();

/// Has the ends of plain threads that are given values from now on noticed by a layer above: `notice` is called on such a thread, and has what
/// it is given called when that ends. Else they are noticed as std does it for thread-locals, where an exit of the process is
/// the end of the thread that asks for it. The first call counts.
pub fn notice_thread_ends_by(notice: fn(at_end: fn())) {
    NOTICE.get_or_init(|| notice);
}

/// Whether the caller has any values, of whatever key.
///
/// ```
/// // SAFETY: there is no destructor.
/// let key = unsafe { fibre_core::Key::new(None) };
/// assert!(!fibre_core::has_locals());
/// key.set(7 as *mut _);
/// assert!(fibre_core::has_locals());
/// fibre_core::end_locals();
/// assert!(!fibre_core::has_locals() && key.get().is_null());
/// ```
#[inline]
#[must_use]
pub fn has_locals() -> bool {
    match running() {
        // SAFETY: the running fibre's own block.
        Some(fibre) => !unsafe { fibre.as_ref() }.locals.is_empty(),
        None => of_thread().is_some(),
    }
}

/// Ends the caller's values now, as its end would; blocks what their destructors block. For layers above that end fibres and
/// threads in ways of their own: it may be left in a destructor for ever, and called again for the other values.
pub fn end_locals() {
    match running() {
        // SAFETY: the running fibre's own block, which it does not leave meanwhile.
        Some(fibre) => unsafe { fibre.as_ref() }.locals.end(),
        None => end_of_thread(),
    }
}

/// Forgets the values of the calling fibre, without their destructors: for one that ends together with the process. Those of a
/// plain thread stay.
pub fn forget_locals() {
    if let Some(fibre) = running() {
        // SAFETY: the running fibre's own block.
        unsafe { fibre.as_ref() }.locals.forget();
    }
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
