//! The order in which idle processors help others: the nearest first.
//!
//! A fibre stolen from a neighbour finds its data in a cache that both share; a fibre from another
//! node leaves its memory behind (locality-aware stealing, as in Mely, section IV).

use super::cpu_set::CpuSet;
use super::machine::{Proximity, Topology};
use std::collections::BTreeMap;

impl Topology {
    /// For each processor of a cluster, all others, the nearest first. `places` has the CPUs that
    /// each processor may run on.
    ///
    /// Equally near processors come in the order of a ring that begins behind the processor, so
    /// that not all thieves meet at the same victim. Where processors are not pinned all are
    /// equally near.
    ///
    /// ```
    /// let machine: fibre::topology::Topology = "2 nodes x 2 cores".parse().unwrap();
    /// let places = [0, 2, 1, 3].map(|cpu| [cpu].into_iter().collect());
    /// let victims = machine.victims(&places);
    /// assert_eq!(*victims[0], [2, 1, 3]);
    /// ```
    #[must_use]
    pub fn victims(&self, places: &[CpuSet]) -> Box<[Box<[usize]>]> {
        // Processors often share their sets, and sets are large then.
        let mut known: BTreeMap<(&CpuSet, &CpuSet), Proximity> = BTreeMap::new();
        let mut distance = |one, other| {
            let compute = || self.distance_of_sets(one, other);
            *known.entry((one, other)).or_insert_with(compute)
        };
        let count = places.len();
        let order = |thief: usize| -> Box<[usize]> {
            let ring = (1..count).map(|step| (thief + step) % count);
            let mut others: Vec<_> = ring
                .map(|other| (distance(&places[thief], &places[other]), other))
                .collect();
            others.sort_by_key(|(distance, _)| *distance);
            others.into_iter().map(|(_, other)| other).collect()
        };
        (0..count).map(order).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::topology::each;

    #[test]
    fn the_nearest_is_first() {
        let machine: Topology = "2 nodes x 2 l3 x 2 cores x 2 threads".parse().unwrap();
        let victims = machine.victims(&each(0..16));
        assert_eq!(
            *victims[0],
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
        );
        assert_eq!(
            *victims[10],
            [11, 8, 9, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]
        );
        for (thief, order) in victims.iter().enumerate() {
            let distances = order.iter().map(|&other| machine.distance(thief, other));
            assert!(distances.is_sorted());
            let mut all: Vec<usize> = order.iter().copied().chain([thief]).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..16));
        }
    }

    #[test]
    fn farther_nodes_come_later() {
        let machine: Topology = "3 nodes x 1 core".parse().unwrap();
        let mut nodes = machine.nodes().to_vec();
        for (node, distances) in nodes
            .iter_mut()
            .zip([[10, 30, 20], [30, 10, 20], [20, 20, 10]])
        {
            node.distances = distances.to_vec();
        }
        let machine = Topology::new(machine.cpus().to_vec(), nodes);
        assert_eq!(*machine.victims(&each(0..3))[0], [2, 1]);
    }

    #[test]
    fn who_is_not_pinned_goes_round() {
        let machine: Topology = "2 nodes x 4 cores".parse().unwrap();
        let victims = machine.victims(&vec![machine.cpu_set(); 3]);
        let orders: Vec<&[usize]> = victims.iter().map(|order| &**order).collect();
        assert_eq!(orders, [[1, 2], [2, 0], [0, 1]]);
        assert!(machine.victims(&[]).is_empty());
        assert!(machine.victims(&each([5]))[0].is_empty());
    }

    #[test]
    fn sets_are_as_near_as_their_nearest() {
        let machine: Topology = "2 nodes x 4 cores".parse().unwrap();
        let nodes = machine.nodes();
        let places: Vec<CpuSet> = (0..4).map(|i| nodes[i % 2].cpus.clone()).collect();
        assert_eq!(*machine.victims(&places)[0], [2, 1, 3]);
    }
}
