//! Objects that tasks share.

use crate::line::Line;
use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

/// A shared object: the value, and the line of those that wait for it.
pub(crate) struct Object<T: ?Sized> {
    /// The tasks that have it, and those that wait.
    pub(crate) line: Line<'static>,
    /// The value. Reached through guards only.
    value: UnsafeCell<T>,
}

// SAFETY: guards give the value to several threads as `&T`, or to any one as `&mut T`, and the line
// keeps these apart; the value ends on any thread.
unsafe impl<T: ?Sized + Send + Sync> Sync for Object<T> {}

impl<T> Object<T> {
    /// An object with this line.
    fn new(line: Line<'static>, value: T) -> Self {
        Self {
            line,
            value: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized> Object<T> {
    /// The value, to read.
    ///
    /// # Safety
    ///
    /// The caller has the permission, and keeps it while the reference lives.
    #[inline]
    pub(crate) unsafe fn read(&self) -> &T {
        // SAFETY: the caller's promise.
        unsafe { &*self.value.get() }
    }

    /// The value, to change.
    ///
    /// # Safety
    ///
    /// The caller has the permission in full, keeps it while the reference lives, and makes no
    /// other reference meanwhile.
    #[inline]
    #[allow(
        clippy::mut_from_ref,
        reason = "the permission is what makes it exclusive"
    )]
    pub(crate) unsafe fn change(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.value.get() }
    }
}

/// A value that tasks share, `T@` in Eve: a counted reference, which by itself gives no access.
/// Access comes by [permissions](crate#permissions), which a task names before it starts.
///
/// ```
/// use fibre_tasks::{Shared, spawn};
///
/// let names = Shared::new(vec!["Ada"]);
/// let adds = spawn(names.full(), |mut names| names.push("Grace"));
/// let counts = spawn(names.read(), |names| names.len());
/// assert_eq!(counts.join()?, 2); // the tasks share an object, so they run in this order
/// # adds.join()?;
/// # Ok::<(), fibre_tasks::TaskError>(())
/// ```
pub struct Shared<T: ?Sized>(pub(crate) Arc<Object<T>>);

impl<T> Shared<T> {
    /// Shares a value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(Arc::new(Object::new(Line::new(), value)))
    }

    /// Shares a value that the maker has in full.
    pub(crate) fn taken(value: T) -> Self {
        Self(Arc::new(Object::new(Line::taken(), value)))
    }

    /// The value, if this is the only reference.
    ///
    /// # Errors
    ///
    /// The reference, if there are others: also that of a guard, or of a task that wants the
    /// object.
    pub fn into_inner(self) -> Result<T, Self> {
        match Arc::try_unwrap(self.0) {
            Ok(object) => Ok(object.value.into_inner()),
            Err(object) => Err(Self(object)),
        }
    }
}

impl<T: ?Sized> Shared<T> {
    /// Whether both refer to the same object.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many tasks wait for the object. A hint: it may have changed by now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.line.waiting()
    }
}

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("line", &self.0.line)
            .finish_non_exhaustive()
    }
}
