//! Schedulers by name: presets of what a cluster lets one choose.

use fibre_core::{ClusterBuilder, Placement, QueueKind, Revival, StealOrder};

/// A scheduler for actors: which queue, where an actor goes that is new or has messages again, and
/// which processor one without work steals from. Idle processors sleep under each of them.
///
/// Source: thesis, chapter 5, which compares the three. Without a policy, [`Actors`] are scheduled
/// as the cluster's other fibres are.
///
/// ```
/// use fibre_actors::{Actors, Policy};
///
/// let actors = Actors::builder().policy(Policy::LocalityAffine).processors(2).build()?;
/// actors.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// [`Actors`]: crate::Actors
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// Randomised work stealing, the baseline of the thesis: an actor with messages goes to the
    /// head of the sender's queue, and thieves take from the tail of any queue.
    RandomStealing,
    /// LAS/L: as [`RandomStealing`](Self::RandomStealing), but thieves climb the hierarchy of
    /// caches and memory nodes. For actors with little state, and messages that are warm where they
    /// were sent.
    LocalityLocal,
    /// LAS/A: as [`LocalityLocal`](Self::LocalityLocal), but an actor with messages goes to the end
    /// of the queue of the processor that ran it last. For actors with much state.
    LocalityAffine,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 3] = [
        Self::RandomStealing,
        Self::LocalityLocal,
        Self::LocalityAffine,
    ];

    /// Applies the policy to a cluster to come.
    pub(crate) fn apply(self, cluster: ClusterBuilder) -> ClusterBuilder {
        let (order, revival) = match self {
            Self::RandomStealing => (StealOrder::Random, Revival::Local),
            Self::LocalityLocal => (StealOrder::Hierarchical, Revival::Local),
            Self::LocalityAffine => (StealOrder::Hierarchical, Revival::Affine),
        };
        cluster
            .queue(QueueKind::TwoEnded)
            .placement(Placement::Head)
            .steal_order(order)
            .revival(revival)
    }
}
