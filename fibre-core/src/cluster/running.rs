//! The state that the handles of a cluster share.

use super::cluster_threads::ClusterThreads;
use super::stop_listeners::StopListeners;
use crate::config::settings::Settings;
use crate::fibre::HookList;
use crate::park::{Shield, Wait, Waiter};
use crate::processor::Processor;
use crate::scheduler::control::ProcessorPhase;
use crate::scheduler::domain::Domain;
use crate::topology::Places;
use crate::wait::limit::Limit;
use crate::wait::wait_object::{WaitKind, WaitObject};
use crate::wait::waiter::Outcome;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The state that the handles share.
pub(super) struct Running {
    /// The state that the processors share.
    pub domain: Arc<Domain>,
    /// The processors' threads.
    pub cluster_threads: Arc<ClusterThreads>,
    /// Whether the runtime itself relies on the cluster, so that no program may stop it.
    pub permanent: AtomicBool,
    /// What is told when the cluster is stopped.
    pub stop_listeners: StopListeners,
}

impl Running {
    /// A cluster without processors.
    pub(super) fn new(settings: Settings, places: Places, hooks: HookList) -> Self {
        let mut domain = Domain::new(0, settings);
        domain.hooks = hooks;
        let domain = Arc::new(domain);
        Self {
            cluster_threads: Arc::new(ClusterThreads::new(Arc::clone(&domain), places)),
            domain,
            permanent: AtomicBool::new(false),
            stop_listeners: StopListeners::default(),
        }
    }

    /// Closes the domain; from then on only spare processors are added.
    pub(super) fn close(&self) {
        let _nobody_adds = self.cluster_threads.growing();
        self.domain.close();
    }

    /// Orders that all fibres be left where they are; from then on no processor is added at all.
    pub(super) fn abandon(&self) {
        let _nobody_adds = self.cluster_threads.growing();
        self.domain.control.abandon();
        self.domain.unpark_all();
    }

    /// Waits until all processors have reached `standing`. `false`: the deadline passed first, or
    /// the calling fibre was cancelled, which it notices only if there is a deadline. Blocks the
    /// fibre, or the thread if the caller is not a fibre.
    pub(super) fn wait_for(&self, standing: ProcessorPhase, deadline: Option<Instant>) -> bool {
        let control = &self.domain.control;
        // A caller that has been cancelled itself has limits all the same.
        let _shield = Shield::raise();
        let limit = deadline.map_or(Limit::None, Limit::Deadline);
        let awaited = WaitObject::placeless(WaitKind::Cluster);
        let publish = |waiter: &Waiter, _| control.publish(standing, waiter);
        let withdraw = |waiter: &Waiter| control.withdraw(waiter);
        // SAFETY: the waiter is claimed under the lock of the list that it is in, and taken out by
        // that or by `withdraw`.
        let outcome = unsafe { Wait::new(awaited, limit).park(publish, withdraw) };
        outcome != Outcome::TimedOut
    }

    /// Whether the caller is a fibre of this cluster.
    pub(super) fn is_callers(&self) -> bool {
        Processor::here(|here| Arc::ptr_eq(here.domain(), &self.domain)) == Some(true)
    }

    /// The kernel's numbers of the processors' threads.
    pub(super) fn thread_ids(&self) -> Vec<i32> {
        self.cluster_threads.thread_ids().collect()
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("name", &self.domain.settings.name)
            .finish_non_exhaustive()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.domain.close();
    }
}
