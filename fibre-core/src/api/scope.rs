//! Fibres that may borrow from the one that spawns them.
//!
//! The children are counted (see [`crate::spawn::scope_count`]), and so is the body while it
//! runs. The body is run under `catch_unwind`, so a panic in it waits for the
//! children before it goes on.

use crate::cluster::try_caller_place;
use crate::config::environment;
use crate::fibre::Attributes;
use crate::park::{Wait, Waiter, exemptions};
use crate::spawn::join::{JoinHandle, Result};
use crate::spawn::scope_count::{Children, ChildrenRef};
use crate::spawn::task::launch;
use crate::sync::unwind_guard::drop_quietly;
use crate::wait::cancelled::Cancelled;
use crate::wait::limit::Limit;
use crate::wait::wait_object::{WaitKind, WaitObject};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Where scoped fibres are spawned. See [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// The count, in the frame of [`scope`].
    children: ChildrenRef,
    /// Invariant in both, as `std::thread::Scope`.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: see `ChildrenRef`; spawning is for any thread.
unsafe impl Sync for Scope<'_, '_> {}

/// The right to wait for a scoped fibre and to take its result.
pub struct ScopedJoinHandle<'scope, T> {
    handle: JoinHandle<T>,
    _scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the fibre's end and returns its result. Blocks the fibre (or thread).
    ///
    /// # Errors
    ///
    /// The payload of the panic that ended it.
    pub fn join(self) -> Result<T> {
        self.handle.join()
    }

    /// [`JoinHandle::join_timeout`] for a scoped fibre.
    ///
    /// # Errors
    ///
    /// The handle, if the time passed, or the calling fibre is cancelled.
    pub fn join_timeout(self, timeout: Duration) -> std::result::Result<Result<T>, Self> {
        self.handle.join_timeout(timeout).map_err(Self::new)
    }

    /// [`JoinHandle::join_within`] for a scoped fibre.
    ///
    /// # Errors
    ///
    /// The handle, if the limit came first.
    #[inline]
    pub fn join_within(self, limit: impl Into<Limit>) -> std::result::Result<Result<T>, Self> {
        self.handle.join_within(limit).map_err(Self::new)
    }

    /// Wraps a plain handle in one of the scope.
    fn new(handle: JoinHandle<T>) -> Self {
        Self {
            handle,
            _scope: PhantomData,
        }
    }

    /// Cancels the fibre, as [`JoinHandle::cancel`] does. Blocks nothing.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Whether the fibre has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.describe("ScopedJoinHandle", f)
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a fibre that may borrow what lives as long as the scope. It runs in
    /// the caller's cluster, or in the default one.
    ///
    /// # Panics
    ///
    /// As [`spawn`](crate::spawn()).
    pub fn spawn<F, T>(&'scope self, closure: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        match self.try_spawn(Attributes::default(), closure) {
            Ok(handle) => handle,
            Err(error) => {
                environment::end_on_nonsense(&error);
                panic!("cannot spawn a fibre: {error}")
            }
        }
    }

    /// Spawns for [`Builder::spawn_scoped`](crate::Builder::spawn_scoped).
    pub(crate) fn try_spawn<F, T>(
        &'scope self,
        attributes: Attributes,
        closure: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: the scope is open, so its frame is there.
        let counted = unsafe { Count::new(self.children) };
        // SAFETY: the scope does not end before the child has ended and told it.
        let handle = try_caller_place(|place| unsafe {
            launch(place, attributes, Some(self.children), closure)
        })??;
        // The fibre itself will say that it has ended.
        std::mem::forget(counted);
        Ok(ScopedJoinHandle::new(handle))
    }
}

/// A fibre that has been counted; counted down again if it cannot be launched.
struct Count(ChildrenRef);

impl Count {
    /// Counts the fibre.
    ///
    /// # Safety
    ///
    /// As for [`ChildrenRef::add`].
    unsafe fn new(children: ChildrenRef) -> Self {
        // SAFETY: passed on.
        unsafe { children.add() };
        Self(children)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        // SAFETY: counted in `new`; the launch has failed, or this would be forgotten.
        unsafe { self.0.child_ended() };
    }
}

/// Runs `body`, which can spawn fibres that borrow from the caller; returns when all of them have
/// ended. Blocks the fibre, or the thread if the caller is not a fibre.
///
/// ```
/// let words = ["a", "bc", "def"];
/// let total: usize = fibre::scope(|scope| {
///     let lengths: Vec<_> = words.iter().map(|word| scope.spawn(|| word.len())).collect();
///     lengths.into_iter().map(|length| length.join().unwrap()).sum()
/// });
/// assert_eq!(total, 6);
/// ```
///
/// # Panics
///
/// With the panic of `body`, after the fibres have ended; or if a fibre that was
/// not joined has panicked.
#[doc(alias("thread::scope", "nursery"))]
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let children = Children::new(exemptions());
    let scope = Scope {
        children: children.as_ref(),
        _scope: PhantomData,
        _env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    children.one_ended();
    let awaited = WaitObject::placeless(WaitKind::Scope);
    let publish = |waiter: &Waiter, _| children.publish(waiter);
    // SAFETY: a completion takes its waiter out before it claims it.
    let _ = unsafe { Wait::closed(awaited).park(publish, |_| {}) };
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(value) if children.have_panicked() => {
            // Its destructor may panic, and must not do so while this panic unwinds.
            drop_quietly(value);
            panic!("a fibre of this scope has panicked")
        }
        Ok(value) if children.have_been_unwound() => {
            // Their work has not been done, and the caller is next.
            drop_quietly(value);
            resume_unwind(Box::new(Cancelled))
        }
        Ok(value) => value,
    }
}
