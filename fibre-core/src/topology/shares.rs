//! Processors shared out among the NUMA nodes.

use super::cpu_set::CpuSet;
use super::machine::{Node, Topology};

/// One node's part of the processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Share {
    /// The node.
    pub node: Node,
    /// The node's allowed CPUs.
    pub cpus: CpuSet,
    /// How many processors run on them; at least one.
    pub processors: usize,
}

impl Topology {
    /// Shares `processors` out among the nodes that have `allowed` CPUs, in proportion to how many
    /// of these each has; what is left over goes to the largest remainders. Nodes that get none, as
    /// there are fewer processors than nodes, are left out.
    pub(crate) fn shares(&self, allowed: &CpuSet, processors: usize) -> Vec<Share> {
        let mut shares: Vec<Share> = self
            .nodes()
            .iter()
            .map(|node| Share {
                node: node.clone(),
                cpus: node.cpus.intersection(allowed),
                processors: 0,
            })
            .filter(|share| !share.cpus.is_empty())
            .collect();
        let total: usize = shares.iter().map(|share| share.cpus.len()).sum();
        let mut left = processors;
        for share in &mut shares {
            share.processors = processors * share.cpus.len() / total;
            left -= share.processors;
        }
        let mut order: Vec<usize> = (0..shares.len()).collect();
        // Stable: of equal remainders those of the first nodes win.
        order.sort_by_key(|&i| std::cmp::Reverse(processors * shares[i].cpus.len() % total));
        order
            .into_iter()
            .take(left)
            .for_each(|i| shares[i].processors += 1);
        shares.retain(|share| share.processors > 0);
        shares
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Node, CPUs and processors of each share.
    fn shares(machine: &str, allowed: &str, processors: usize) -> Vec<(usize, String, usize)> {
        let machine: Topology = machine.parse().unwrap();
        let shares = machine.shares(&allowed.parse().unwrap(), processors);
        assert_eq!(
            shares.iter().map(|share| share.processors).sum::<usize>(),
            processors
        );
        let shown = |share: Share| (share.node.number, share.cpus.to_string(), share.processors);
        shares.into_iter().map(shown).collect()
    }

    /// A share as [`shares`] shows it.
    fn share(node: usize, cpus: &str, processors: usize) -> (usize, String, usize) {
        (node, cpus.to_owned(), processors)
    }

    #[test]
    fn every_cpu_has_its_processor() {
        let expected = [share(0, "0-7", 8), share(1, "8-15", 8)];
        assert_eq!(
            shares("2 nodes x 4 cores x 2 threads", "0-15", 16),
            expected
        );
        assert_eq!(shares("1 node x 2 cores", "0-1", 2), [share(0, "0-1", 2)]);
    }

    #[test]
    fn the_affinity_mask_is_kept() {
        let expected = [share(0, "2-3", 2), share(2, "8", 1)];
        assert_eq!(shares("3 nodes x 4 cores", "2-3,8", 3), expected);
        assert_eq!(shares("2 nodes x 2 cores", "2-3", 2), [share(1, "2-3", 2)]);
    }

    #[test]
    fn the_quota_is_kept() {
        let four = "4 nodes x 4 cores";
        let expected = [
            share(0, "0-3", 2),
            share(1, "4-7", 2),
            share(2, "8-11", 1),
            share(3, "12-15", 1),
        ];
        assert_eq!(shares(four, "0-15", 6), expected);
        assert_eq!(
            shares(four, "0-15", 2),
            [share(0, "0-3", 1), share(1, "4-7", 1)]
        );
        // Two thirds and one third of four.
        assert_eq!(
            shares("2 nodes x 4 cores", "0-3,4-5", 4),
            [share(0, "0-3", 3), share(1, "4-5", 1)]
        );
        assert_eq!(
            shares("2 nodes x 1 core", "0-1", 5),
            [share(0, "0", 3), share(1, "1", 2)]
        );
    }

    #[test]
    fn no_cpu_gets_nothing() {
        let machine: Topology = "2 nodes x 2 cores".parse().unwrap();
        assert!(machine.shares(&CpuSet::new(), 3).is_empty());
        assert!(machine.shares(&machine.cpu_set(), 0).is_empty());
    }
}
