//! What the actors that live together share: their cluster, their clock, and how many messages one
//! of them handles before it is another's turn.

use crate::clock::Clock;
use crate::registry::Registry;
use fibre_core::Cluster;
use fibre_core::internal::{StopListener, listen_for_stop};
use std::io;
use std::sync::{Arc, LazyLock, Weak};

/// How many messages an activation handles, unless the user says otherwise. Source: the batch
/// threshold of Gaud et al., "Efficient workstealing for multicore event-driven systems" (2010).
pub(crate) const BATCH: u32 = 10;

/// What the actors of one `Actors` share.
#[derive(Debug)]
pub(crate) struct System {
    /// The cluster of the actors; `None` for the one of their spawner.
    cluster: Option<Cluster>,
    /// Whether the cluster was made for the actors, and is stopped with them.
    pub(crate) owns_cluster: bool,
    /// How many messages an activation handles.
    pub(crate) batch: u32,
    /// The timers.
    pub(crate) clock: Arc<Clock>,
    /// The actors that have not ended; `None` if nobody stops them all.
    pub(crate) registry: Option<Registry>,
}

impl System {
    /// The system of actors in this cluster. When that is stopped, no timer keeps it from ending,
    /// and actors that are idle end after it.
    pub(crate) fn new(cluster: Cluster, owns_cluster: bool, batch: u32) -> Arc<Self> {
        let system = Arc::new(Self {
            cluster: Some(cluster.clone()),
            owns_cluster,
            batch: batch.max(1),
            clock: Arc::new(Clock::new()),
            registry: Some(Registry::new()),
        });
        let stop_listener: Weak<Self> = Arc::downgrade(&system);
        if !listen_for_stop(&cluster, stop_listener) {
            system.clock.close();
        }
        system
    }

    /// The system of actors that were spawned without one.
    pub(crate) fn loose() -> &'static Arc<Self> {
        static LOOSE: LazyLock<Arc<System>> = LazyLock::new(|| {
            Arc::new(System {
                cluster: None,
                owns_cluster: false,
                batch: BATCH,
                clock: Arc::new(Clock::new()),
                registry: None,
            })
        });
        &LOOSE
    }

    /// The cluster of the actors; `None` for the one of their spawner.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// The cluster that timers run in: the default one, if actors may be in any.
    pub(crate) fn cluster_of_clock(&self) -> io::Result<&Cluster> {
        match &self.cluster {
            Some(cluster) => Ok(cluster),
            None => Cluster::default_cluster(),
        }
    }
}

impl StopListener for System {
    fn cluster_stops(&self) {
        self.clock.close();
    }

    fn cluster_has_stopped(&self) {
        if let Some(registry) = &self.registry {
            registry.for_each(|member| member.close());
        }
    }
}
