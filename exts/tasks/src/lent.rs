//! What a [`finish`](crate::finish()) lends to its tasks: of each guard that its caller has, a
//! handle that offers no more than the guard did. So a child that wants more than its parent had
//! does not compile.

use crate::guards::{Full, Null, Read};
use crate::line::Line;
use crate::object::Object;
use crate::wants::{LentFull, LentNull, LentRead};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Guards that a [`finish`](crate::finish()) lends: [`Read`], [`Full`], [`Null`], tuples of up to
/// eight of them, and vectors.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what `finish` can lend",
    label = "neither a guard, nor a tuple or vector of guards",
    note = "`finish` takes the guards `Read`, `Full` and `Null` that its caller has"
)]
pub trait Guards: Sealed {
    /// What the tasks of a scope are offered.
    type Lent<'scope>;

    /// Makes the handles.
    #[doc(hidden)]
    fn lend<'scope>(&self, lending: Lending) -> Self::Lent<'scope>;
}

/// Keeps the trait to this crate.
mod sealed {
    #[allow(unnameable_types, reason = "that is what it is for")]
    pub trait Sealed {}
}
use sealed::Sealed;

impl<T: ?Sized> Sealed for Read<'_, T> {}
impl<T: ?Sized> Sealed for Full<'_, T> {}
impl<T: ?Sized> Sealed for Null<T> {}
impl<G: Guards> Sealed for Vec<G> {}

/// Proof that the guards are kept, unused, until the scope has ended.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Lending(());

impl Lending {
    /// The proof, for the keeper of the guards to make.
    pub(crate) const fn assume() -> Self {
        Self(())
    }
}

/// An object that a parent lends the whole of: its children may read or change it.
pub struct LendsFull<'scope, T: ?Sized> {
    object: Arc<Object<T>>,
    /// The line of the children among each other.
    line: Arc<Line<'scope>>,
}

impl<'scope, T: ?Sized> LendsFull<'scope, T> {
    /// Wants to read the object.
    #[must_use]
    pub fn read(&self) -> LentRead<'scope, T> {
        LentRead::in_turn(Arc::clone(&self.object), Arc::clone(&self.line))
    }

    /// Wants to change the object.
    #[must_use]
    pub fn full(&self) -> LentFull<'scope, T> {
        LentFull::new(Arc::clone(&self.object), Arc::clone(&self.line))
    }

    /// Wants a reference only.
    #[must_use]
    pub fn null(&self) -> LentNull<T> {
        LentNull::new(Arc::clone(&self.object))
    }
}

/// An object that a parent may read: so may its children, all at a time.
pub struct LendsRead<'scope, T: ?Sized> {
    object: Arc<Object<T>>,
    /// As if there were a line: what is lent stays in the scope.
    _scope: PhantomData<Line<'scope>>,
}

impl<'scope, T: ?Sized> LendsRead<'scope, T> {
    /// Wants to read the object.
    #[must_use]
    pub fn read(&self) -> LentRead<'scope, T> {
        LentRead::at_once(Arc::clone(&self.object))
    }

    /// Wants a reference only.
    #[must_use]
    pub fn null(&self) -> LentNull<T> {
        LentNull::new(Arc::clone(&self.object))
    }
}

/// An object that a parent has a reference to only.
pub struct LendsNull<T: ?Sized> {
    object: Arc<Object<T>>,
}

impl<T: ?Sized> LendsNull<T> {
    /// Wants a reference only.
    #[must_use]
    pub fn null(&self) -> LentNull<T> {
        LentNull::new(Arc::clone(&self.object))
    }
}

impl<'p, T: ?Sized> Guards for Read<'p, T> {
    type Lent<'scope> = LendsRead<'scope, T>;

    fn lend<'scope>(&self, _: Lending) -> LendsRead<'scope, T> {
        LendsRead {
            object: Arc::clone(self.object()),
            _scope: PhantomData,
        }
    }
}

impl<'p, T: ?Sized> Guards for Full<'p, T> {
    type Lent<'scope> = LendsFull<'scope, T>;

    fn lend<'scope>(&self, _: Lending) -> LendsFull<'scope, T> {
        LendsFull {
            object: Arc::clone(self.object()),
            line: Arc::new(Line::new()),
        }
    }
}

impl<T: ?Sized> Guards for Null<T> {
    type Lent<'scope> = LendsNull<T>;

    fn lend<'scope>(&self, _: Lending) -> Self::Lent<'scope> {
        LendsNull {
            object: Arc::clone(self.object()),
        }
    }
}

impl<G: Guards> Guards for Vec<G> {
    type Lent<'scope> = Vec<G::Lent<'scope>>;

    fn lend<'scope>(&self, lending: Lending) -> Self::Lent<'scope> {
        self.iter().map(|guard| guard.lend(lending)).collect()
    }
}

/// A tuple of guards lends a tuple.
macro_rules! tuples {
    ($($guard:ident)*) => {
        impl<$($guard: Guards),*> Sealed for ($($guard,)*) {}

        impl<$($guard: Guards),*> Guards for ($($guard,)*) {
            type Lent<'scope> = ($($guard::Lent<'scope>,)*);

            #[allow(
                unused_variables,
                clippy::unused_unit,
                non_snake_case,
                reason = "tuples of all lengths"
            )]
            fn lend<'scope>(&self, lending: Lending) -> Self::Lent<'scope> {
                let ($($guard,)*) = self;
                ($($guard.lend(lending),)*)
            }
        }
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

impl<T: ?Sized> Clone for LendsFull<'_, T> {
    fn clone(&self) -> Self {
        Self {
            object: Arc::clone(&self.object),
            line: Arc::clone(&self.line),
        }
    }
}

impl<T: ?Sized> Clone for LendsRead<'_, T> {
    fn clone(&self) -> Self {
        Self {
            object: Arc::clone(&self.object),
            _scope: PhantomData,
        }
    }
}

impl<T: ?Sized> Clone for LendsNull<T> {
    fn clone(&self) -> Self {
        Self {
            object: Arc::clone(&self.object),
        }
    }
}

impl<T: ?Sized> fmt::Debug for LendsFull<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LendsFull")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for LendsRead<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LendsRead").finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for LendsNull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LendsNull").finish_non_exhaustive()
    }
}
