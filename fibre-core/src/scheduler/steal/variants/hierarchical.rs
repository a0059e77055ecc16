//! Hierarchical victim selection: a thief climbs a tree of the machine, and takes from any
//! processor with work below its present vertex.
//!
//! Source: thesis, section 5.3.2, algorithm 2; its lines number the rules here. *v* is the vertex,
//! *C* the processors below it, *r* how often the thief has tried one of them, and *p* how many
//! thieves look for work in its node.
//!
//! * Lines 6 and 7: after as many attempts as there are processors below v, the thief moves up.
//! * Lines 8 and 9: within its node it reads how long the queues of the others below v are, and so
//!   knows which are not empty: *S*.
//! * Lines 10 and 11: if S is empty, it moves up at once.
//! * Lines 12 and 13: if S is a single one, and p is more than half of C, it backs off. A queue of
//!   short fibres is slower for each thief if too many want to take from it.
//! * Line 14: else it tries one of S at random.
//! * Line 15: outside of its node it reads no lengths, which would be misses, and tries one of C at
//!   random.
//!
//! Where the algorithm is silent:
//!
//! * r begins anew when v moves up. At the root, where there is no way up, the climb ends.
//! * S is restricted to C, and a thief never tries itself.
//! * A thief that has moved up because S was empty goes on with line 8, not with line 15: it knows
//!   the lengths there, too.
//! * A climb begins at the lowest vertex with others, each time that the processor looks for work.
//! * p counts thieves during their climbs, until they leave the node. One that has backed off does
//!   not count until it comes again; so half of them always go on.
//! * A processor that is being woken has no work to give, as in all orders.
//!
//! **Nothing is lost by a back-off.** The thief returns empty-handed, and finds before it sleeps
//! that another processor has work ([`Thief::has_victim`]). So it comes again: at once at first,
//! then after yields, in the end every 50 µs, as long as there is something to take.

use crate::queue::Runnable;
use crate::scheduler::domain::Domain;
use crate::scheduler::steal::{StealMode, Thief, busy_since};
use crate::topology::Tree;

/// Takes from any processor with work in the smallest part of the machine where one has some.
pub(in crate::scheduler::steal) fn steal(
    thief: &Thief,
    domain: &Domain,
    mode: StealMode,
) -> Option<Runnable> {
    let processor_tree = domain.processor_tree();
    let tree = &processor_tree.tree;
    let mut climb = Climb::new(tree, thief.index)?;
    let mut polling = Some(processor_tree.begin_polling(thief.index));
    let length = |victim: usize| {
        let takes = busy_since(domain, victim, mode).is_some();
        if takes {
            domain.queues()[victim].length()
        } else {
            0
        }
    };
    loop {
        if !tree.is_local(climb.vertex) {
            drop(polling.take());
        }
        let seen = Seen {
            processors: domain.processors(),
            length: &length,
            polling: processor_tree.polling(thief.index),
        };
        match climb.step(tree, &seen, &mut || thief.next_random()) {
            Step::Up => {}
            Step::Try(victim) => {
                let stolen = thief.try_victim(domain, mode, victim);
                if stolen.is_some() {
                    return stolen;
                }
            }
            Step::BackOff | Step::End => return None,
        }
    }
}

/// How far a thief has climbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Climb {
    /// The thief.
    thief: usize,
    /// Where it is: *v*.
    vertex: usize,
    /// How many processors below it has tried there: *r*.
    attempts: usize,
}

/// What a thief sees of the others.
struct Seen<'a> {
    /// How many processors there are.
    processors: usize,
    /// How many fibres each of them could give.
    length: &'a dyn Fn(usize) -> usize,
    /// How many thieves look for work in the node, this one included: *p*.
    polling: usize,
}

/// What a thief does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It has moved up, and goes on there.
    Up,
    /// It tries this processor, and goes on if that gives nothing.
    Try(usize),
    /// It leaves the only processor with work to the others.
    BackOff,
    /// It has been everywhere.
    End,
}

impl Climb {
    /// A climb that begins; none for a processor that is alone.
    fn new(tree: &Tree, thief: usize) -> Option<Self> {
        let vertex = tree.lowest(thief)?;
        Some(Self {
            thief,
            vertex,
            attempts: 0,
        })
    }

    /// The next step. `random` returns random numbers.
    fn step(&mut self, tree: &Tree, seen: &Seen<'_>, random: &mut dyn FnMut() -> usize) -> Step {
        let below = tree.below(self.vertex, seen.processors);
        if self.attempts >= below.len() {
            return self.up(tree);
        }
        let victim = if tree.is_local(self.vertex) {
            let full = || {
                let others = below.iter().filter(|&&other| other != self.thief);
                others.filter(|&&other| (seen.length)(other) > 0)
            };
            match full().count() {
                0 => None,
                1 if 2 * seen.polling > below.len() => return Step::BackOff,
                // The lengths may have changed meanwhile.
                count => full().nth(random() % count).or_else(|| full().next()),
            }
        } else {
            let mut others = below.iter().filter(|&&other| other != self.thief);
            let count = others.clone().count().max(1);
            others.nth(random() % count)
        };
        let Some(&victim) = victim else {
            return self.up(tree);
        };
        self.attempts += 1;
        Step::Try(victim)
    }

    /// Moves up, or ends at the root.
    fn up(&mut self, tree: &Tree) -> Step {
        let Some(parent) = tree.parent(self.vertex) else {
            return Step::End;
        };
        self.vertex = parent;
        self.attempts = 0;
        Step::Up
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::config::policy::StealOrder;
    use crate::config::settings::Settings;
    use crate::queue::Link;
    use crate::scheduler::processor_tree::ProcessorTree;
    use crate::topology::{CpuSet, Topology, each};
    use std::ptr::NonNull;

    /// A thief in a machine with a processor for each CPU, where every attempt fails.
    struct Case {
        tree: Tree,
        thief: usize,
        /// How many processors there are.
        processors: usize,
        /// The processors with something in their queues.
        full: Vec<usize>,
        /// The number of thieves in the node.
        polling: usize,
    }

    impl Case {
        fn new(machine: &Topology, thief: usize, full: &[usize], polling: usize) -> Self {
            let places = each(machine.cpu_set().iter());
            Self {
                tree: machine.tree(&places),
                thief,
                processors: places.len(),
                full: full.to_vec(),
                polling,
            }
        }

        /// One step.
        fn step(&self, climb: &mut Climb, random: &mut dyn FnMut() -> usize) -> Step {
            let length = |other: usize| usize::from(self.full.contains(&other));
            let seen = Seen {
                processors: self.processors,
                length: &length,
                polling: self.polling,
            };
            climb.step(&self.tree, &seen, random)
        }

        /// All steps, a line for each: the processors below the vertex, in brackets outside of the
        /// node; r; what is done. The random numbers are 0, 1, 2 and so on.
        fn trace(&self) -> Vec<String> {
            let mut numbers = 0..;
            let mut random = || numbers.next().unwrap();
            let mut climb = Climb::new(&self.tree, self.thief).unwrap();
            let mut lines = Vec::new();
            loop {
                let at = climb;
                let step = self.step(&mut climb, &mut random);
                let below = self.tree.below(at.vertex, self.processors);
                let below: CpuSet = below.iter().copied().collect();
                let shown = match step {
                    Step::Up => "up".to_owned(),
                    Step::Try(victim) => format!("try {victim}"),
                    Step::BackOff => "back off".to_owned(),
                    Step::End => "end".to_owned(),
                };
                let (attempts, local) = (at.attempts, self.tree.is_local(at.vertex));
                lines.push(match local {
                    true => format!("{below} r={attempts}: {shown}"),
                    false => format!("[{below}] r={attempts}: {shown}"),
                });
                if matches!(step, Step::BackOff | Step::End) {
                    return lines;
                }
            }
        }
    }

    /// Two nodes with two caches each, and two cores behind each cache.
    fn two_nodes() -> Topology {
        "2 nodes x 2 l3 x 2 cores".parse().unwrap()
    }

    /// Lines 10 and 11 within the node, 15 outside, 6 and 7 at the root.
    #[test]
    fn without_work_in_the_node_it_moves_up_at_once() {
        assert_eq!(
            Case::new(&two_nodes(), 0, &[5], 1).trace(),
            [
                "0-1 r=0: up",
                "0-3 r=0: up",
                "[0-7] r=0: try 1",
                "[0-7] r=1: try 2",
                "[0-7] r=2: try 3",
                "[0-7] r=3: try 4",
                "[0-7] r=4: try 5",
                "[0-7] r=5: try 6",
                "[0-7] r=6: try 7",
                "[0-7] r=7: try 1",
                "[0-7] r=8: end",
            ]
        );
    }

    /// Lines 9 and 14, and lines 6 and 7 within the node.
    #[test]
    fn it_tries_those_with_work_as_often_as_there_are_cores() {
        let trace = Case::new(&two_nodes(), 6, &[4, 5, 7, 0], 1).trace();
        assert_eq!(
            trace[..9],
            [
                "6-7 r=0: try 7",
                "6-7 r=1: try 7",
                "6-7 r=2: up",
                "4-7 r=0: try 7",
                "4-7 r=1: try 4",
                "4-7 r=2: try 5",
                "4-7 r=3: try 7",
                "4-7 r=4: up",
                "[0-7] r=0: try 7",
            ]
        );
        assert_eq!(trace.len(), 9 + 8);
    }

    /// Lines 12 and 13: one with work, and more than half of the processors look for some.
    #[test]
    fn it_backs_off_where_too_many_want_the_same() {
        let node = two_nodes();
        // Behind the cache there are two processors.
        assert_eq!(Case::new(&node, 0, &[1], 2).trace(), ["0-1 r=0: back off"]);
        assert_eq!(Case::new(&node, 0, &[1], 1).trace()[0], "0-1 r=0: try 1");
        // In the node there are four.
        let trace = Case::new(&node, 0, &[2], 3).trace();
        assert_eq!(trace, ["0-1 r=0: up", "0-3 r=0: back off"]);
        let trace = Case::new(&node, 0, &[2], 2).trace();
        assert_eq!(trace[1], "0-3 r=0: try 2");
        // Two with work are enough for all, and what others have does not count.
        let trace = Case::new(&node, 0, &[2, 3], 4).trace();
        assert_eq!(trace[1], "0-3 r=0: try 2");
        let trace = Case::new(&node, 0, &[0, 4], 4).trace();
        assert_eq!(
            trace[..3],
            ["0-1 r=0: up", "0-3 r=0: up", "[0-7] r=0: try 1"]
        );
    }

    /// Line 7: nodes ever farther away, each with as many attempts as there are cores by then.
    #[test]
    fn farther_nodes_come_later() {
        let machine: Topology = "4 nodes x 2 cores".parse().unwrap();
        let machine = machine.with_distances(&[
            &[10, 16, 22, 28],
            &[16, 10, 28, 22],
            &[22, 28, 10, 16],
            &[28, 22, 16, 10],
        ]);
        let trace = Case::new(&machine, 1, &[], 1).trace();
        let ups = trace.iter().filter(|line| !line.contains("try"));
        assert!(ups.eq([
            "0-1 r=0: up",
            "[0-3] r=4: up",
            "[0-5] r=6: up",
            "[0-7] r=8: end"
        ]));
        let first: Vec<_> = trace[1..5].iter().map(String::as_str).collect();
        assert_eq!(
            first,
            [
                "[0-3] r=0: try 0",
                "[0-3] r=1: try 2",
                "[0-3] r=2: try 3",
                "[0-3] r=3: try 0",
            ]
        );
        // The others see other neighbours.
        let trace = Case::new(&machine, 6, &[], 1).trace();
        let ups = trace.iter().filter(|line| !line.contains("try"));
        assert!(ups.eq([
            "6-7 r=0: up",
            "[4-7] r=4: up",
            "[2-7] r=6: up",
            "[0-7] r=8: end"
        ]));
    }

    /// A large machine: the climb goes by all levels, and each of those with work is as likely.
    #[test]
    fn choices_are_even_on_64_cpus() {
        let machine: Topology = "4 nodes x 2 l3 x 4 cores x 2 threads".parse().unwrap();
        let case = Case::new(&machine, 37, &[32, 33, 38, 39, 47, 60], 1);
        let levels: Vec<String> = case
            .trace()
            .into_iter()
            .filter(|l| l.contains("r=0"))
            .collect();
        assert_eq!(
            levels,
            [
                "36-37 r=0: up",
                "32-39 r=0: try 32",
                "32-47 r=0: try 39",
                "[0-63] r=0: try 24",
            ]
        );
        let mut tries = std::collections::BTreeMap::new();
        let thief = Thief::new(37, &Settings::from_environment());
        for _ in 0..4000 {
            let mut climb = Climb::new(&case.tree, 37).unwrap();
            assert_eq!(case.step(&mut climb, &mut || 0), Step::Up);
            if let Step::Try(victim) = case.step(&mut climb, &mut || thief.next_random()) {
                *tries.entry(victim).or_insert(0) += 1;
            }
        }
        assert!(tries.keys().eq(&[32, 33, 38, 39]));
        assert!(
            tries.values().all(|count| (800..1200).contains(count)),
            "{tries:?}"
        );
    }

    /// Only the processors that there are count, and an only one has no way to go.
    #[test]
    fn processors_to_come_do_not_count() {
        let mut case = Case::new(&two_nodes(), 0, &[1, 2, 3], 1);
        case.processors = 3;
        let trace = case.trace();
        assert_eq!(trace[3], "0-2 r=0: try 1");
        assert!(trace.contains(&"0-2 r=3: up".to_owned()));
        assert_eq!(trace.last().unwrap(), "[0-2] r=3: end");
        case.processors = 1;
        let trace = case.trace();
        assert_eq!(trace, ["0 r=0: up", "0 r=0: up", "[0] r=0: end"]);
        assert_eq!(Climb::new(&Tree::flat(1), 0), None);
    }

    /// A domain of busy processors on such a machine; those behind the first have these fibres.
    fn domain(links: &[Link]) -> Domain {
        let mut settings = Settings::from_environment();
        settings.steal_order = StealOrder::Hierarchical;
        settings.seed = Some(1);
        let domain = Domain::new(links.len() + 1, settings);
        let single = |cpu: usize| -> CpuSet { [cpu % 8].into_iter().collect() };
        let places: Vec<CpuSet> = (0..domain.capacity()).map(single).collect();
        let tree = two_nodes().tree(&places);
        assert!(domain.processor_tree.set(ProcessorTree::new(tree)).is_ok());
        for (index, link) in links.iter().enumerate() {
            domain.stats(index + 1).set_busy_since(1);
            // SAFETY: the link is queued once, and taken out before it goes.
            let runnable = unsafe { Runnable::new(NonNull::from(link)) };
            domain.queues()[index + 1].push_shared(runnable);
        }
        domain
    }

    /// The processor that the thief takes from.
    fn victim(thief: &Thief, domain: &Domain, links: &[Link]) -> Option<usize> {
        let fibre = thief.steal(domain, StealMode::SkipWaking)?;
        let place = links
            .iter()
            .position(|link| NonNull::from(link) == fibre.node());
        place.map(|place| place + 1)
    }

    #[test]
    fn the_nearest_part_of_the_machine_is_emptied_first() {
        let links: [Link; 7] = std::array::from_fn(|_| Link::new());
        let domain = domain(&links);
        let thief = Thief::new(0, &domain.settings);
        let mut order = Vec::new();
        while thief.has_victim(&domain) {
            // At the root it may miss.
            order.extend(victim(&thief, &domain, &links));
        }
        assert_eq!(order[0], 1);
        order[1..3].sort_unstable();
        order[3..].sort_unstable();
        assert_eq!(order, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(victim(&thief, &domain, &links), None);
        assert_eq!(domain.processor_tree().polling(0), 0);
    }

    /// A thief that backs off finds before it sleeps that there is work, and gets it when the
    /// others have gone.
    #[test]
    fn a_back_off_loses_nothing() {
        let links = [Link::new()];
        let domain = domain(&links);
        let thief = Thief::new(0, &domain.settings);
        let other = domain.processor_tree().begin_polling(2);
        assert_eq!(victim(&thief, &domain, &links), None);
        assert!(thief.has_victim(&domain));
        drop(other);
        assert_eq!(victim(&thief, &domain, &links), Some(1));
        assert!(!thief.has_victim(&domain));
    }
}
