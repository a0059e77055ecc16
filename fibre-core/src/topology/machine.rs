//! CPUs, their shared caches and nodes, and how near they are to each other.
//!
//! Whatever its source, a [`Topology`] names each group of CPUs (a core, the CPUs behind one cache,
//! a package) by the smallest CPU number in it. So two readers that agree give equal values. Groups
//! nest: a cache that a machine does not have, or does not report, is as large as the next smaller
//! group.

use super::cpu_set::CpuSet;

/// One CPU: a hardware thread: the kernel runs one thread at a time on it.
///
/// Groups are named by the smallest number of a CPU in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cpu {
    /// The kernel's number.
    pub number: usize,
    /// The core. Its threads share its execution units (SMT siblings).
    pub core: usize,
    /// The CPUs that it shares the second-level cache with.
    pub l2: usize,
    /// The CPUs that it shares the third-level cache with.
    pub l3: usize,
    /// The package: what is put into one socket.
    pub package: usize,
    /// The kernel's number of its NUMA node.
    pub node: usize,
}

impl Cpu {
    /// A CPU that shares nothing, in the first node.
    pub(super) const fn alone(number: usize) -> Self {
        Self {
            number,
            core: number,
            l2: number,
            l3: number,
            package: number,
            node: 0,
        }
    }
}

/// A NUMA node: memory, and the CPUs next to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// The kernel's number.
    pub number: usize,
    /// Its online CPUs; none if it is memory only.
    pub cpus: CpuSet,
    /// How far it is to each node of the topology, in their order: 10 is local, 20 twice
    /// as far. The firmware's figures, which few vendors measure.
    pub distances: Vec<u32>,
}

/// The distance to itself that a node has, by definition.
const LOCAL: u32 = 10;

/// The distance of other nodes that is assumed where none is reported.
const REMOTE: u32 = 20;

/// How near two CPUs are, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proximity {
    /// They are the same CPU.
    SameCpu,
    /// They are threads of one core.
    SameCore,
    /// They share the second-level cache.
    SameL2,
    /// They share the third-level cache.
    SameL3,
    /// They are next to the same memory.
    SameNode,
    /// They are in nodes this far from each other; 10 would be local.
    OtherNode(u32),
}

/// The machine: its online CPUs, and the memory next to them.
///
/// ```
/// use fibre::topology::{Proximity, Topology};
///
/// let machine: Topology = "2 nodes x 2 cores x 2 threads".parse().unwrap();
/// assert_eq!(machine.distance(0, 1), Proximity::SameCore);
/// assert!(machine.distance(0, 2) < machine.distance(0, 4));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The CPUs, by ascending number; at least one.
    cpus: Vec<Cpu>,
    /// The nodes, by ascending number; at least one.
    nodes: Vec<Node>,
}

impl Topology {
    /// Makes what a reader has found consistent. `cpus` are ascending, and more than none.
    pub(super) fn new(mut cpus: Vec<Cpu>, mut nodes: Vec<Node>) -> Self {
        nodes.sort_by_key(|node| node.number);
        if nodes.is_empty() {
            nodes.push(Node {
                number: 0,
                cpus: CpuSet::new(),
                distances: Vec::new(),
            });
        }
        let count = nodes.len();
        for (index, node) in nodes.iter_mut().enumerate() {
            if node.distances.len() != count {
                node.distances = vec![REMOTE; count];
                node.distances[index] = LOCAL;
            }
        }
        for cpu in &mut cpus {
            let home = nodes.iter().find(|node| node.cpus.contains(cpu.number));
            cpu.node = home.unwrap_or(&nodes[0]).number;
        }
        for node in &mut nodes {
            let members = cpus.iter().filter(|cpu| cpu.node == node.number);
            node.cpus = members.map(|cpu| cpu.number).collect();
        }
        Self { cpus, nodes }
    }

    /// A machine with nothing known of its CPUs but their numbers.
    pub(super) fn flat(cpus: &CpuSet) -> Self {
        Self::new(cpus.iter().map(Cpu::alone).collect(), Vec::new())
    }

    /// The machine with these CPUs added; nothing is known about those that it did not have.
    pub(super) fn with(mut self, cpus: &CpuSet) -> Self {
        let unknown = cpus.iter().filter(|&cpu| self.cpu(cpu).is_none());
        let unknown: Vec<Cpu> = unknown.map(Cpu::alone).collect();
        self.cpus.extend(unknown);
        self.cpus.sort_by_key(|cpu| cpu.number);
        Self::new(self.cpus, self.nodes)
    }

    /// The online CPUs, by ascending number. At least one.
    #[must_use]
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// The numbers of the online CPUs.
    #[must_use]
    pub fn cpu_set(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.number).collect()
    }

    /// The NUMA nodes, by ascending number. At least one: a machine without several nodes is one
    /// node.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The CPU with this number, if it is online.
    #[must_use]
    pub fn cpu(&self, number: usize) -> Option<&Cpu> {
        let found = self.cpus.binary_search_by_key(&number, |cpu| cpu.number);
        found.ok().map(|index| &self.cpus[index])
    }

    /// How near two CPUs are, given by number. A CPU that is not online is as far from all others
    /// as can be.
    #[must_use]
    pub fn distance(&self, one: usize, other: usize) -> Proximity {
        if one == other {
            return Proximity::SameCpu;
        }
        let (Some(one), Some(other)) = (self.cpu(one), self.cpu(other)) else {
            return Proximity::OtherNode(u32::MAX);
        };
        if one.core == other.core {
            Proximity::SameCore
        } else if one.l2 == other.l2 {
            Proximity::SameL2
        } else if one.l3 == other.l3 {
            Proximity::SameL3
        } else if one.node == other.node {
            Proximity::SameNode
        } else {
            Proximity::OtherNode(self.node_distance(one.node, other.node))
        }
    }

    /// The distance of two nodes, given by number.
    pub(super) fn node_distance(&self, one: usize, other: usize) -> u32 {
        let index = |number| self.nodes.binary_search_by_key(&number, |node| node.number);
        match (index(one), index(other)) {
            (Ok(one), Ok(other)) => self.nodes[one].distances[other],
            _ => REMOTE,
        }
    }

    /// The machine with these distances between its nodes, for tests.
    #[cfg(test)]
    pub(crate) fn with_distances(mut self, rows: &[&[u32]]) -> Self {
        assert_eq!(rows.len(), self.nodes.len(), "a row for each node");
        for (node, row) in self.nodes.iter_mut().zip(rows) {
            node.distances = row.to_vec();
        }
        self
    }

    /// How near two sets of CPUs are: as near as the nearest CPUs in them.
    pub(super) fn distance_of_sets(&self, one: &CpuSet, other: &CpuSet) -> Proximity {
        let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
        pairs
            .map(|(a, b)| self.distance(a, b))
            .min()
            .unwrap_or(Proximity::SameCpu)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn nearness_has_its_order() {
        let machine: Topology = "2 nodes x 2 l3 x 2 l2 x 2 cores x 2 threads"
            .parse()
            .unwrap();
        let distances = [0, 1, 2, 4, 8, 16].map(|other| machine.distance(0, other));
        assert_eq!(
            distances,
            [
                Proximity::SameCpu,
                Proximity::SameCore,
                Proximity::SameL2,
                Proximity::SameL3,
                Proximity::SameNode,
                Proximity::OtherNode(REMOTE)
            ]
        );
        assert!(distances.is_sorted());
        assert!(machine.distance(0, 999) > machine.distance(0, 31));
    }

    #[test]
    fn an_unknown_machine_has_one_node() {
        let machine = Topology::flat(&[3, 5].into_iter().collect());
        assert_eq!(machine.nodes().len(), 1);
        assert_eq!(machine.nodes()[0].cpus.to_string(), "3,5");
        assert_eq!(machine.distance(3, 5), Proximity::SameNode);
    }
}
