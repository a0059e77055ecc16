//! Schedulers by name: presets of what a cluster lets one choose.

use fibre_core::internal::warn;
use fibre_core::{
    ClusterBuilder, CpuSet, Pinning, Placement, QueueKind, Revival, StealOrder, Topology,
};

/// A scheduler for actors: which queue, where an actor goes that is new or has messages again, and
/// which processor one without work steals from. Idle processors sleep under each of them.
///
/// [`LocalityLocal`](Self::LocalityLocal) and [`LocalityAffine`](Self::LocalityAffine) have to know
/// where processors are. So if the program may run on several memory nodes, and neither
/// [`ClusterBuilder::pin`] nor `FIBRE_PIN` says anything, they pin [each](Pinning::Each) processor
/// to a CPU of its own. If processors are explicitly not pinned there, all of them count as one
/// node, and the build says so on standard error. On one node, nothing is pinned.
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
        let places = match order {
            StealOrder::Hierarchical => Places::of(cluster.pinning(), nodes()),
            _ => Places::AsTold,
        };
        let cluster = match places {
            Places::AsTold => cluster,
            Places::Each => cluster.pin(Pinning::Each),
            Places::Unknown => {
                warn(format_args!(
                    "{self:?} sees one memory node, not {}: the processors are not pinned",
                    nodes()
                ));
                cluster
            }
        };
        cluster
            .queue(QueueKind::TwoEnded)
            .placement(Placement::Head)
            .steal_order(order)
            .revival(revival)
    }
}

/// Where the processors of a policy that goes by memory nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Places {
    /// Where the program says, if that matters at all.
    AsTold,
    /// Each on a CPU of its own, as nobody has said anything.
    Each,
    /// Anywhere, as the program says, so that the policy is of no use.
    Unknown,
}

impl Places {
    /// The places on a machine with so many nodes, if this has been chosen.
    fn of(chosen: Option<&Pinning>, nodes: usize) -> Self {
        match chosen {
            _ if nodes < 2 => Self::AsTold,
            None => Self::Each,
            Some(Pinning::None) => Self::Unknown,
            Some(Pinning::Each | Pinning::Sets(_)) => Self::AsTold,
        }
    }
}

/// How many memory nodes have CPUs that the program may use. One, if that cannot be read.
fn nodes() -> usize {
    let Ok(allowed) = CpuSet::of_program() else {
        return 1;
    };
    nodes_of(&Topology::of_machine(), &allowed)
}

/// How many nodes of a machine have CPUs among those that are allowed.
fn nodes_of(machine: &Topology, allowed: &CpuSet) -> usize {
    let nodes = machine.nodes().iter();
    let usable = nodes.filter(|node| (&node.cpus).into_iter().any(|cpu| allowed.contains(cpu)));
    usable.count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn only_nodes_that_the_program_may_use_count() {
        let machine: Topology = "4 nodes x 2 cores".parse().unwrap();
        for (allowed, nodes) in [("0-7", 4), ("0-1", 1), ("1-2", 2), ("0,7", 2), ("9", 0)] {
            assert_eq!(
                nodes_of(&machine, &allowed.parse().unwrap()),
                nodes,
                "{allowed}"
            );
        }
    }

    #[test]
    fn processors_are_pinned_where_there_are_nodes_and_nobody_has_said_otherwise() {
        let some = Pinning::Sets(vec!["0-1".parse().unwrap()]);
        for (chosen, on_one, on_two) in [
            (None, Places::AsTold, Places::Each),
            (Some(Pinning::None), Places::AsTold, Places::Unknown),
            (Some(Pinning::Each), Places::AsTold, Places::AsTold),
            (Some(some), Places::AsTold, Places::AsTold),
        ] {
            assert_eq!(Places::of(chosen.as_ref(), 1), on_one, "{chosen:?}");
            assert_eq!(Places::of(chosen.as_ref(), 2), on_two, "{chosen:?}");
        }
    }

    /// What a policy makes of a builder is what is decided for this machine.
    #[test]
    fn the_builder_is_pinned_as_decided() {
        let expected = match nodes() {
            0 | 1 => None,
            _ => Some(Pinning::Each),
        };
        for policy in Policy::ALL {
            let unsaid = std::env::var_os("FIBRE_PIN").is_none();
            let builder = policy.apply(fibre_core::Cluster::builder());
            let by_nodes = policy != Policy::RandomStealing && unsaid;
            if by_nodes {
                assert_eq!(builder.pinning(), expected.as_ref(), "{policy:?}");
            }
            let told = fibre_core::Cluster::builder().pin(Pinning::Each);
            assert_eq!(policy.apply(told).pinning(), Some(&Pinning::Each));
        }
    }
}
