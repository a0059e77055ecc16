//! Tasks of their own, and the right to wait for one.

use crate::errors::TaskError;
use crate::request::{Launcher, Made, Withdraw, make, make_asking};
use crate::stage::Stage;
use crate::system::{Acquisition, System};
use crate::wants::Wants;
use fibre_core::{Builder, JoinHandle, Limit};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The right to wait for a task and to take its result. Dropping it changes nothing for the task.
#[must_use = "a result of `spawn` that is dropped says that nobody waits for the task"]
pub struct Task<R>(Stage<'static, JoinHandle<R>>);

/// Spawns a task: a fibre that runs `closure` once all that it wants is there, and gives back what
/// it has at its end. It runs in the caller's cluster, or in the default one; one that has to wait
/// runs in the cluster of the task that it was waiting for. Tasks that are to stay in a cluster are
/// spawned by [`Tasks`](crate::Tasks). Blocks nothing.
///
/// Tasks that want the same object get it in the order they were spawned. Those that follow each
/// other and only read it have it together. A task that waits is no fibre yet: it has no stack.
/// [`task!`](crate::task!) is the short form.
///
/// A task may block as any fibre does. What it has stays with it meanwhile, and all that want it
/// wait: **give back what is not needed before you block**, by dropping the guard.
///
/// ```
/// use fibre_tasks::{Shared, spawn};
///
/// let count = Shared::new(0);
/// for _ in 0..100 {
///     drop(spawn(count.full(), |mut count| *count += 1));
/// }
/// assert_eq!(spawn(count.read(), |count| *count).join()?, 100);
/// # Ok::<(), fibre_tasks::TaskError>(())
/// ```
///
/// # Panics
///
/// If the same object is wanted twice.
pub fn spawn<W, F, R>(wants: W, closure: F) -> Task<R>
where
    W: Wants<'static>,
    F: FnOnce(W::Guards) -> R + Send + 'static,
    R: Send + 'static,
{
    spawn_in(System::loose(), wants, closure)
}

/// Spawns a task in a system.
pub(crate) fn spawn_in<W, F, R>(system: &Arc<System>, wants: W, closure: F) -> Task<R>
where
    W: Wants<'static>,
    F: FnOnce(W::Guards) -> R + Send + 'static,
    R: Send + 'static,
{
    if system.acquisition == Acquisition::Requeue {
        let asking = make_asking(system, wants, closure);
        return Task(asking.map_or_else(Stage::Refused, Stage::Started));
    }
    match make(Arc::clone(system), wants, closure) {
        Made::Started(Ok(handle)) => Task(Stage::Started(handle)),
        Made::Started(Err(error)) => Task(Stage::Refused(error)),
        Made::Waiting(request) => {
            let withdraw: Arc<dyn Withdraw> = request.clone();
            system.add_waiting(withdraw);
            Task(Stage::Waiting(request))
        }
    }
}

impl Launcher<'static> for Arc<System> {
    type Handle<R: Send + 'static> = JoinHandle<R>;

    fn launch<R, F>(&self, closure: F) -> io::Result<JoinHandle<R>>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        match &self.cluster {
            Some(cluster) => Builder::new().spawn_in(cluster, closure),
            None => Builder::new().spawn(closure),
        }
    }

    fn cancel<R: Send + 'static>(handle: &JoinHandle<R>) {
        handle.cancel();
    }
}

impl<R: Send + 'static> Task<R> {
    /// Waits for the task's end and returns its result. Blocks the fibre, or the thread if the
    /// caller is not a fibre.
    ///
    /// A caller that has a guard of an object which the task wants waits for ever.
    ///
    /// # Errors
    ///
    /// [`TaskError`]: among others with the payload of the panic that ended the task.
    pub fn join(self) -> Result<R, TaskError> {
        self.0.started()?.join().map_err(TaskError::of)
    }

    /// [`join`](Self::join), for `timeout` at most, or until the caller is cancelled.
    ///
    /// ```
    /// use fibre_tasks::{Shared, acquire, task};
    /// use std::time::Duration;
    ///
    /// let shared = Shared::new(7);
    /// let held = acquire(shared.full());
    /// let reads = task!([shared] { *shared });
    /// let reads = reads.join_timeout(Duration::from_millis(1)).unwrap_err();
    /// drop(held);
    /// assert_eq!(reads.join()?, 7);
    /// # Ok::<(), fibre_tasks::TaskError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The handle, if the task has not ended by then.
    pub fn join_timeout(self, timeout: Duration) -> Result<Result<R, TaskError>, Self> {
        self.join_within(timeout)
    }

    /// [`join`](Self::join), within a limit: a time, a deadline, or the caller's cancellation.
    ///
    /// # Errors
    ///
    /// The handle, if the limit came first.
    pub fn join_within(self, limit: impl Into<Limit>) -> Result<Result<R, TaskError>, Self> {
        let limit = limit.into();
        let started = match self.0 {
            Stage::Started(handle) => handle,
            Stage::Refused(error) => return Ok(Err(TaskError::Refused(error))),
            Stage::Waiting(request) => {
                if request.slot().settled.wait_within(limit).is_err() {
                    return Err(Self(Stage::Waiting(request)));
                }
                match request.slot().take().unwrap_or(Err(TaskError::Cancelled)) {
                    Ok(handle) => handle,
                    Err(error) => return Ok(Err(error)),
                }
            }
        };
        match started.join_within(limit) {
            Ok(result) => Ok(result.map_err(TaskError::of)),
            Err(handle) => Err(Self(Stage::Started(handle))),
        }
    }

    /// Cancels the task. One that waits for its permissions never runs, and leaves its place to
    /// those behind it. One that runs notices as any [fibre](JoinHandle::cancel) does. Blocks
    /// nothing.
    pub fn cancel(&self) {
        self.0.cancel(JoinHandle::cancel);
    }

    /// Whether the task has ended, or will never run.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Stage::Started(handle) => handle.is_finished(),
            Stage::Refused(_) => true,
            Stage::Waiting(request) => request.slot().look(|outcome| match outcome {
                Some(Ok(handle)) => handle.is_finished(),
                Some(Err(_)) => true,
                None => false,
            }),
        }
    }
}

impl<R> fmt::Debug for Task<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Stage::Started(handle) => f.debug_tuple("Task").field(&handle.id()).finish(),
            Stage::Waiting(_) => f.write_str("Task(waiting)"),
            Stage::Refused(error) => f.debug_tuple("Task").field(error).finish(),
        }
    }
}
