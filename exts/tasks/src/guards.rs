//! Permissions that a task has, as values: what it may do with them is what their types offer.

use crate::entry::give_back;
use crate::line::{Line, Permission};
use crate::object::{Object, Shared};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Where a permission goes when it is given back.
pub(crate) enum Origin<'p> {
    /// To the object's own line.
    Object,
    /// To the line of a `finish` that lends the object.
    Lent(Arc<Line<'p>>),
    /// Nowhere: the lender keeps the permission, and lends the same to all.
    Kept,
}

/// The object with the permission, for both guards that have one.
pub(crate) struct Hold<'p, T: ?Sized> {
    object: Arc<Object<T>>,
    origin: Origin<'p>,
    permission: Permission,
}

impl<'p, T: ?Sized> Hold<'p, T> {
    /// A permission that the caller has come by.
    fn new(object: Arc<Object<T>>, origin: Origin<'p>, permission: Permission) -> Self {
        Self {
            object,
            origin,
            permission,
        }
    }
}

impl<T: ?Sized> Drop for Hold<'_, T> {
    fn drop(&mut self) {
        match &self.origin {
            Origin::Object => give_back(&self.object.line, self.permission),
            Origin::Lent(line) => give_back(line, self.permission),
            Origin::Kept => {}
        }
    }
}

/// Permission to read an object, beside others that read it. Given back when it is dropped, which
/// a task may do before its end.
///
/// It is Eve's default permission: what changes the object does not compile.
///
/// ```compile_fail,E0594
/// use fibre_tasks::{Shared, spawn};
///
/// let count = Shared::new(1);
/// spawn(count.read(), |mut count| *count += 1);
/// ```
pub struct Read<'p, T: ?Sized>(Hold<'p, T>);

impl<'p, T: ?Sized> Read<'p, T> {
    /// The guard of a caller that has the permission.
    pub(crate) fn new(object: Arc<Object<T>>, origin: Origin<'p>) -> Self {
        Self(Hold::new(object, origin, Permission::Read))
    }

    /// The object, without the permission: to capture it, or to want it in tasks to come.
    #[must_use]
    pub fn shared(this: &Self) -> Shared<T> {
        Shared(Arc::clone(&this.0.object))
    }

    /// The object, to lend it.
    pub(crate) fn object(&self) -> &Arc<Object<T>> {
        &self.0.object
    }
}

impl<T: ?Sized> Deref for Read<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we have the permission.
        unsafe { self.0.object.read() }
    }
}

/// Permission to change an object, alone. Given back when it is dropped, which a task may do before
/// its end.
pub struct Full<'p, T: ?Sized>(Hold<'p, T>);

impl<T> Full<'static, T> {
    /// Shares a new value, with the permission for the caller. There is nothing to wait for.
    #[must_use]
    pub fn new(value: T) -> Self {
        let Shared(object) = Shared::taken(value);
        Self(Hold::new(object, Origin::Object, Permission::Full))
    }
}

impl<'p, T: ?Sized> Full<'p, T> {
    /// The guard of a caller that has the permission.
    pub(crate) fn from_parts(object: Arc<Object<T>>, origin: Origin<'p>) -> Self {
        Self(Hold::new(object, origin, Permission::Full))
    }

    /// The object, without the permission: to capture it, or to want it in tasks to come.
    #[must_use]
    pub fn shared(this: &Self) -> Shared<T> {
        Shared(Arc::clone(&this.0.object))
    }

    /// The object, to lend it.
    pub(crate) fn object(&self) -> &Arc<Object<T>> {
        &self.0.object
    }
}

impl<T: ?Sized> Deref for Full<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we have the permission, and `&mut` from us is borrowed from `&mut self`.
        unsafe { self.0.object.read() }
    }
}

impl<T: ?Sized> DerefMut for Full<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: we have the permission, alone, and our own references are borrowed from us.
        unsafe { self.0.object.change() }
    }
}

/// No permission but to refer to an object: Eve's `-`. What it is for is to bind the reference into
/// what the task makes.
///
/// There is no way from it to the value.
///
/// ```compile_fail,E0614
/// use fibre_tasks::{Shared, spawn};
///
/// let count = Shared::new(1);
/// spawn(count.null(), |count| println!("{}", *count));
/// ```
pub struct Null<T: ?Sized>(Arc<Object<T>>);

impl<T: ?Sized> Null<T> {
    /// The guard. Nobody waits for it.
    pub(crate) fn new(object: Arc<Object<T>>) -> Self {
        Self(object)
    }

    /// The object: to capture it, or to want it in tasks to come.
    #[must_use]
    pub fn shared(this: &Self) -> Shared<T> {
        Shared(Arc::clone(&this.0))
    }

    /// The object, to lend it.
    pub(crate) fn object(&self) -> &Arc<Object<T>> {
        &self.0
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Read<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Read").field(&&**self).finish()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Full<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Full").field(&&**self).finish()
    }
}

impl<T: ?Sized> fmt::Debug for Null<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Null").finish_non_exhaustive()
    }
}
