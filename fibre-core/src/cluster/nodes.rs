//! Clusters on chosen CPUs: pinning, a cluster per NUMA node, and hubs far from each other.

use super::builder::ClusterBuilder;
use super::handle::Cluster;
use crate::config::settings::default_processors;
use crate::topology::{CpuSet, Node, Pinning, Topology};
use std::io;

impl ClusterBuilder {
    /// The CPUs that the processors run on; a [`CpuSet`] is for all of them. Default:
    /// [`Pinning::None`], or what the environment variable `FIBRE_PIN` says. CPUs that the kernel
    /// refuses make [`build`](Self::build) fail.
    #[must_use]
    pub fn pin(mut self, pinning: impl Into<Pinning>) -> Self {
        self.pinning = Some(pinning.into());
        self
    }

    /// The CPUs that the processors run on, if [`pin`](Self::pin) or the environment variable
    /// `FIBRE_PIN` has said so: for presets that pin where nobody has.
    ///
    /// ```
    /// use fibre::Cluster;
    /// use fibre::topology::Pinning;
    ///
    /// let builder = Cluster::builder().pin(Pinning::Each);
    /// assert_eq!(builder.pinning(), Some(&Pinning::Each));
    /// ```
    #[must_use]
    pub fn pinning(&self) -> Option<&Pinning> {
        self.pinning.as_ref()
    }
}

impl Cluster {
    /// The processor for the next *hub*: a fibre that lives long, spawns many others and speaks
    /// with them often. Hubs are spread: the next one goes to the NUMA node that has been given the
    /// fewest, of these to the farthest from the nodes with more, and within a node to each
    /// processor in turn. Where processors are not [pinned](ClusterBuilder::pin), all are one node.
    /// Nothing is reserved: each call counts as one hub.
    ///
    /// Source: Francesquini, Goldman, Mehaut, "Actor scheduling for multicore hierarchical memory
    /// platforms" (2013).
    ///
    /// ```
    /// use fibre::{Builder, Cluster};
    ///
    /// let cluster = Cluster::builder().processors(2).build()?;
    /// let there = cluster.hub_processor();
    /// let hub = Builder::new().on_processor(there);
    /// let hub = hub.spawn_in(&cluster, fibre::processor)?;
    /// assert_eq!(hub.join().unwrap(), Some(there));
    /// assert_ne!(cluster.hub_processor(), there);
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "it counts as the place of a hub"]
    pub fn hub_processor(&self) -> usize {
        let domain = &self.0.domain;
        domain.processor_tree().hub_processor(domain.regular())
    }

    /// Starts one cluster per NUMA node, on the CPUs of the node that this process may use. It has
    /// as many processors as the node has of these, or fewer where the control group's quota or
    /// `FIBRE_PROCESSORS` allows fewer in all. `configure` gets each builder and its node, and may
    /// change the builder.
    ///
    /// The kernel places what a cluster's fibres touch first, their stacks included, in the node's
    /// memory, unless the program has set another policy. A fibre stays in its cluster, hence next
    /// to its memory. A machine that is one node has one cluster.
    ///
    /// ```
    /// use fibre::Cluster;
    ///
    /// let clusters = Cluster::per_node(|builder, node| {
    ///     builder.name(format!("worker{}", node.number))
    /// })?;
    /// let sums: Vec<_> = clusters.iter().map(|c| c.spawn(|| 1 + 1)).collect();
    /// assert!(sums.into_iter().all(|sum| sum.join().unwrap() == 2));
    /// clusters.into_iter().for_each(Cluster::stop);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When one of them cannot be started; then none is.
    pub fn per_node(
        mut configure: impl FnMut(ClusterBuilder, &Node) -> ClusterBuilder,
    ) -> io::Result<Vec<Self>> {
        let allowed = CpuSet::of_program()?;
        let shares = Topology::of_machine().shares(&allowed, default_processors());
        let start = |share: crate::topology::Share| {
            let builder = Self::builder()
                .name(format!("fibre-n{}", share.node.number))
                .processors(share.processors)
                .pin(share.cpus);
            configure(builder, &share.node).build()
        };
        shares.into_iter().map(start).collect()
    }
}
