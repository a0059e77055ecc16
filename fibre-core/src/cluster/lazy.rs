//! Clusters that are started when first needed.

use super::builder::ClusterBuilder;
use super::handle::Cluster;
use super::room;
use crate::sys::fork;
use parking_lot::Mutex;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// A cluster that is started when first needed, and never stopped.
pub(crate) struct LazyCluster {
    cluster: OnceLock<Cluster>,
    /// Held by the caller that starts it.
    starting: Mutex<()>,
}

impl LazyCluster {
    /// A cluster that has not been started.
    pub(crate) const fn new() -> Self {
        Self {
            cluster: OnceLock::new(),
            starting: Mutex::new(()),
        }
    }

    /// Returns the cluster; the first successful `start` is the last.
    pub(crate) fn get(&self, start: impl FnOnce() -> io::Result<Cluster>) -> io::Result<&Cluster> {
        if let Some(cluster) = self.cluster.get() {
            return Ok(cluster);
        }
        let _one_at_a_time = self.starting.lock();
        if let Some(cluster) = self.cluster.get() {
            return Ok(cluster);
        }
        let cluster = start()?;
        cluster.0.permanent.store(true, Ordering::Relaxed);
        Ok(self.cluster.get_or_init(|| cluster))
    }
}

impl Cluster {
    /// The default cluster, started when first asked for, and never stopped.
    ///
    /// # Errors
    ///
    /// When its threads cannot be started, or the environment says nonsense (see
    /// [`build`](ClusterBuilder::build)); the next call tries again.
    pub fn default_cluster() -> io::Result<&'static Self> {
        Self::default_cluster_or(Self::builder)
    }

    /// The default cluster; if it has not been started so far, it is started as `choose` says.
    ///
    /// ```
    /// use fibre::Cluster;
    ///
    /// let cluster = Cluster::default_cluster_or(|| Cluster::builder().name("worker"))?;
    /// assert_eq!(cluster.name(), "worker");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When its threads cannot be started, or the environment says nonsense (see
    /// [`build`](ClusterBuilder::build)); the next call tries again.
    pub fn default_cluster_or(
        choose: impl FnOnce() -> ClusterBuilder,
    ) -> io::Result<&'static Self> {
        static DEFAULT: LazyCluster = LazyCluster::new();
        fork::refuse_if_forked()?;
        DEFAULT.get(|| {
            // Before anything is allocated: `build` looks too, but a builder takes memory already.
            room::look(0)?;
            choose().build()
        })
    }
}
