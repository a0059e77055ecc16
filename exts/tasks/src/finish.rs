//! Tasks that their parent waits for, with what it lends them: Eve's `finish`.
//!
//! The parent's guards stay in the frame of [`finish`] and are not used until all tasks have ended,
//! so the parent keeps each object from all others, and finds it as its own tasks have left it. A
//! lent object that may be changed has a line of its own for the children, which nobody else
//! enters. So a child waits for its siblings only, and the parent for its children: the tree of
//! tasks orders all waits, and there is no deadlock between a parent and a child.

use crate::errors::TaskError;
use crate::lent::{Guards, Lending};
use crate::request::{Launcher, Made, make};
use crate::stage::Stage;
use crate::wants::LentWants;
use fibre_core::internal::drop_quietly;
use fibre_core::{Builder, ScopedJoinHandle};
use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the tasks of a [`finish`] are spawned. A task that spawns siblings has a clone of it.
pub struct Scope<'scope, 'env: 'scope> {
    fibres: &'scope fibre_core::Scope<'scope, 'env>,
    /// Whether a task will never run.
    refused: Arc<AtomicBool>,
}

/// The right to wait for a task of a [`finish`] and to take its result. Dropping it changes nothing
/// for the task: `finish` waits for that in any case.
pub struct ScopedTask<'scope, R>(Stage<'scope, ScopedJoinHandle<'scope, R>>);

/// What is left when a task of a [`try_finish`], or its closure, has panicked.
pub struct Panicked<G> {
    /// The parent's guards. What they guard is as the tasks have left it.
    pub guards: G,
    /// What the closure has panicked with, or that one of the tasks has.
    pub payload: Box<dyn Any + Send>,
}

/// Lends the caller's guards to tasks that `body` spawns, waits for all of them, and returns the
/// guards. Blocks the fibre, or the thread if the caller is not a fibre.
///
/// A task may want only what the caller had: of [`Read`](crate::Read) to read, of
/// [`Full`](crate::Full) all, of [`Null`](crate::Null) a reference. It may borrow what lives as
/// long as the call. [`task!`](crate::task!) is the short form.
///
/// ```
/// use fibre_tasks::{Full, finish, task};
///
/// fn fib(n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = (Full::new(0), Full::new(0));
///     let (a, b) = finish((a, b), |scope, (a, b)| {
///         task!(scope, [+a, =n] { *a = fib(n - 1) });
///         task!(scope, [+b, =n] { *b = fib(n - 2) });
///     });
///     *a + *b
/// }
/// assert_eq!(fib(10), 55);
/// ```
///
/// # Panics
///
/// If `body` panics, or a task that was not joined, or a task cannot be spawned: when all have
/// ended. The guards are given back. [`try_finish`] returns them instead.
pub fn finish<'env, G, F>(guards: G, body: F) -> G
where
    G: Guards,
    F: for<'scope> FnOnce(Scope<'scope, 'env>, G::Lent<'scope>),
{
    match try_finish(guards, body) {
        Ok(guards) => guards,
        Err(Panicked { guards, payload }) => {
            drop_quietly(guards);
            resume_unwind(payload)
        }
    }
}

/// [`finish`] for a caller that goes on after a panic.
///
/// # Errors
///
/// The guards, and what the closure or a task that was not joined has panicked with; also if a task
/// could not be spawned.
pub fn try_finish<'env, G, F>(guards: G, body: F) -> Result<G, Panicked<G>>
where
    G: Guards,
    F: for<'scope> FnOnce(Scope<'scope, 'env>, G::Lent<'scope>),
{
    let refused = Arc::new(AtomicBool::new(false));
    let scoped = catch_unwind(AssertUnwindSafe(|| {
        fibre_core::scope(|fibres| {
            let scope = Scope {
                fibres,
                refused: Arc::clone(&refused),
            };
            body(scope, guards.lend(Lending::assume()));
        });
    }));
    match scoped {
        Ok(()) if !refused.load(Ordering::Acquire) => Ok(guards),
        Ok(()) => Err(Panicked {
            guards,
            payload: Box::new("a task of this finish could not be spawned"),
        }),
        Err(payload) => Err(Panicked { guards, payload }),
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a task: a fibre that runs `closure` once all that it wants is there. It runs in the
    /// parent's cluster. Blocks nothing. See [`spawn`](crate::spawn) for what holds for all tasks.
    ///
    /// # Panics
    ///
    /// If the same object is wanted twice.
    pub fn task<W, F, R>(&self, wants: W, closure: F) -> ScopedTask<'scope, R>
    where
        W: LentWants<'scope>,
        F: FnOnce(W::Guards) -> R + Send + 'scope,
        R: Send + 'scope,
    {
        match make(self.clone(), wants, closure) {
            Made::Started(Ok(handle)) => ScopedTask(Stage::Started(handle)),
            Made::Started(Err(error)) => ScopedTask(Stage::Refused(error)),
            Made::Waiting(request) => ScopedTask(Stage::Waiting(request)),
        }
    }
}

impl<'scope, 'env: 'scope> Launcher<'scope> for Scope<'scope, 'env> {
    type Handle<R: Send + 'scope> = ScopedJoinHandle<'scope, R>;

    fn launch<R, F>(&self, closure: F) -> io::Result<ScopedJoinHandle<'scope, R>>
    where
        R: Send + 'scope,
        F: FnOnce() -> R + Send + 'scope,
    {
        Builder::new().spawn_scoped(self.fibres, closure)
    }

    fn cancel<R: Send + 'scope>(handle: &ScopedJoinHandle<'scope, R>) {
        handle.cancel();
    }

    fn note_refusal(&self) {
        self.refused.store(true, Ordering::Release);
    }
}

impl<'scope, R: Send + 'scope> ScopedTask<'scope, R> {
    /// Waits for the task's end and returns its result. Blocks the fibre, or the thread if the
    /// caller is not a fibre.
    ///
    /// A task that joins a sibling which wants what it has itself waits for ever.
    ///
    /// # Errors
    ///
    /// [`TaskError`]: among others with the payload of the panic that ended the task.
    pub fn join(self) -> Result<R, TaskError> {
        self.0.started()?.join().map_err(TaskError::of)
    }

    /// Cancels the task, as [`Task::cancel`](crate::Task::cancel) does.
    pub fn cancel(&self) {
        self.0.cancel(ScopedJoinHandle::cancel);
    }
}

impl Clone for Scope<'_, '_> {
    fn clone(&self) -> Self {
        Self {
            fibres: self.fibres,
            refused: Arc::clone(&self.refused),
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for ScopedTask<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedTask").finish_non_exhaustive()
    }
}

impl<G> fmt::Debug for Panicked<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panicked").finish_non_exhaustive()
    }
}
