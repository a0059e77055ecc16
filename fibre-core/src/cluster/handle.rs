//! The handle that programs have.

use super::builder::ClusterBuilder;
use super::running::Running;
use crate::fibre::Attributes;
use crate::processor::Processor;
use crate::spawn::{JoinHandle, Place, launch};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A scheduling domain: processors that share work. Cloning gives another handle.
///
/// When the last handle is dropped, the processors end as soon as no fibre is left;
/// nobody waits for that. [`Cluster::stop`] does.
///
/// ```
/// let cluster = fibre_core::Cluster::builder().processors(2).build()?;
/// let answer = cluster.spawn(|| 6 * 7).join().unwrap();
/// assert_eq!(answer, 42);
/// cluster.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
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
    /// If the cluster has stopped, which takes a clone of a handle that
    /// [`stop`](Self::stop) was called on.
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

    /// See [`Builder::spawn_in`](crate::Builder::spawn_in).
    pub(crate) fn try_spawn<F, T>(
        &self,
        attributes: Attributes,
        closure: F,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: everything is 'static.
        unsafe { self.try_spawn_unchecked(attributes, closure) }
    }

    /// [`try_spawn`](Self::try_spawn) without lifetimes.
    ///
    /// # Safety
    ///
    /// The caller joins the fibre before anything that it borrows ends.
    pub(crate) unsafe fn try_spawn_unchecked<F, T>(
        &self,
        attributes: Attributes,
        closure: F,
    ) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let domain = &self.0.domain;
        let processor = Processor::current();
        // SAFETY: not null means that this thread is that processor.
        let place = match unsafe { processor.as_ref() } {
            Some(here) if Arc::ptr_eq(here.domain(), domain) => Place::Here(here),
            _ => Place::There(domain),
        };
        // SAFETY: passed on.
        let handle = unsafe { launch(&place, attributes, None, closure) };
        handle.ok_or_else(|| io::Error::other("the cluster has stopped"))
    }

    /// How many processors it has.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.0.domain.processors()
    }

    /// Fibres that have been spawned here and have not ended.
    #[must_use]
    pub fn live(&self) -> usize {
        usize::try_from(self.0.domain.live()).unwrap_or(usize::MAX)
    }

    /// Waits until all fibres have ended, and ends the processors. Blocks the
    /// *thread*, also when called by a fibre of another cluster.
    ///
    /// # Panics
    ///
    /// If called by a fibre of this cluster: it would wait for itself. And if this is the
    /// default cluster, on which others rely.
    pub fn stop(self) {
        let processor = Processor::current();
        // SAFETY: not null means that this thread is that processor.
        let inside = unsafe { processor.as_ref() }
            .is_some_and(|here| Arc::ptr_eq(here.domain(), &self.0.domain));
        assert!(
            !inside,
            "a cluster cannot be stopped by one of its own fibres"
        );
        assert!(
            !self.0.permanent.load(Ordering::Relaxed),
            "the default cluster cannot be stopped"
        );
        self.0.domain.stop();
        // Whoever else calls this meanwhile waits for the lock, and so for the threads.
        for thread in self.0.threads.lock().drain(..) {
            // A processor that panics aborts the process.
            let _ = thread.join();
        }
    }
}

impl ClusterBuilder {
    /// Starts the cluster: all of its processors, or none.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub fn build(self) -> io::Result<Cluster> {
        self.start().map(|running| Cluster(Arc::new(running)))
    }
}
