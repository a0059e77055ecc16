//! Each message is handled once, and those of one sender in their order.

use crate::support::{Drops, each, eventually, everywhere};
use fibre::channel::unbounded;
use fibre_actors::{ActorRef, Actors, SendError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Messages of each sender.
const EACH: usize = 2000;

/// Sends the numbers of one sender.
fn send_all(to: &ActorRef<(usize, usize)>, sender: usize) {
    (0..EACH).for_each(|number| to.send((sender, number)).unwrap());
}

/// Several fibres and threads send to several actors.
#[test]
fn messages_come_once_and_in_order() {
    everywhere(|actors| {
        let (report, reports) = unbounded();
        let receivers: Vec<_> = (0..3)
            .map(|_| {
                let (report, mut next) = (report.clone(), [0; 4]);
                actors.spawn(each(move |(sender, number): (usize, usize)| {
                    assert_eq!(number, next[sender], "of sender {sender}");
                    next[sender] += 1;
                    if next == [EACH; 4] {
                        report.send(()).unwrap();
                    }
                }))
            })
            .collect();
        thread::scope(|scope| {
            for sender in 0..2 {
                let receivers = receivers.clone();
                scope.spawn(move || receivers.iter().for_each(|to| send_all(to, sender)));
            }
            for sender in 2..4 {
                let receivers = receivers.clone();
                let fibre = move || receivers.iter().for_each(|to| send_all(to, sender));
                actors.cluster().unwrap().spawn(fibre);
            }
            for _ in 0..3 {
                reports.recv().unwrap();
            }
        });
    });
}

/// Actors that pass a message on, in a ring.
#[test]
fn messages_go_round() {
    fn ring(actors: &Actors, rounds: usize) -> usize {
        let (done, is_done) = unbounded();
        let first: Arc<fibre::sync::OnceLock<ActorRef<usize>>> = Arc::default();
        let last = {
            let first = Arc::clone(&first);
            actors.spawn(each(move |count: usize| {
                if count < 10 * rounds {
                    first.get().unwrap().send(count + 1).unwrap();
                } else {
                    done.send(count).unwrap();
                }
            }))
        };
        let chain = (0..9).fold(last, |next, _| {
            actors.spawn(each(move |count: usize| next.send(count + 1).unwrap()))
        });
        first.set(chain.clone()).unwrap();
        chain.send(1).unwrap();
        let count = is_done.recv().unwrap();
        chain.stop();
        count
    }
    everywhere(|actors| assert_eq!(ring(actors, 300), 3000));
}

/// What is sent and not handled is dropped, once.
#[test]
fn nothing_is_lost_and_nothing_leaks() {
    everywhere(|actors| {
        let (drops, handled) = (Drops::new(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&handled);
        let actor = actors.spawn(each(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        }));
        for _ in 0..10_000 {
            actor.send(drops.value()).unwrap();
        }
        actor.stop();
        assert!(matches!(
            actor.send(drops.value()),
            Err(SendError::Stopped(_))
        ));
        actor.wait();
        assert_eq!(handled.load(Ordering::SeqCst), 10_000);
        eventually(|| drops.count() == 10_001);
    });
}

/// References are equal if they refer to the same actor, and as large as a pointer.
#[test]
fn references_are_small_and_compare_by_actor() {
    let actor = fibre_actors::spawn(each(|(): ()| ()));
    let other = fibre_actors::spawn(each(|(): ()| ()));
    assert_eq!(actor, actor.clone());
    assert_ne!(actor, other);
    assert_ne!(actor.id(), other.id());
    assert_eq!(size_of_val(&actor), size_of::<usize>());
    assert!(format!("{actor:?}").contains(&actor.id().to_string()));
    assert_eq!(
        (actor.name(), actor.queued(), actor.dropped()),
        (None, None, 0)
    );
}
