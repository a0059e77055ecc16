//! A cluster's processors as a tree, and what thieves and hubs note there.

use crate::topology::Tree;
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tree of a cluster's processors.
#[derive(Debug)]
pub(crate) struct ProcessorTree {
    /// The tree.
    pub tree: Tree,
    /// The place in `polling` of each processor's node.
    nodes: Box<[usize]>,
    /// How many processors of each node look for work there at this moment. A hint.
    polling: Box<[CachePadded<AtomicUsize>]>,
    /// How many hubs have been given a processor.
    hubs: AtomicUsize,
}

/// A thief that looks for work in its own node, until it is dropped.
#[derive(Debug)]
pub(crate) struct Polling<'a>(&'a AtomicUsize);

impl ProcessorTree {
    /// A tree without anybody who looks for work.
    pub(crate) fn new(tree: Tree) -> Self {
        let nodes = tree.nodes();
        let all: usize = nodes.iter().map(|node| node.processors.len()).sum();
        let mut places = vec![0; all];
        for (place, node) in nodes.iter().enumerate() {
            let members = node.processors.iter();
            members.for_each(|&processor| places[processor] = place);
        }
        Self {
            polling: nodes.iter().map(|_| CachePadded::default()).collect(),
            nodes: places.into(),
            hubs: AtomicUsize::new(0),
            tree,
        }
    }

    /// The number of thieves of this processor's node.
    fn thieves(&self, processor: usize) -> &AtomicUsize {
        &self.polling[self.nodes[processor]]
    }

    /// Notes that a processor looks for work in its own node.
    pub(crate) fn begin_polling(&self, processor: usize) -> Polling<'_> {
        let thieves = self.thieves(processor);
        thieves.fetch_add(1, Ordering::Relaxed);
        Polling(thieves)
    }

    /// How many processors look for work in the node of this one.
    pub(crate) fn polling(&self, processor: usize) -> usize {
        self.thieves(processor).load(Ordering::Relaxed)
    }

    /// The processor for the next hub, of the first `there` ones.
    pub(crate) fn hub_processor(&self, there: usize) -> usize {
        let hub = self.hubs.fetch_add(1, Ordering::Relaxed);
        self.tree.hub_processor(hub, there)
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Topology, each};

    #[test]
    fn thieves_are_counted_by_node() {
        let machine: Topology = "2 nodes x 2 cores".parse().unwrap();
        let processor_tree = ProcessorTree::new(machine.tree(&each([0, 2, 1, 3])));
        let (first, second) = (
            processor_tree.begin_polling(0),
            processor_tree.begin_polling(2),
        );
        let counts = || [0, 1, 2, 3].map(|processor| processor_tree.polling(processor));
        assert_eq!(counts(), [2, 0, 2, 0]);
        drop(first);
        assert_eq!(counts(), [1, 0, 1, 0]);
        drop(second);
        assert_eq!(counts(), [0; 4]);
    }

    /// Hubs are counted, over the processors that there are by then.
    #[test]
    fn hubs_take_turns() {
        let processor_tree = ProcessorTree::new(Tree::flat(4));
        let three = |there| [(); 3].map(|()| processor_tree.hub_processor(there));
        assert_eq!(three(2), [0, 1, 0]);
        assert_eq!(three(3), [0, 1, 2]);
    }
}
