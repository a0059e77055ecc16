//! A value that is made when it is first used, for fibres.
//!
//! It behaves like `std::sync::LazyLock`: its closure is called once. If that panics, there will
//! never be a value, and every use panics.

use crate::once_lock::OnceLock;
use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A value that its first use initialises, for all users. Later uses cost one load.
///
/// ```
/// use fibre::sync::LazyLock;
///
/// static TABLE: LazyLock<Vec<u32>> = LazyLock::new(|| (0..10).map(|i| i * i).collect());
///
/// let squares = fibre::spawn(|| TABLE[3]);
/// assert_eq!((squares.join().unwrap(), TABLE.len()), (9, 10));
/// ```
#[doc(alias("lazy_static"))]
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    /// The closure, until the initialiser takes it.
    init: Cell<Option<F>>,
}

// SAFETY: only the initialiser of the cell touches the closure, wherever it runs.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}

impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    fibre_core::const_outside_models! {
        /// A value that `init` will make.
        pub const fn new(init: F) -> Self {
            Self {
                cell: OnceLock::new(),
                init: Cell::new(Some(init)),
            }
        }
    }

    /// The value, which is initialised first if necessary. While another caller initialises it,
    /// blocks the fibre, or the thread if the caller is not a fibre. Equals a dereference, but is
    /// visible in the code.
    ///
    /// # Panics
    ///
    /// If the closure panics or has panicked; and if it uses the value itself.
    #[inline]
    pub fn force(this: &Self) -> &T {
        this.cell.get_or_init(|| match this.init.take() {
            Some(init) => init(),
            None => panic!("the `LazyLock` is poisoned: its closure has panicked"),
        })
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it has been made. Blocks nothing.
    ///
    /// ```
    /// use fibre::sync::LazyLock;
    ///
    /// let lazy = LazyLock::new(|| 1);
    /// assert_eq!((LazyLock::get(&lazy), *lazy, LazyLock::get(&lazy)), (None, 1, Some(&1)));
    /// ```
    #[inline]
    pub fn get(this: &Self) -> Option<&T> {
        this.cell.get()
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("LazyLock");
        match self.cell.get() {
            Some(value) => tuple.field(value).finish(),
            None => tuple.field(&format_args!("<no value>")).finish(),
        }
    }
}
