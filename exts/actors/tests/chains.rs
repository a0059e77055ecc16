//! Long chains of actors that end with each other, on a fibre's stack. In a process of their own:
//! the tests of what actors weigh look at the memory of theirs.
#![cfg(not(loom))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use fibre::Cluster;
use fibre_actors::{Actor, ActorRef, Actors, Context, Exit, ExitReason};
use std::sync::Arc;

#[path = "../../../tests/support/watchdog.rs"]
#[allow(dead_code, reason = "a part is used")]
mod watchdog;

use watchdog::watched;

/// How long the chains are.
const LENGTH: usize = 100_000;

/// An actor that holds the last reference to the next one of a chain.
struct Link {
    _next: Option<ActorRef<u32>>,
    _witness: Arc<()>,
}

impl Actor for Link {
    type Message = u32;

    fn handle(&mut self, _: u32, _: &mut Context<'_, Self>) {}
}

/// Drops something on a fibre, with a stack of the usual size.
fn drop_on_a_fibre(value: impl Send + 'static) {
    fibre::spawn(move || drop(value)).join().unwrap();
}

#[test]
fn a_chain_of_references_ends_with_its_cluster_stopped() {
    watched(|| {
        for loose in [true, false] {
            let witness = Arc::new(());
            let cluster = Cluster::builder().processors(2).build().unwrap();
            let values = vec![Arc::clone(&witness); LENGTH];
            let actors = Actors::within(&cluster);
            let make = move || {
                let link = |_next, _witness| {
                    let link = Link { _next, _witness };
                    Some(match loose {
                        true => fibre_actors::spawn(link),
                        false => actors.spawn(link),
                    })
                };
                values.into_iter().fold(None, link)
            };
            let first = cluster.spawn(make).join().unwrap();
            cluster.stop();
            drop_on_a_fibre(first);
            assert_eq!(Arc::strong_count(&witness), 1);
        }
    });
}

/// Ends when another one has.
struct Mourner;

impl Actor for Mourner {
    type Message = Exit;

    fn handle(&mut self, _: Exit, context: &mut Context<'_, Self>) {
        context.stop();
    }
}

#[test]
fn a_chain_of_monitors_ends_with_its_cluster_stopped() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let make = || {
            let first = fibre_actors::spawn(Mourner);
            let mut last = first.clone();
            for _ in 1..LENGTH {
                let next = fibre_actors::spawn(Mourner);
                last.monitor(&next, |exit| exit);
                last = next;
            }
            (first, last)
        };
        let (first, last) = cluster.spawn(make).join().unwrap();
        cluster.stop();
        drop_on_a_fibre(first);
        assert_eq!(last.wait(), ExitReason::ClusterStopped);
    });
}
