//! The cluster for work that computes: kernel threads beside those of the other clusters.
//!
//! Its fibres compute for long, so its rules differ. All new fibres go through one queue, first
//! come, first served, and a free processor takes the next one: no fibre waits behind a long one
//! while a processor is free. The cluster has no spare processors, since its processors are meant
//! not to switch, and nothing reports one that does not. The kernel prefers other threads: see
//! [`ClusterBuilder::nice`].

use super::builder::ClusterBuilder;
use super::handle::Cluster;
use super::lazy::LazyCluster;
use super::room;
use crate::config::policy::Placement;
use crate::config::settings::{Nice, ProcessorCount, variable};
use crate::sys::fork;
use crate::topology::available;
use std::io;

/// By how much the nice value of the threads is above the program's, unless the user says
/// otherwise.
const DEFAULT_NICE: u8 = 10;

/// Bytes reserved for each stack: as std reserves for a thread, since code that computes recurses.
const STACK_SIZE: usize = 2 << 20;

/// How many processors the cluster has, and by how much their nice value is above the program's,
/// unless the program or the environment says otherwise.
#[must_use]
pub fn compute_defaults() -> (usize, u8) {
    (available(), DEFAULT_NICE)
}

impl Cluster {
    /// The cluster that [`compute`](crate::compute()) runs closures on, started when first asked
    /// for, and never stopped. Blocks the thread while it is started.
    ///
    /// Fibres may be spawned there, too: jobs that compute, with results that nobody waits for.
    ///
    /// ```
    /// use fibre::Cluster;
    ///
    /// let job = Cluster::compute_cluster()?.spawn(|| (1..=20_u64).product::<u64>());
    /// assert_eq!(job.join().unwrap(), 2_432_902_008_176_640_000);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When its threads cannot be started, or the environment says nonsense (see
    /// [`build`](ClusterBuilder::build)); the next call tries again.
    pub fn compute_cluster() -> io::Result<&'static Self> {
        Self::compute_cluster_or(|builder| builder)
    }

    /// The same cluster; if it has not been started so far, it is started as `choose` has changed
    /// the builder, which has the defaults: as many processors as the process may use CPUs, or
    /// `FIBRE_COMPUTE_PROCESSORS`; a [`nice`](ClusterBuilder::nice) of 10, or `FIBRE_COMPUTE_NICE`;
    /// stacks of 2 MiB, with memory that is committed as it is touched; no limit of fibres.
    /// `choose` may wait; what others start meanwhile stays. Blocks the thread while it is started.
    ///
    /// ```
    /// use fibre::Cluster;
    ///
    /// // One CPU is left to others.
    /// let most = fibre::default_processors().saturating_sub(1);
    /// let cluster = Cluster::compute_cluster_or(|builder| builder.processors(most))?;
    /// assert_eq!(cluster.processors(), most.max(1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`compute_cluster`](Self::compute_cluster).
    ///
    /// # Panics
    ///
    /// If `choose` needs this cluster, be it by [`compute`](crate::compute()) in a fibre.
    pub fn compute_cluster_or(
        choose: impl FnOnce(ClusterBuilder) -> ClusterBuilder,
    ) -> io::Result<&'static Self> {
        static COMPUTE: LazyCluster = LazyCluster::new();
        fork::refuse_if_forked()?;
        COMPUTE.get(|| {
            // Before anything is allocated: `build` looks too, but a builder takes memory already.
            room::look(0)?;
            Ok(choose(builder()).computes())
        })
    }
}

/// What the cluster is started with.
fn builder() -> ClusterBuilder {
    let (processors, nice) = compute_defaults();
    let processors = variable("FIBRE_COMPUTE_PROCESSORS")
        .map_or(processors, |ProcessorCount(processors)| processors);
    let nice = variable("FIBRE_COMPUTE_NICE").map_or(nice, |Nice(nice)| nice);
    Cluster::builder()
        .name("fibre-compute")
        .processors(processors)
        .nice(nice)
        .stack_size(STACK_SIZE)
        .max_fibres(usize::MAX)
        .placement(Placement::Staging)
        .max_spare_processors(0)
}
