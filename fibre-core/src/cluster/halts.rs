//! How layers above give the processors of a cluster another way to sleep.

use super::handle::Cluster;
use crate::commons::Commons;
use crate::domain::Domain;
use crate::parker::Halt;
use crate::processor::Processor;
use std::io;
use std::sync::{Arc, Weak};

/// The processors of the caller's cluster, as far as layers above give them another way to
/// sleep. See [`with_halts`].
#[derive(Debug, Clone, Copy)]
pub struct Halts<'a> {
    /// The cluster's.
    domain: &'a Arc<Domain>,
    /// The caller's processor.
    wanted: usize,
}

/// Wakes processors of a cluster that have nothing to do. Keeps none of it going.
#[derive(Debug, Clone)]
pub struct Bell(Weak<Commons>);

/// Calls `f` with the halts of the caller's cluster; on a thread that is no processor, of the
/// default cluster, with the processor chosen by `spread`.
///
/// For layers above that want to hear of events: they find their own type behind the
/// trait object by downcasting it to [`std::any::Any`].
///
/// # Errors
///
/// Those of `f`; and when the default cluster cannot be started.
pub fn with_halts<R>(spread: usize, f: impl FnOnce(Halts<'_>) -> io::Result<R>) -> io::Result<R> {
    let processor = Processor::current();
    // SAFETY: not null means that this thread is that processor.
    let (domain, wanted) = match unsafe { processor.as_ref() } {
        Some(here) => (here.domain(), here.index()),
        None => {
            let domain = &Cluster::default_cluster()?.0.domain;
            (domain, spread % domain.processors())
        }
    };
    f(Halts { domain, wanted })
}

/// What a layer above chose for the caller's cluster ([`ClusterBuilder::choices_above`]); zero
/// on a thread that is no processor.
///
/// [`ClusterBuilder::choices_above`]: super::ClusterBuilder::choices_above
#[inline]
#[must_use]
pub fn choices_above() -> u32 {
    let processor = Processor::current();
    // SAFETY: not null means that this thread is that processor.
    unsafe { processor.as_ref() }.map_or(0, |here| here.domain().settings.above)
}

impl Halts<'_> {
    /// What a layer above chose for the cluster.
    #[must_use]
    pub fn choices_above(&self) -> u32 {
        self.domain.settings.above
    }

    /// What its processors' threads are called, but for their numbers.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.domain.settings.name
    }

    /// What wakes its processors.
    #[must_use]
    pub fn bell(&self) -> Bell {
        Bell(Arc::downgrade(&self.domain.commons))
    }

    /// The halt of the caller's processor, where each has its own.
    ///
    /// When a cluster is first asked, all of its processors get one by `make`, because later
    /// there may be no descriptors left for it. A processor that got none borrows another's.
    ///
    /// # Errors
    ///
    /// Those of `make`, if no processor got one.
    pub fn own(&self, make: impl Fn() -> io::Result<Arc<dyn Halt>>) -> io::Result<Arc<dyn Halt>> {
        let queues = self.domain.queues();
        let mut error = None;
        if queues[self.wanted].halt().is_none() {
            for queue in queues.iter().filter(|queue| queue.halt().is_none()) {
                match make() {
                    Ok(halt) => {
                        queue.install_halt(halt);
                    }
                    Err(refused) => error = Some(refused),
                }
            }
        }
        let nearest = queues[self.wanted..]
            .iter()
            .chain(&queues[..self.wanted])
            .find_map(|queue| queue.halt());
        match nearest {
            Some(halt) => Ok(Arc::clone(halt)),
            None => Err(error.unwrap_or_else(|| io::Error::other("no processor can sleep"))),
        }
    }

    /// The halt that all processors have in common, by `make` when the cluster is first asked.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn common(
        &self,
        make: impl FnOnce() -> io::Result<Arc<dyn Halt>>,
    ) -> io::Result<Arc<dyn Halt>> {
        let queue = &self.domain.queues()[self.wanted];
        if let Some(halt) = queue.halt() {
            return Ok(Arc::clone(halt));
        }
        let _one_at_a_time = self.domain.installing.lock();
        if let Some(halt) = queue.halt() {
            return Ok(Arc::clone(halt));
        }
        let halt = make()?;
        self.domain.commons.install_one_halt(&halt);
        Ok(halt)
    }
}

impl Bell {
    /// Wakes one of those who have nothing to do, if there are any. Any thread.
    pub fn ring(&self) {
        if let Some(commons) = self.0.upgrade() {
            commons.wake_next();
        }
    }

    /// Whether one has nothing to do at this moment.
    #[must_use]
    pub fn is_any_idle(&self) -> bool {
        let commons = self.0.upgrade();
        commons.is_some_and(|commons| commons.idle.is_any())
    }
}
