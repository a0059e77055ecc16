//! All schedules within a bound of preemptions.
//!
//! Runs are the leaves of a tree: a fork for each choice among several ready fibres. Its first
//! branch is the default order's. The tree is walked depth first, a run for each leaf. There are as
//! many passes as the bound says and one more; the first one takes no branch that costs a
//! preemption, the next one at most one on each way. A pass has the leaves of the pass before it
//! again, which are few in comparison. When a pass has left out nothing, there is nothing more.

/// The tree, and the way that is walked now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    /// The forks of the way, from the root on.
    way: Vec<Fork>,
    /// How many of them the run has come to.
    depth: usize,
    /// The most preemptions of a way in this pass.
    most: u32,
    /// Whether a branch has been left out in this pass.
    left_out: bool,
    /// Whether the run has come to other forks than the one before it, at the same choices.
    is_lost: bool,
}

/// A choice among several fibres.
#[derive(Debug, Clone, Copy)]
struct Fork {
    /// Which branch is taken.
    branch: usize,
    /// How many there are.
    branches: usize,
    /// Whether all but the first one cost a preemption.
    costs: bool,
}

impl Tree {
    /// The branch at the next fork.
    pub(super) fn branch(&mut self, branches: usize, costs: bool) -> usize {
        let depth = self.depth;
        self.depth += 1;
        let fork = Fork {
            branch: 0,
            branches,
            costs,
        };
        match self.way.get(depth) {
            None => self.way.push(fork),
            Some(known) => {
                self.is_lost |= (known.branches, known.costs) != (branches, costs);
            }
        }
        self.way[depth].branch.min(branches - 1)
    }

    /// Goes on to the next run. `false`: all runs within `bound` preemptions have been.
    pub(crate) fn advance(&mut self, bound: u32) -> bool {
        self.depth = 0;
        while let Some(mut fork) = self.way.pop() {
            fork.branch += 1;
            if fork.branch == fork.branches {
                continue;
            }
            let spent = self.way.iter().filter(|fork| fork.is_preemption()).count();
            if fork.is_preemption() && spent >= self.most as usize {
                self.left_out = true;
                continue;
            }
            self.way.push(fork);
            return true;
        }
        let goes_on = self.left_out && self.most < bound;
        self.most += 1;
        self.left_out = false;
        goes_on
    }

    /// Whether the same choices have led elsewhere.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost || self.depth < self.way.len()
    }
}

impl Fork {
    fn is_preemption(self) -> bool {
        self.costs && self.branch > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The ways through a tree of `forks` forks with two branches each, which cost or do not.
    fn ways(forks: usize, costs: bool, bound: u32) -> Vec<Vec<usize>> {
        let mut tree = Tree::default();
        let mut ways = Vec::new();
        loop {
            ways.push((0..forks).map(|_| tree.branch(2, costs)).collect());
            assert!(!tree.is_lost());
            if !tree.advance(bound) {
                return ways;
            }
        }
    }

    #[test]
    fn each_way_within_the_bound_is_walked_and_those_with_fewer_preemptions_first() {
        assert_eq!(ways(5, true, 0), [[0; 5]]);
        // 1, 5 and 10 ways with so many of five preemptions.
        let within_two = ways(5, true, 2);
        let all: BTreeSet<_> = within_two.iter().collect();
        assert_eq!(all.len(), 16);
        let mut news = BTreeSet::new();
        let costs = within_two.iter().filter(|way| news.insert(*way));
        let costs: Vec<usize> = costs.map(|way| way.iter().sum()).collect();
        assert!(costs.is_sorted(), "{costs:?}");
    }

    #[test]
    fn free_branches_are_all_walked_once() {
        assert_eq!(ways(4, false, 0).len(), 16);
        assert_eq!(ways(4, false, 3).len(), 16);
        assert_eq!(ways(0, true, 3).len(), 1);
    }

    #[test]
    fn another_tree_than_before_is_noticed() {
        let mut tree = Tree::default();
        tree.branch(2, false);
        tree.branch(2, false);
        assert!(tree.advance(2));
        assert!(tree.is_lost(), "it has not come to the first fork again");
        tree.branch(3, false);
        tree.branch(2, false);
        assert!(tree.is_lost());
    }
}
