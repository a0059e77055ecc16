//! Where an actor begins: under each policy at the head of its spawner's queue.

use crate::support::watchdog;
use fibre::channel::{Sender, unbounded};
use fibre::{Cluster, JoinHandle};
use fibre_actors::{Actor, Actors, Builder, Context, Policy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Says which it is, and where, when it begins.
struct Child(u32, Sender<(u32, Option<usize>)>);

impl Actor for Child {
    type Message = ();

    fn started(&mut self, _: &mut Context<'_, Self>) {
        self.1.send((self.0, fibre::processor())).unwrap();
    }

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
}

/// Spawns others, and nothing else meanwhile.
struct Parent;

/// How many to spawn, and who is told.
struct Spawn(u32, Sender<(u32, Option<usize>)>);

impl Actor for Parent {
    type Message = Spawn;

    fn handle(&mut self, Spawn(count, tell): Spawn, context: &mut Context<'_, Self>) {
        for number in 0..count {
            context.spawn(Child(number, tell.clone()));
        }
    }
}

/// Keeps all processors but the first, so that nobody steals from that. Returns what lets them go.
fn keep_others(cluster: &Cluster, processors: usize) -> (Arc<AtomicBool>, Vec<JoinHandle<()>>) {
    let (begun, free) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let kept = (1..processors).map(|processor| {
        let (begun, free) = (Arc::clone(&begun), Arc::clone(&free));
        let keep = fibre::Builder::new().on_processor(processor);
        let keep = keep.spawn_in(cluster, move || {
            begun.fetch_add(1, Ordering::SeqCst);
            while !free.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        });
        keep.unwrap()
    });
    let kept = kept.collect();
    while begun.load(Ordering::SeqCst) + 1 < processors {
        thread::yield_now();
    }
    (free, kept)
}

/// The newest is first, and all begin where they were spawned: at the head of one queue.
#[test]
fn an_actor_begins_at_the_head_of_its_spawners_queue() {
    for policy in Policy::ALL {
        for processors in [1, 2, 4] {
            let remark = format!(" with {policy:?} and {processors} processors");
            watchdog::watched_for(watchdog::LIMIT, &remark, || {
                let builder = Actors::builder().policy(policy).processors(processors);
                let builder = builder.cluster(|cluster| cluster.max_spare_processors(0));
                let actors = builder.build().unwrap();
                let (free, kept) = keep_others(actors.cluster().unwrap(), processors);
                let (tell, told) = unbounded();
                let parent = Builder::new().on_processor(0);
                let parent = parent.spawn_in(&actors, Parent).unwrap();
                parent.send(Spawn(10, tell)).unwrap();
                let order: Vec<_> = told.iter().collect();
                let right = (0..10).rev().map(|number| (number, Some(0)));
                assert!(order.iter().copied().eq(right), "{order:?}{remark}");
                free.store(true, Ordering::SeqCst);
                kept.into_iter().for_each(|fibre| fibre.join().unwrap());
                actors.stop();
            });
        }
    }
}

/// Others take what begins at a processor that is kept.
#[test]
fn others_take_what_a_kept_spawner_has() {
    for policy in Policy::ALL {
        watchdog::watched_for(watchdog::LIMIT, &format!(" with {policy:?}"), || {
            let actors = Actors::builder().policy(policy).processors(2);
            let actors = actors.build().unwrap();
            let inside = actors.clone();
            let keeper = fibre::Builder::new().on_processor(0);
            let keeper = keeper.spawn_in(actors.cluster().unwrap(), move || {
                let (tell, told) = unbounded();
                (0..3).for_each(|number| drop(inside.spawn(Child(number, tell.clone()))));
                // The thread is kept meanwhile, so nothing begins here.
                while told.len() < 3 {
                    thread::yield_now();
                }
                told.try_iter().all(|(_, place)| place == Some(1))
            });
            assert!(keeper.unwrap().join().unwrap(), "{policy:?}");
            actors.stop();
        });
    }
}
