//! `skynet`: a tree of fork and join, ten children to each node, which adds up
//! the numbers of its leaves. Every node is a fibre. On one processor a runtime that can run
//! the child first does so.

use std::array;

use anyhow::ensure;

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::Blocking;
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// Children of a node.
pub(crate) const FAN_OUT: usize = 10;

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Skynet {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
    /// Leaves of the tree.
    leaves: u64,
}

impl Parameters for Skynet {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        let leaves = arguments.count("leaves", 100_000)?;
        if leaves != 10_u64.pow(leaves.ilog10()) {
            return Err(Refusal(format!("{leaves} leaves make no full tree")));
        }
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            leaves,
        })
    }
}

/// A part of the tree: a leaf, or a node with all that is below it.
#[derive(Clone, Copy)]
pub(crate) struct Tree {
    /// Number of its first leaf.
    pub(crate) first: u64,
    /// How many leaves it has.
    leaves: u64,
}

impl Skynet {
    /// The whole tree.
    pub(crate) fn tree(&self) -> Tree {
        Tree {
            first: 0,
            leaves: self.leaves,
        }
    }

    /// Nodes of the tree, leaves included.
    pub(crate) fn nodes(&self) -> u64 {
        (0..=self.leaves.ilog10())
            .map(|level| 10_u64.pow(level))
            .sum()
    }

    /// Trees in a round of so many operations.
    pub(crate) fn trees(&self, operations: u64) -> u64 {
        operations.div_ceil(self.nodes())
    }

    /// Checks what a tree adds up to.
    pub(crate) fn check(&self, sum: u64) -> anyhow::Result<()> {
        let right = self.leaves * (self.leaves - 1) / 2;
        ensure!(sum == right, "the leaves add up to {sum}, not {right}");
        Ok(())
    }
}

impl Tree {
    /// Whether it is a leaf.
    pub(crate) fn is_leaf(self) -> bool {
        self.leaves == 1
    }

    /// Its parts.
    pub(crate) fn children(self) -> [Self; FAN_OUT] {
        let leaves = self.leaves / FAN_OUT as u64;
        array::from_fn(|index| Self {
            first: self.first + index as u64 * leaves,
            leaves,
        })
    }
}

/// Trees of fibres.
pub(crate) fn blocking<B: Blocking>(asked: Skynet) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        calibrate(asked.seconds, asked.nodes(), |operations| {
            let trees = asked.trees(operations);
            let watch = Stopwatch::start()?;
            for _ in 0..trees {
                let tree = asked.tree();
                asked.check(B::join(B::spawn(move || node::<B>(asked.processors, tree))))?;
            }
            Ok(watch.stop(trees * asked.nodes())?)
        })
    })
}

/// The life of a node; returns what its leaves add up to.
fn node<B: Blocking>(processors: usize, tree: Tree) -> u64 {
    if tree.is_leaf() {
        return tree.first;
    }
    let children = tree.children();
    let joins = children.map(|child| B::fork(processors, move || node::<B>(processors, child)));
    joins.into_iter().map(B::join).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a tree adds up to and how many nodes it has, without fibres.
    fn walk(tree: Tree) -> (u64, u64) {
        if tree.is_leaf() {
            return (tree.first, 1);
        }
        tree.children()
            .into_iter()
            .map(walk)
            .fold((0, 1), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    #[test]
    fn a_tree_is_as_it_is_counted_and_checked() -> anyhow::Result<()> {
        for leaves in [1, 10, 1000] {
            let asked = Skynet {
                processors: 1,
                seconds: 0.0,
                leaves,
            };
            let (sum, nodes) = walk(asked.tree());
            asked.check(sum)?;
            assert!(asked.check(sum + 1).is_err());
            assert_eq!(asked.nodes(), nodes);
        }
        Ok(())
    }
}
