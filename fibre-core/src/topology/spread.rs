//! Processors that are far from each other, for *hubs*: fibres that live long, spawn many others
//! and communicate with them often. Two hubs of one node would get in each other's way: at its
//! memory, and in the queues that their partners come back to.
//!
//! The next hub goes to the node with the fewest hubs, and of these to the one that is farthest
//! from the nodes with more; within a node, processors take turns. So each node gets a hub before
//! any gets a second one, always in the same order.
//!
//! Source: Francesquini, Goldman, Mehaut, "Actor scheduling for multicore hierarchical memory
//! platforms" (2013), which section 5.3.1 of the thesis follows.

use super::tree::{Tree, first_of};
use std::cmp::Reverse;

impl Tree {
    /// The processor for a hub, the first one being number 0, in a cluster that has the first
    /// `there` processors.
    pub(crate) fn hub_processor(&self, hub: usize, there: usize) -> usize {
        let nodes = self.far_apart(there);
        let Some(node) = hub.checked_rem(nodes.len()).map(|turn| nodes[turn]) else {
            return 0;
        };
        let processors = first_of(&self.nodes()[node].processors, there);
        processors[hub / nodes.len() % processors.len()]
    }

    /// The nodes of these processors, each the farthest one from those before it.
    fn far_apart(&self, there: usize) -> Vec<usize> {
        let inhabited = |&node: &usize| !first_of(&self.nodes()[node].processors, there).is_empty();
        let mut left: Vec<usize> = (0..self.nodes().len()).filter(inhabited).collect();
        let mut order: Vec<usize> = Vec::new();
        // Far from the nearest one, then far from all; then the first.
        let farness = |node: usize, order: &[usize]| {
            let distances = order
                .iter()
                .map(|&other| self.nodes()[other].distances[node]);
            let sum: u64 = distances.clone().map(u64::from).sum();
            (distances.min(), sum, Reverse(node))
        };
        while let Some(next) = left
            .iter()
            .copied()
            .max_by_key(|&node| farness(node, &order))
        {
            left.retain(|&node| node != next);
            order.push(next);
        }
        order
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use crate::topology::{Topology, Tree, each};

    /// The tree of a machine with a processor for each CPU.
    fn tree(machine: &Topology) -> Tree {
        let places = each(machine.cpu_set().iter());
        machine.tree(&places)
    }

    /// The processors of the first hubs.
    fn hubs(tree: &Tree, hubs: usize, there: usize) -> Vec<usize> {
        (0..hubs)
            .map(|hub| tree.hub_processor(hub, there))
            .collect()
    }

    #[test]
    fn hubs_go_to_the_farthest_node() {
        // Two pairs of near nodes.
        let machine: Topology = "4 nodes x 4 cores".parse().unwrap();
        let machine = machine.with_distances(&[
            &[10, 16, 22, 22],
            &[16, 10, 22, 22],
            &[22, 22, 10, 16],
            &[22, 22, 16, 10],
        ]);
        // Nodes 0, 2, 1, 3; each has one before any has two.
        let expected = [0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15, 0, 8];
        assert_eq!(hubs(&tree(&machine), 18, 16), expected);
    }

    #[test]
    fn the_nearest_hub_counts_most() {
        // A line: 0 is next to 1, and so on.
        let machine: Topology = "4 nodes x 1 core".parse().unwrap();
        let machine = machine.with_distances(&[
            &[10, 20, 30, 40],
            &[20, 10, 20, 30],
            &[30, 20, 10, 20],
            &[40, 30, 20, 10],
        ]);
        assert_eq!(hubs(&tree(&machine), 5, 4), [0, 3, 1, 2, 0]);
    }

    #[test]
    fn only_nodes_with_processors_take_part() {
        let machine: Topology = "3 nodes x 2 cores".parse().unwrap();
        let tree = tree(&machine);
        assert_eq!(hubs(&tree, 4, 3), [0, 2, 1, 2]);
        assert_eq!(hubs(&tree, 3, 2), [0, 1, 0]);
        assert_eq!(hubs(&tree, 3, 6), [0, 2, 4]);
        assert_eq!(hubs(&tree, 1, 0), [0]);
    }

    #[test]
    fn one_node_goes_round() {
        assert_eq!(hubs(&Tree::flat(3), 5, 3), [0, 1, 2, 0, 1]);
        // 64 CPUs in 8 nodes: each node has its first hub among the first 8.
        let machine: Topology = "8 nodes x 2 l3 x 2 cores x 2 threads".parse().unwrap();
        let nodes = hubs(&tree(&machine), 8, 64).into_iter().map(|cpu| cpu / 8);
        assert!(nodes.eq(0..8));
    }
}
