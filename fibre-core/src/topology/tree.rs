//! The processors of a cluster as the leaves of a tree: the system, its nodes, the caches that CPUs
//! share, the cores.
//!
//! A processor climbs from its leaf: to those that share its core, its second-level cache, its
//! third-level cache, then its node, then to ever farther nodes, and in the end to all. The
//! vertices above a node depend on where a climb began, as the distances of nodes seldom nest; so
//! each node has its own. The tree leaves out vertices with a single processor, and vertices with
//! the same processors as the one below.
//!
//! A processor that may run on several CPUs is below the vertex that these have in common. If they
//! lie in several nodes, it counts for the node of the first one. So processors that are not pinned
//! are all in one node.
//!
//! Source: thesis, section 5.3.1.

use super::cpu_set::CpuSet;
use super::machine::{Cpu, Topology};
use std::collections::BTreeMap;

/// How many groups there are within a node: third-level cache, second-level cache, core.
const GROUPS: usize = 3;

/// The tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// All vertices but the leaves; parents come before their children.
    vertices: Vec<Vertex>,
    /// The lowest vertex that each processor shares with others; none for an only one.
    lowest: Vec<Option<usize>>,
    /// The nodes with processors, in the order of their numbers.
    nodes: Vec<TreeNode>,
}

/// A part of the machine with several processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vertex {
    /// The processors below it, ascending.
    processors: Box<[usize]>,
    /// The next larger part; none for the whole.
    parent: Option<usize>,
    /// Whether it is a node, or lies within one.
    is_local: bool,
}

/// A NUMA node with processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeNode {
    /// Its processors, ascending.
    pub processors: Vec<usize>,
    /// How far it is to each node of the tree, in their order.
    pub distances: Vec<u32>,
}

/// Where a processor is.
#[derive(Debug, Clone, Copy)]
struct Site {
    /// The number of its node.
    node: usize,
    /// What its CPUs have in common, from the outside in; `None` where they are in several groups.
    groups: [Option<usize>; GROUPS],
}

impl Topology {
    /// The tree of processors that run on these CPUs each.
    pub(crate) fn tree(&self, places: &[CpuSet]) -> Tree {
        // Processors often share their sets, and sets are large then.
        let mut known: BTreeMap<&CpuSet, Site> = BTreeMap::new();
        let sites: Vec<Site> = places
            .iter()
            .map(|place| *known.entry(place).or_insert_with(|| self.site(place)))
            .collect();
        let mut numbers: Vec<usize> = sites.iter().map(|site| site.node).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let node = |&number: &usize| {
            let here = |&processor: &usize| sites[processor].node == number;
            let distance = |other: &usize| self.node_distance(number, *other);
            TreeNode {
                processors: (0..sites.len()).filter(here).collect(),
                distances: numbers.iter().map(distance).collect(),
            }
        };
        Tree::new(numbers.iter().map(node).collect(), &sites)
    }

    /// Where a processor is that may run on these CPUs.
    fn site(&self, place: &CpuSet) -> Site {
        let cpus: Vec<Option<&Cpu>> = place.iter().map(|cpu| self.cpu(cpu)).collect();
        let common = |group: fn(&Cpu) -> usize| {
            let mut groups = cpus.iter().map(|cpu| cpu.map(group));
            let first = groups.next().flatten();
            groups
                .all(|other| other == first)
                .then_some(first)
                .flatten()
        };
        let groups: [fn(&Cpu) -> usize; GROUPS] = [|cpu| cpu.l3, |cpu| cpu.l2, |cpu| cpu.core];
        let first = cpus.iter().flatten().next();
        Site {
            node: first.map_or(self.nodes()[0].number, |cpu| cpu.node),
            groups: groups.map(common),
        }
    }
}

impl Tree {
    /// The tree of so many unknown processors: they are one node.
    pub(crate) fn flat(processors: usize) -> Self {
        let node = TreeNode {
            processors: (0..processors).collect(),
            distances: vec![0],
        };
        let site = Site {
            node: 0,
            groups: [None; GROUPS],
        };
        Self::new(vec![node], &vec![site; processors])
    }

    /// The tree over these nodes.
    fn new(nodes: Vec<TreeNode>, sites: &[Site]) -> Self {
        let mut tree = Self {
            vertices: Vec::new(),
            lowest: vec![None; sites.len()],
            nodes,
        };
        for node in 0..tree.nodes.len() {
            let above = tree.add_distances(node);
            let members = tree.nodes[node].processors.clone();
            tree.add_group(&members, above, sites, 0);
        }
        tree
    }

    /// Adds what lies above a node: the parts of the system that are within each distance of it,
    /// the farthest first. Returns the lowest one.
    fn add_distances(&mut self, node: usize) -> Option<usize> {
        let others = self.nodes[node].distances.iter().enumerate();
        let others = others.filter(|(other, _)| *other != node);
        let mut distances: Vec<u32> = others.map(|(_, distance)| *distance).collect();
        distances.sort_unstable_by(|one, other| other.cmp(one));
        distances.dedup();
        distances.into_iter().fold(None, |parent, farthest| {
            let near = |(other, distance): (usize, &u32)| {
                (other == node || *distance <= farthest).then_some(other)
            };
            let distances = self.nodes[node].distances.iter().enumerate();
            let within = distances.filter_map(near);
            let processors = within.flat_map(|other| self.nodes[other].processors.iter());
            let mut processors: Vec<usize> = processors.copied().collect();
            processors.sort_unstable();
            Some(self.add(&processors, parent, false))
        })
    }

    /// Adds a part of a node, unless it is all of its parent or a single processor, and the groups
    /// in it from `level` on.
    fn add_group(
        &mut self,
        members: &[usize],
        parent: Option<usize>,
        sites: &[Site],
        level: usize,
    ) {
        let is_all = parent.is_some_and(|parent| {
            let above = &self.vertices[parent];
            above.is_local && above.processors.len() == members.len()
        });
        let vertex = match members.len() {
            0 | 1 => parent,
            _ if is_all => parent,
            _ => Some(self.add(members, parent, true)),
        };
        // What spans two groups is in none of those inside either.
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &member in members {
            self.lowest[member] = vertex;
            if let Some(Some(group)) = sites[member].groups.get(level) {
                groups.entry(*group).or_default().push(member);
            }
        }
        for group in groups.values() {
            self.add_group(group, vertex, sites, level + 1);
        }
    }

    /// Adds a vertex.
    fn add(&mut self, processors: &[usize], parent: Option<usize>, is_local: bool) -> usize {
        self.vertices.push(Vertex {
            processors: processors.into(),
            parent,
            is_local,
        });
        self.vertices.len() - 1
    }

    /// The lowest vertex that a processor shares with others.
    pub(crate) fn lowest(&self, processor: usize) -> Option<usize> {
        self.lowest.get(processor).copied().flatten()
    }

    /// The vertex above one.
    pub(crate) fn parent(&self, vertex: usize) -> Option<usize> {
        self.vertices[vertex].parent
    }

    /// Whether a vertex is a node, or lies within one.
    pub(crate) fn is_local(&self, vertex: usize) -> bool {
        self.vertices[vertex].is_local
    }

    /// The first `there` processors, as far as they are below a vertex; ascending.
    pub(crate) fn below(&self, vertex: usize, there: usize) -> &[usize] {
        first_of(&self.vertices[vertex].processors, there)
    }

    /// The nodes with processors.
    pub(crate) fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }
}

/// The beginning of these ascending processors: those among the first `there` of the cluster.
pub(super) fn first_of(processors: &[usize], there: usize) -> &[usize] {
    &processors[..processors.partition_point(|&processor| processor < there)]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::topology::each;

    /// What a processor climbs through, the parts outside of its node in brackets.
    fn path(tree: &Tree, processor: usize) -> String {
        let vertices = std::iter::successors(tree.lowest(processor), |&vertex| tree.parent(vertex));
        let shown = vertices.map(|vertex| {
            let below: CpuSet = tree.below(vertex, usize::MAX).iter().copied().collect();
            if tree.is_local(vertex) {
                below.to_string()
            } else {
                format!("[{below}]")
            }
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_path_leads_from_the_core_to_the_system() {
        let machine: Topology = "2 nodes x 2 l3 x 2 l2 x 2 cores x 2 threads"
            .parse()
            .unwrap();
        let tree = machine.tree(&each(0..32));
        assert_eq!(path(&tree, 0), "0-1 0-3 0-7 0-15 [0-31]");
        assert_eq!(path(&tree, 21), "20-21 20-23 16-23 16-31 [0-31]");
        let nodes: Vec<_> = tree
            .nodes()
            .iter()
            .map(|node| node.processors.len())
            .collect();
        assert_eq!(nodes, [16, 16]);
        // What adds nothing is left out: no threads, one cache a node, one processor a cache.
        let machine: Topology = "2 nodes x 4 cores".parse().unwrap();
        assert_eq!(path(&machine.tree(&each(0..8)), 5), "4-7 [0-7]");
        assert_eq!(path(&machine.tree(&each([0, 4, 5])), 0), "[0-2]");
        assert_eq!(path(&machine.tree(&each([0, 4, 5])), 1), "1-2 [0-2]");
        assert_eq!(path(&machine.tree(&each([3])), 0), "");
    }

    #[test]
    fn farther_nodes_are_higher() {
        let machine: Topology = "4 nodes x 2 cores".parse().unwrap();
        let machine = machine.with_distances(&[
            &[10, 16, 22, 28],
            &[16, 10, 28, 22],
            &[22, 28, 10, 16],
            &[28, 22, 16, 10],
        ]);
        let tree = machine.tree(&each(0..8));
        assert_eq!(path(&tree, 0), "0-1 [0-3] [0-5] [0-7]");
        assert_eq!(path(&tree, 3), "2-3 [0-3] [0-3,6-7] [0-7]");
        assert_eq!(tree.nodes()[2].distances, [22, 28, 10, 16]);
        // Memory without processors is no node here.
        let tree = machine.tree(&each([0, 1, 6, 7]));
        assert_eq!(path(&tree, 2), "2-3 [0-3]");
        assert_eq!(tree.nodes()[1].distances, [28, 10]);
    }

    #[test]
    fn a_set_is_below_what_its_cpus_share() {
        let machine: Topology = "2 nodes x 2 l3 x 2 cores x 2 threads".parse().unwrap();
        // A core, two cores of one cache, two caches of one node, and both nodes.
        let places = ["0-1", "0-3", "0-7", "0-15", "2", "3", "8", "9"];
        let places: Vec<CpuSet> = places.iter().map(|set| set.parse().unwrap()).collect();
        let tree = machine.tree(&places);
        assert_eq!(path(&tree, 0), "0-1,4-5 0-5 [0-7]");
        assert_eq!(path(&tree, 1), "0-1,4-5 0-5 [0-7]");
        assert_eq!(path(&tree, 2), "0-5 [0-7]");
        assert_eq!(path(&tree, 3), "0-5 [0-7]");
        assert_eq!(path(&tree, 4), "4-5 0-1,4-5 0-5 [0-7]");
        assert_eq!(path(&tree, 7), "6-7 [0-7]");
    }

    #[test]
    fn all_that_are_not_pinned_are_one_node() {
        let machine: Topology = "2 nodes x 4 cores".parse().unwrap();
        for tree in [Tree::flat(3), machine.tree(&vec![machine.cpu_set(); 3])] {
            assert_eq!(path(&tree, 1), "0-2");
            assert_eq!(tree.nodes().len(), 1);
            assert_eq!(tree.lowest(3), None);
        }
        assert_eq!(Tree::flat(1).lowest(0), None);
        // Only those that are there count.
        assert_eq!(Tree::flat(5).below(0, 3), [0, 1, 2]);
    }

    /// CPUs that are not online are in the first node, and share nothing.
    #[test]
    fn unknown_cpus_are_somewhere() {
        let machine: Topology = "2 nodes x 2 cores".parse().unwrap();
        let tree = machine.tree(&each([77, 0, 2]));
        assert_eq!(
            (path(&tree, 0), path(&tree, 2)),
            ("0-1 [0-2]".into(), "[0-2]".into())
        );
    }
}
