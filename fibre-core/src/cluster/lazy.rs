//! Clusters that are started when first needed.
//!
//! A closure of the program may choose how such a cluster starts. It is called before anything is
//! locked, so it may wait; a caller that needs the cluster meanwhile starts it, as if it had come
//! first. Only the closure itself cannot ask for the cluster.

use super::builder::ClusterBuilder;
use super::handle::Cluster;
use super::room;
use crate::fibre::ControlBlock;
use crate::processor::with_running;
use crate::sync::thread_mutex::Mutex;
use crate::sys::{current, fork};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// A cluster that is started when first needed, and never stopped.
pub(crate) struct LazyCluster {
    cluster: OnceLock<Cluster>,
    /// Held by the caller that starts it.
    starting: Mutex<()>,
    /// The numbers of the fibres and threads that choose how it is started.
    choosing: Mutex<Vec<u64>>,
}

impl LazyCluster {
    /// A cluster that has not been started.
    pub(crate) const fn new() -> Self {
        Self {
            cluster: OnceLock::new(),
            starting: Mutex::new(()),
            choosing: Mutex::new(Vec::new()),
        }
    }

    /// Returns the cluster, which the first caller that can starts as `choose` says.
    ///
    /// # Panics
    ///
    /// In a `choose` of the same cluster.
    pub(crate) fn get(
        &self,
        choose: impl FnOnce() -> io::Result<ClusterBuilder>,
    ) -> io::Result<&Cluster> {
        if let Some(cluster) = self.cluster.get() {
            return Ok(cluster);
        }
        let builder = self.choose(choose)?;
        let _one_at_a_time = self.starting.lock();
        if let Some(cluster) = self.cluster.get() {
            return Ok(cluster);
        }
        let cluster = builder.build()?;
        cluster.0.permanent.store(true, Ordering::Relaxed);
        Ok(self.cluster.get_or_init(|| cluster))
    }

    /// Calls the closure. The caller does not come here again in it.
    fn choose(
        &self,
        choose: impl FnOnce() -> io::Result<ClusterBuilder>,
    ) -> io::Result<ClusterBuilder> {
        let caller = with_running(ControlBlock::id).unwrap_or_else(current::thread_number);
        let mut choosing = self.choosing.lock();
        let again = choosing.contains(&caller);
        if !again {
            choosing.push(caller);
        }
        drop(choosing);
        assert!(
            !again,
            "a closure that chooses how a cluster is started needs that cluster"
        );
        let _chooses = Choosing(self, caller);
        choose()
    }
}

/// While it lives, a fibre or thread chooses how a cluster is started.
struct Choosing<'a>(&'a LazyCluster, u64);

impl Drop for Choosing<'_> {
    fn drop(&mut self) {
        self.0.choosing.lock().retain(|caller| *caller != self.1);
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
    /// `choose` may wait; what others start meanwhile stays.
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
    ///
    /// # Panics
    ///
    /// If `choose` needs the default cluster, be it by [`spawn`](crate::spawn()) on a plain thread.
    pub fn default_cluster_or(
        choose: impl FnOnce() -> ClusterBuilder,
    ) -> io::Result<&'static Self> {
        static DEFAULT: LazyCluster = LazyCluster::new();
        fork::refuse_if_forked()?;
        DEFAULT.get(|| {
            // Before anything is allocated: `build` looks too, but a builder takes memory already.
            room::look(0)?;
            Ok(choose())
        })
    }
}
