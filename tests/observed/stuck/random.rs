//! Random graphs of fibres and semaphores: no fibre is found that the graph says can be woken.

use super::{alone, found_at_last, leave, until_waiting};
use crate::support::random::Random;
use fibre::sync::{Event, Semaphore};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const NODES: usize = 60;
const FIBRES: usize = 60;

/// More permits than fibres that may wait at a node.
const PERMITS: usize = FIBRES + 1;

/// What fibres wait at.
struct Node {
    permits: Semaphore,
    edges: Mutex<Vec<Arc<Node>>>,
    visited: AtomicBool,
}

/// Kept by the process.
static KEPT: Mutex<Vec<Arc<Node>>> = Mutex::new(Vec::new());

/// Wakes all fibres that wait at nodes which these lead to.
fn visit(mut nodes: Vec<Arc<Node>>) {
    while let Some(node) = nodes.pop() {
        if !node.visited.swap(true, Ordering::AcqRel) {
            node.permits.release_many(PERMITS);
            nodes.extend(node.edges.lock().unwrap().iter().cloned());
        }
    }
}

/// A graph, by numbers.
struct Graph {
    /// Of each node, those that it refers to.
    edges: Vec<Vec<usize>>,
    /// Of each fibre, the node that it waits at, and those that it has.
    fibres: Vec<(usize, Vec<usize>)>,
    /// What the test, a static, a thread, and a fibre that can go on have.
    roots: [Vec<usize>; 4],
}

impl Graph {
    fn new(random: &mut Random) -> Self {
        let mut some = |most: usize| -> Vec<usize> {
            let count = random.below(most + 1);
            (0..count).map(|_| random.below(NODES)).collect()
        };
        let edges = (0..NODES).map(|_| some(1)).collect();
        let roots = [6; 4].map(&mut some);
        let has: Vec<_> = (0..FIBRES).map(|_| some(1)).collect();
        let waits = has.into_iter().map(|has| (random.below(NODES), has));
        let fibres = waits.collect();
        Self {
            edges,
            fibres,
            roots,
        }
    }

    /// The fibres that nothing leads to from the roots.
    fn stuck(&self) -> Vec<String> {
        let (mut nodes, mut reached) = (HashSet::new(), HashSet::new());
        let mut next = self.roots.concat();
        while let Some(node) = next.pop() {
            if !nodes.insert(node) {
                continue;
            }
            next.extend(&self.edges[node]);
            for (number, (waits, has)) in self.fibres.iter().enumerate() {
                if *waits == node && reached.insert(number) {
                    next.extend(has);
                }
            }
        }
        let left = (0..FIBRES).filter(|number| !reached.contains(number));
        let mut names: Vec<_> = left.map(|number| number.to_string()).collect();
        names.sort();
        names
    }

    /// Makes nodes and fibres. Returns what the test has, and an event that ends the others.
    #[inline(never)]
    fn make(&self, prefix: &str) -> (Vec<Arc<Node>>, Arc<Event>) {
        let node = |_| {
            Arc::new(Node {
                permits: Semaphore::new(0),
                edges: Mutex::default(),
                visited: AtomicBool::new(false),
            })
        };
        let nodes: Vec<_> = (0..NODES).map(node).collect();
        let these = |numbers: &[usize]| -> Vec<_> {
            let shares = numbers.iter().map(|number| Arc::clone(&nodes[*number]));
            shares.collect()
        };
        for (node, edges) in nodes.iter().zip(&self.edges) {
            *node.edges.lock().unwrap() = these(edges);
        }
        for (number, (waits, has)) in self.fibres.iter().enumerate() {
            let (waits, has) = (Arc::clone(&nodes[*waits]), these(has));
            leave(&format!("{prefix}{number}"), move || {
                waits.permits.acquire();
                visit(has);
            });
            // Links of a queue that they were in together would look like references.
            fibre::sleep(Duration::from_millis(1));
        }
        let go = Arc::new(Event::new());
        *KEPT.lock().unwrap() = these(&self.roots[1]);
        let (has, waits) = (these(&self.roots[2]), Arc::clone(&go));
        drop(thread::spawn(move || {
            waits.wait();
            visit(has);
        }));
        let (has, waits) = (these(&self.roots[3]), Arc::clone(&go));
        leave("root", move || {
            waits.wait();
            visit(has);
        });
        (these(&self.roots[0]), go)
    }
}

/// In each graph all that are found are stuck, and some are found; all others can be woken.
fn check(seed: u64) {
    alone(&format!("random{seed}"), |cluster, prefix| {
        let graph = Arc::new(Graph::new(&mut Random::new(seed)));
        let (makes, begins) = (Arc::clone(&graph), prefix.to_owned());
        let made = cluster.spawn(move || makes.make(&begins)).join().unwrap();
        until_waiting(prefix, FIBRES);
        let is_any = |found: &[Vec<String>]| !found.is_empty();
        let (stuck, mut names) = (graph.stuck(), found_at_last(prefix, is_any).concat());
        names.sort();
        let wrong: Vec<_> = names.iter().filter(|name| !stuck.contains(name)).collect();
        assert!(wrong.is_empty(), "seed {seed}: {wrong:?} are not stuck");
        let (roots, go) = made;
        go.set();
        visit(roots);
        visit(std::mem::take(&mut *KEPT.lock().unwrap()));
        until_waiting(prefix, stuck.len());
        assert!(!stuck.is_empty() && stuck.len() < FIBRES, "seed {seed}");
        // Old words hide some: a block or stack that is reached counts as a whole.
        !names.is_empty()
    });
}

#[test]
fn a_graph_that_chance_has_made() {
    check(1);
}

#[test]
fn another_graph_that_chance_has_made() {
    check(2);
}
