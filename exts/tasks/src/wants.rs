//! What a task wants: permissions by name, which become guards when all of them are there.
//!
//! Wants of [`Shared`] objects are for tasks of their own, and live as long as they like. What a
//! [`finish`](crate::finish()) lends is wanted by tasks of its scope only. The two have types of
//! their own, so the compiler keeps them apart.

use crate::entry::Lines;
use crate::guards::{Full, Null, Origin, Read};
use crate::line::{Line, Permission};
use crate::object::{Object, Shared};
use std::fmt;
use std::sync::Arc;

/// Permissions that a task wants: one, a tuple of up to eight of them, or a vector. The task gets a
/// guard for each, in the same form.
///
/// A set with the same object twice, with other than null permissions, is a mistake that only a run
/// can show: what takes such wants panics.
#[diagnostic::on_unimplemented(
    message = "`{Self}` says no permissions",
    label = "not something that a task can want",
    note = "name permissions as in `(a.read(), b.full(), c.null())`"
)]
pub trait Wants<'s>: Sealed + Send + Sized + 's {
    /// What the task gets.
    type Guards: Send + 's;

    /// Adds the lines that have to be entered.
    #[doc(hidden)]
    fn lines<'a>(&'a self, lines: &mut Lines<'a, 's>);

    /// Makes the guards. The caller has come by all permissions that `lines` names, and gives them
    /// to the guards.
    #[doc(hidden)]
    fn grant(self, permission: Permitted) -> Self::Guards;
}

/// What tasks of a scope may want: what its [`finish`](crate::finish()) lends.
#[diagnostic::on_unimplemented(
    message = "a task of a `finish` wants `{Self}`, which the `finish` does not lend",
    label = "not lent by this `finish`",
    note = "a task may want only what its parent had: move the parent's guard into `finish`, and \
            take the permission from the handle that the closure gets"
)]
pub trait LentWants<'scope>: Wants<'scope> {}

/// Proof that all permissions are there, made where they have been come by.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Permitted(());

impl Permitted {
    /// The proof, for those to make that have come by all permissions of the wants that they grant.
    pub(crate) const fn assume() -> Self {
        Self(())
    }
}

/// Keeps the traits to this crate.
mod sealed {
    #[allow(unnameable_types, reason = "that is what it is for")]
    pub trait Sealed {}
}
use sealed::Sealed;

/// The wish to read a shared object; see [`Shared::read`].
pub struct WantRead<T: ?Sized>(Shared<T>);

/// The wish to change a shared object; see [`Shared::full`].
pub struct WantFull<T: ?Sized>(Shared<T>);

/// The wish for a reference to a shared object; see [`Shared::null`].
pub struct WantNull<T: ?Sized>(Shared<T>);

impl<T: ?Sized> Shared<T> {
    /// Wants to read the object, beside others that read it.
    #[must_use]
    pub fn read(&self) -> WantRead<T> {
        WantRead(self.clone())
    }

    /// Wants to change the object, alone.
    #[must_use]
    pub fn full(&self) -> WantFull<T> {
        WantFull(self.clone())
    }

    /// Wants a reference only. Nobody waits for it.
    #[must_use]
    pub fn null(&self) -> WantNull<T> {
        WantNull(self.clone())
    }
}

impl<T: ?Sized + Send + Sync + 'static> Wants<'static> for WantRead<T> {
    type Guards = Read<'static, T>;

    fn lines<'a>(&'a self, lines: &mut Lines<'a, 'static>) {
        lines.push((&self.0.0.line, Permission::Read));
    }

    fn grant(self, _: Permitted) -> Self::Guards {
        Read::new(self.0.0, Origin::Object)
    }
}

impl<T: ?Sized + Send + Sync + 'static> Wants<'static> for WantFull<T> {
    type Guards = Full<'static, T>;

    fn lines<'a>(&'a self, lines: &mut Lines<'a, 'static>) {
        lines.push((&self.0.0.line, Permission::Full));
    }

    fn grant(self, _: Permitted) -> Self::Guards {
        Full::from_parts(self.0.0, Origin::Object)
    }
}

impl<T: ?Sized + Send + Sync + 'static> Wants<'static> for WantNull<T> {
    type Guards = Null<T>;

    fn lines<'a>(&'a self, _: &mut Lines<'a, 'static>) {}

    fn grant(self, _: Permitted) -> Self::Guards {
        Null::new(self.0.0)
    }
}

/// The wish to read what a `finish` lends.
pub struct LentRead<'scope, T: ?Sized> {
    object: Arc<Object<T>>,
    /// `None`: the parent can but read, so the children need no turns.
    line: Option<Arc<Line<'scope>>>,
}

impl<'scope, T: ?Sized> LentRead<'scope, T> {
    /// The wish to read what others may change.
    pub(crate) fn in_turn(object: Arc<Object<T>>, line: Arc<Line<'scope>>) -> Self {
        let line = Some(line);
        Self { object, line }
    }

    /// The wish to read what nobody may change.
    pub(crate) fn at_once(object: Arc<Object<T>>) -> Self {
        Self { object, line: None }
    }
}

/// The wish to change what a `finish` lends.
pub struct LentFull<'scope, T: ?Sized> {
    object: Arc<Object<T>>,
    line: Arc<Line<'scope>>,
}

impl<'scope, T: ?Sized> LentFull<'scope, T> {
    /// The wish that waits for its turn among others.
    pub(crate) fn new(object: Arc<Object<T>>, line: Arc<Line<'scope>>) -> Self {
        Self { object, line }
    }
}

/// The wish for a reference to what a `finish` lends.
pub struct LentNull<T: ?Sized>(Arc<Object<T>>);

impl<T: ?Sized> LentNull<T> {
    /// The wish. Nobody waits for it.
    pub(crate) fn new(object: Arc<Object<T>>) -> Self {
        Self(object)
    }
}

impl<'s, T: ?Sized + Send + Sync + 's> Wants<'s> for LentRead<'s, T> {
    type Guards = Read<'s, T>;

    fn lines<'a>(&'a self, lines: &mut Lines<'a, 's>) {
        lines.extend(self.line.as_deref().map(|line| (line, Permission::Read)));
    }

    fn grant(self, _: Permitted) -> Self::Guards {
        Read::new(self.object, self.line.map_or(Origin::Kept, Origin::Lent))
    }
}

impl<'s, T: ?Sized + Send + Sync + 's> Wants<'s> for LentFull<'s, T> {
    type Guards = Full<'s, T>;

    fn lines<'a>(&'a self, lines: &mut Lines<'a, 's>) {
        lines.push((&self.line, Permission::Full));
    }

    fn grant(self, _: Permitted) -> Self::Guards {
        Full::from_parts(self.object, Origin::Lent(self.line))
    }
}

impl<'s, T: ?Sized + Send + Sync + 's> Wants<'s> for LentNull<T> {
    type Guards = Null<T>;

    fn lines<'a>(&'a self, _: &mut Lines<'a, 's>) {}

    fn grant(self, _: Permitted) -> Self::Guards {
        Null::new(self.0)
    }
}

impl<'s, T: ?Sized + Send + Sync + 's> LentWants<'s> for LentRead<'s, T> {}
impl<'s, T: ?Sized + Send + Sync + 's> LentWants<'s> for LentFull<'s, T> {}
impl<'s, T: ?Sized + Send + Sync + 's> LentWants<'s> for LentNull<T> {}

impl<W: Sealed> Sealed for Vec<W> {}

impl<'s, W: Wants<'s>> Wants<'s> for Vec<W> {
    type Guards = Vec<W::Guards>;

    fn lines<'a>(&'a self, lines: &mut Lines<'a, 's>) {
        for want in self {
            want.lines(lines);
        }
    }

    fn grant(self, permitted: Permitted) -> Self::Guards {
        self.into_iter().map(|want| want.grant(permitted)).collect()
    }
}

impl<'s, W: LentWants<'s>> LentWants<'s> for Vec<W> {}

/// A tuple of wants becomes a tuple of guards.
macro_rules! tuples {
    ($($want:ident)*) => {
        impl<$($want: Sealed),*> Sealed for ($($want,)*) {}

        impl<'s, $($want: Wants<'s>),*> Wants<'s> for ($($want,)*) {
            type Guards = ($($want::Guards,)*);

            #[allow(unused_variables, non_snake_case, reason = "tuples of all lengths")]
            fn lines<'a>(&'a self, lines: &mut Lines<'a, 's>) {
                let ($($want,)*) = self;
                $($want.lines(lines);)*
            }

            #[allow(
                unused_variables,
                clippy::unused_unit,
                non_snake_case,
                reason = "tuples of all lengths"
            )]
            fn grant(self, permitted: Permitted) -> Self::Guards {
                let ($($want,)*) = self;
                ($($want.grant(permitted),)*)
            }
        }

        impl<'s, $($want: LentWants<'s>),*> LentWants<'s> for ($($want,)*) {}
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);

/// What all wishes are besides: `Clone`, `Debug`, sealed, for a wish, whatever it is for.
macro_rules! wishes {
    ($($wish:ident $(<$scope:lifetime>)? { $($field:tt),+ })+) => {
        $(
            impl<$($scope,)? T: ?Sized> Sealed for $wish<$($scope,)? T> {}

            impl<$($scope,)? T: ?Sized> Clone for $wish<$($scope,)? T> {
                fn clone(&self) -> Self {
                    Self { $($field: self.$field.clone()),+ }
                }
            }

            impl<$($scope,)? T: ?Sized> fmt::Debug for $wish<$($scope,)? T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(stringify!($wish)).finish_non_exhaustive()
                }
            }
        )+
    };
}

wishes! {
    WantRead { 0 }
    WantFull { 0 }
    WantNull { 0 }
    LentRead<'s> { object, line }
    LentFull<'s> { object, line }
    LentNull { 0 }
}
