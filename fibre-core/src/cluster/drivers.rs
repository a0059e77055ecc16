//! How layers above give a cluster's processors another way to sleep.

use super::handle::Cluster;
use crate::idle::parker::Driver;
use crate::idle::shared_queues::SharedQueues;
use crate::processor::Processor;
use crate::scheduler::domain::Domain;
use std::io;
use std::sync::{Arc, Weak};

/// The processors of the caller's cluster, for layers above that give them another way to sleep.
/// See [`with_drivers`].
#[derive(Debug, Clone, Copy)]
pub struct Drivers<'a> {
    /// The domain of the cluster.
    domain: &'a Arc<Domain>,
    /// The caller's processor.
    wanted: usize,
}

/// Wakes processors of a cluster that have nothing to run. Keeps no cluster alive.
#[derive(Debug, Clone)]
pub struct IdleWaker(Weak<SharedQueues>);

/// Calls `f` with the drivers of the caller's cluster; on a thread that is no processor, of the
/// default cluster, with the processor chosen by `spread`.
///
/// For layers above that want to hear of events: they find what is theirs behind the trait object
/// by [`Driver::of_layer_above`].
///
/// # Errors
///
/// Those of `f`; and when the default cluster cannot be started.
pub fn with_drivers<R>(
    spread: usize,
    f: impl FnOnce(Drivers<'_>) -> io::Result<R>,
) -> io::Result<R> {
    let processor = Processor::current();
    // SAFETY: this thread is that processor, if it is one. `f` may drop what blocks, but does not
    // use the processor after that.
    let (domain, wanted) = match unsafe { processor.as_ref() } {
        Some(here) => (here.domain(), here.index()),
        None => {
            let domain = &Cluster::default_cluster()?.0.domain;
            (domain, spread % domain.regular())
        }
    };
    f(Drivers { domain, wanted })
}

/// What a layer above chose for the caller's cluster ([`ClusterBuilder::io_config`]); zero
/// on a thread that is no processor.
///
/// [`ClusterBuilder::io_config`]: super::ClusterBuilder::io_config
#[inline]
#[must_use]
pub fn io_config() -> u32 {
    Processor::here(|here| here.domain().settings.above).unwrap_or(0)
}

impl Drivers<'_> {
    /// The value that a layer above chose for the cluster.
    #[must_use]
    pub fn io_config(&self) -> u32 {
        self.domain.settings.above
    }

    /// The name of its processors' threads, without their numbers.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.domain.settings.name
    }

    /// The waker that wakes its processors.
    #[must_use]
    pub fn idle_waker(&self) -> IdleWaker {
        IdleWaker(Arc::downgrade(&self.domain.shared_queues))
    }

    /// The driver of the caller's processor, where each has its own.
    ///
    /// When a cluster is first asked, all of its processors get one by `make`, because later
    /// there may be no descriptors left for it. A processor that got none borrows another's.
    ///
    /// # Errors
    ///
    /// Those of `make`, if no processor got one.
    pub fn own(
        &self,
        make: impl Fn() -> io::Result<Arc<dyn Driver>>,
    ) -> io::Result<Arc<dyn Driver>> {
        let queues = self.domain.queues();
        let mut error = None;
        if queues[self.wanted].driver().is_none() {
            for queue in queues.iter().filter(|queue| queue.driver().is_none()) {
                match make() {
                    Ok(driver) => {
                        queue.install_driver(driver);
                    }
                    Err(refused) => error = Some(refused),
                }
            }
        }
        let nearest = queues[self.wanted..]
            .iter()
            .chain(&queues[..self.wanted])
            .find_map(|queue| queue.driver());
        match nearest {
            Some(driver) => Ok(Arc::clone(driver)),
            None => Err(error.unwrap_or_else(|| io::Error::other("no processor can sleep"))),
        }
    }

    /// The driver that all processors have in common, made by `make` when the cluster is first
    /// asked.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn common(
        &self,
        make: impl FnOnce() -> io::Result<Arc<dyn Driver>>,
    ) -> io::Result<Arc<dyn Driver>> {
        let queue = &self.domain.queues()[self.wanted];
        if let Some(driver) = queue.driver() {
            return Ok(Arc::clone(driver));
        }
        let _one_at_a_time = self.domain.drivers.installing.lock();
        if let Some(driver) = queue.driver() {
            return Ok(Arc::clone(driver));
        }
        let driver = make()?;
        self.domain.shared_queues.install_one_driver(&driver);
        Ok(driver)
    }
}

impl IdleWaker {
    /// Wakes a processor that has nothing to run, if there is one. Any thread.
    pub fn ring(&self) {
        if let Some(shared_queues) = self.0.upgrade() {
            shared_queues.wake_next();
        }
    }

    /// Whether a processor has nothing to run at this moment.
    #[must_use]
    pub fn is_any_idle(&self) -> bool {
        let shared_queues = self.0.upgrade();
        shared_queues.is_some_and(|shared_queues| shared_queues.idle.is_any())
    }
}
