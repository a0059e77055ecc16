//! The handle that programs hold.

use super::builder::ClusterBuilder;
use super::register;
use super::running::Running;
use crate::fibre::Attributes;
use crate::processor::Processor;
use crate::spawn::join::JoinHandle;
use crate::spawn::task::{SpawnTarget, launch_static};
use crate::sys::fork;
use std::fmt;
use std::io;
use std::sync::Arc;

/// A scheduling domain: processors that share work. Cloning gives another handle.
///
/// When the last handle is dropped, the processors end as soon as no fibre is left;
/// nobody waits for that. [`Cluster::stop`] does.
///
/// ```
/// let cluster = fibre::Cluster::builder().processors(2).build()?;
/// let answer = cluster.spawn(|| 6 * 7).join().unwrap();
/// assert_eq!(answer, 42);
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(alias("Runtime", "executor", "scheduler"))]
#[derive(Clone)]
pub struct Cluster(pub(super) Arc<Running>);

impl Cluster {
    /// A builder with default values.
    #[must_use]
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder::from_environment()
    }

    /// Spawns a fibre here. Any thread, any fibre.
    ///
    /// # Panics
    ///
    /// If the cluster has been stopped by a clone of this handle, and the caller is not one of the
    /// fibres that are left.
    pub fn spawn<F, T>(&self, closure: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match self.try_spawn(Attributes::default(), closure) {
            Ok(handle) => handle,
            Err(error) => panic!("cannot spawn a fibre: {error}"),
        }
    }

    /// Spawns for [`Builder::spawn_in`](crate::Builder::spawn_in).
    pub(crate) fn try_spawn<F, T>(
        &self,
        attributes: Attributes,
        closure: F,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.with_place(|place| {
            place.check(&attributes)?;
            Ok(launch_static(place, attributes, closure)?)
        })?
    }

    /// Runs `f` with the place of fibres that are spawned here.
    ///
    /// # Errors
    ///
    /// In a forked child.
    pub(crate) fn with_place<R>(&self, f: impl FnOnce(&SpawnTarget<'_>) -> R) -> io::Result<R> {
        let domain = &self.0.domain;
        let processor = Processor::current();
        // SAFETY: this thread is that processor, if it is one. `f` may drop what blocks, but does
        // not use the processor after that.
        Ok(match unsafe { processor.as_ref() } {
            Some(here) if Arc::ptr_eq(here.domain(), domain) => f(&SpawnTarget::Here(here)),
            _ => {
                fork::refuse_if_forked()?;
                f(&SpawnTarget::There(domain))
            }
        })
    }

    /// Whether the caller is a fibre of this cluster.
    #[must_use]
    pub fn is_callers(&self) -> bool {
        self.0.is_callers()
    }

    /// How many processors it has.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.0.domain.regular()
    }

    /// Adds processors, all of them or none; returns how many there are then. They help at once
    /// with fibres that have not started. Fibres that wait, or are ready, on a cluster's only
    /// processor run there once more, even if started ones move. Blocks the thread until the new
    /// threads have been made.
    ///
    /// ```
    /// let cluster = fibre::Cluster::builder().processors(1).build()?;
    /// assert_eq!(cluster.add_processors(2)?, 3);
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no room for so many, which
    /// [`max_processors`](ClusterBuilder::max_processors) makes; when a thread cannot be
    /// started; when the cluster has been stopped.
    pub fn add_processors(&self, more: usize) -> io::Result<usize> {
        self.0.cluster_threads.add_processors(more)?;
        Ok(self.processors())
    }

    /// Whether its fibres have thread-locals of their own.
    ///
    /// ```
    /// let cluster = fibre::Cluster::builder().build()?;
    /// assert!(!cluster.has_own_thread_locals());
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn has_own_thread_locals(&self) -> bool {
        self.0.domain.settings.own_thread_locals
    }

    /// The name of the cluster.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.domain.settings.name
    }

    /// The kernel's numbers of the processors' threads (as `gettid` gives them), by
    /// processor.
    #[must_use]
    pub fn thread_ids(&self) -> Vec<i32> {
        self.0.thread_ids()
    }

    /// Fibres that have been spawned here and have not ended. One that has just been
    /// joined may be counted for another moment.
    #[must_use]
    pub fn live(&self) -> usize {
        usize::try_from(self.0.domain.live()).unwrap_or(usize::MAX)
    }
}

impl ClusterBuilder {
    /// Starts the cluster: all of its processors, or none.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started; [`InvalidInput`](io::ErrorKind::InvalidInput) for more
    /// processors than there can be, and if an environment variable of the runtime has a value that
    /// it cannot have: the error names it, its value, and what it may be.
    pub fn build(self) -> io::Result<Cluster> {
        let running = Arc::new(self.start()?);
        register::add(&running);
        Ok(Cluster(running))
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.name())
            .field("processors", &self.processors())
            .field("fibres", &self.live())
            .finish_non_exhaustive()
    }
}
