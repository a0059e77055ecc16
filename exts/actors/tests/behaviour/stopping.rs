//! The end of all actors.

use crate::support::{Drops, each, everywhere, watchdog::watched};
use fibre::Cluster;
use fibre::channel::{Sender, unbounded};
use fibre::sync::Event;
use fibre_actors::{
    Actor, ActorRef, Actors, AskError, Builder, Context, Exit, ExitReason, PendingReply, Reply,
    SendError, Timer,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Counts what it handles and its end.
struct Counted {
    handled: Arc<AtomicUsize>,
    stopped: Arc<AtomicUsize>,
    _timer: Option<Timer>,
}

impl Actor for Counted {
    type Message = ();

    fn started(&mut self, context: &mut Context<'_, Self>) {
        self._timer = Some(context.every(Duration::from_secs(3600), ()));
    }

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
        self.handled.fetch_add(1, Ordering::SeqCst);
    }

    fn stopped(&mut self) {
        self.stopped.fetch_add(1, Ordering::SeqCst);
    }
}

/// A stop handles what is in mailboxes, ends idle actors and timers, and tells those who watch.
#[test]
fn a_stop_is_orderly() {
    for processors in [1, 2, 4] {
        watched(|| {
            let actors = Actors::builder().processors(processors).build().unwrap();
            let (handled, stopped) = (Arc::default(), Arc::default());
            let all: Vec<_> = (0..200)
                .map(|_| {
                    actors.spawn(Counted {
                        handled: Arc::clone(&handled),
                        stopped: Arc::clone(&stopped),
                        _timer: None,
                    })
                })
                .collect();
            let (tell, told) = unbounded();
            let observer = fibre_actors::spawn(each(move |exit: Exit| tell.send(exit).unwrap()));
            for actor in &all {
                actor.monitor(&observer, |exit| exit);
                (0..10).for_each(|_| actor.send(()).unwrap());
            }
            assert_eq!(actors.len(), 200);
            let witness = actors.clone();
            actors.stop();
            assert_eq!(handled.load(Ordering::SeqCst), 2000);
            assert_eq!(stopped.load(Ordering::SeqCst), 200);
            assert!(witness.is_empty());
            for _ in 0..200 {
                assert_eq!(told.recv().unwrap().reason, ExitReason::ClusterStopped);
            }
            assert!(
                all.iter()
                    .all(|actor| actor.send(()) == Err(SendError::Stopped(())))
            );
            let late = Builder::new().spawn_in(&witness, each(|(): ()| ()));
            assert!(late.is_err());
        });
    }
}

/// An actor that is spawned while all are being stopped starts, and ends.
#[test]
fn actors_are_spawned_during_a_stop() {
    struct Restless(Arc<AtomicUsize>);
    impl Actor for Restless {
        type Message = u32;
        fn started(&mut self, _: &mut Context<'_, Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        fn handle(&mut self, number: u32, context: &mut Context<'_, Self>) {
            fibre::sleep(Duration::from_micros(300));
            let _ = context.spawn(Restless(Arc::clone(&self.0))).send(number);
        }
    }
    impl Drop for Restless {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    for processors in [1, 2, 4] {
        watched(|| {
            let actors = Actors::builder().processors(processors).build().unwrap();
            let alive = Arc::new(AtomicUsize::new(0));
            for _ in 0..20 {
                actors.spawn(Restless(Arc::clone(&alive))).send(0).unwrap();
            }
            fibre::sleep(Duration::from_millis(3));
            actors.stop();
            assert_eq!(alive.load(Ordering::SeqCst), 0);
        });
    }
}

/// What does not end in time is killed, and what does not end then is named.
#[test]
fn a_stop_within_limits_names_what_is_left() {
    watched(|| {
        let actors = Actors::builder().processors(2).build().unwrap();
        let (tell, told) = unbounded();
        let begun = tell.clone();
        let dozes = actors.spawn(each(move |(): ()| {
            begun.send(()).unwrap();
            let _ = fibre::sleep_within(Duration::from_secs(3600));
        }));
        let stubborn = each(move |_: Option<fibre_actors::Reply<()>>| {
            tell.send(()).unwrap();
            fibre::shield(|| fibre::sleep(Duration::from_secs(3600)));
        });
        let stubborn = Builder::new().name("stubborn").spawn_in(&actors, stubborn);
        let stubborn: ActorRef<_> = stubborn.unwrap();
        dozes.send(()).unwrap();
        stubborn.send(None).unwrap();
        (0..2).for_each(|_| told.recv().unwrap());
        let asker = stubborn.clone();
        let asker = fibre::spawn(move || asker.ask(Some));
        let short = Duration::from_millis(50);
        let error = actors.stop_within(short, short).unwrap_err();
        assert_eq!(error.actors.len(), 1, "{error}");
        assert_eq!(error.actors[0].name.as_deref(), Some("stubborn"));
        assert!(error.to_string().contains("stubborn"));
        assert_eq!(dozes.wait(), ExitReason::ClusterStopped);
        assert_eq!(stubborn.wait(), ExitReason::ClusterStopped);
        assert_eq!(
            stubborn.send(None).unwrap_err().to_string(),
            "the actor has stopped"
        );
        assert_eq!(asker.join().unwrap(), Err(fibre_actors::AskError::Stopped));
    });
}

/// An actor that waits when its cluster unwinds what waits ends with its cluster, and is dropped.
/// It has not panicked, and is not told that it stops: its method was cut short.
#[test]
fn an_actor_that_is_unwound_ends_with_its_cluster() {
    /// What waits is unwound after half of it.
    const PATIENT: Duration = Duration::from_secs(4);

    /// A thread that asks.
    type Asks = thread::JoinHandle<Result<(), AskError>>;

    /// Waits for ever.
    struct Waits(Drops, Sender<()>);

    impl Actor for Waits {
        type Message = Option<Reply<()>>;

        fn handle(&mut self, _: Self::Message, _: &mut Context<'_, Self>) {
            let _value = self.0.value();
            self.1.send(()).unwrap();
            Event::new().wait();
        }

        fn stopped(&mut self) {
            unreachable!();
        }
    }

    watched(|| {
        let drops = Drops::new();
        let (tell, told) = unbounded();
        let waits = || Waits(drops.clone(), tell.clone());
        let begin = |actor: &ActorRef<Option<Reply<()>>>| {
            let asks = actor.clone();
            let asks = thread::spawn(move || asks.ask(Some));
            told.recv().unwrap();
            let kept = actor.request(Some).unwrap();
            (asks, kept)
        };
        let look = |actor: &ActorRef<_>, (asks, kept): (Asks, PendingReply<()>), ended| {
            assert_eq!(actor.wait(), ExitReason::ClusterStopped);
            assert_eq!(drops.count(), ended);
            assert!(asks.join().unwrap().is_err());
            assert!(kept.wait().is_err());
        };
        // With the actors of its own cluster.
        let actors = Actors::builder().processors(2).build().unwrap();
        let actor = actors.spawn(waits());
        let asked = begin(&actor);
        actors.stop_within(Duration::ZERO, PATIENT).unwrap();
        look(&actor, asked, 1);
        // With a cluster that knows nothing of actors.
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let waits = waits();
        let actor = cluster.spawn(move || fibre_actors::spawn(waits));
        let actor = actor.join().unwrap();
        let asked = begin(&actor);
        cluster.stop_within(Duration::ZERO, PATIENT).unwrap();
        look(&actor, asked, 2);
    });
}

/// Actors of a cluster that goes on.
#[test]
fn a_cluster_outlives_its_actors() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        for _ in 0..3 {
            let actors = Actors::within(&cluster);
            let stopper = actors.clone();
            let actor = actors.spawn(each(|(): ()| ()));
            actor.send(()).unwrap();
            // A fibre of the cluster may do it, if it is not one of the actors.
            cluster.spawn(move || stopper.stop()).join().unwrap();
            assert!(!actor.is_alive());
        }
        cluster.stop();
    });
}

/// An actor cannot wait for its own end.
#[test]
fn actors_are_not_stopped_by_one_of_them() {
    struct Suicide(Option<Actors>);
    impl Actor for Suicide {
        type Message = ();
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
            self.0.take().unwrap().stop();
        }
    }
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        for actors in [
            Actors::builder().processors(1).build().unwrap(),
            Actors::within(&cluster),
        ] {
            let actor = actors.spawn(Suicide(Some(actors.clone())));
            actor.send(()).unwrap();
            assert_eq!(actor.wait(), ExitReason::Panicked);
            actors.stop();
        }
        cluster.stop();
    });
}

/// Actors end when somebody notices that their cluster was stopped under them.
#[test]
fn actors_end_with_a_cluster_that_is_stopped() {
    watched(|| {
        for last in [false, true] {
            let drops = Drops::new();
            let cluster = Cluster::builder().processors(2).build().unwrap();
            let value = drops.value();
            let actor = cluster.spawn(move || {
                fibre_actors::spawn(each(move |_: u32| {
                    let _ = &value;
                }))
            });
            let actor = actor.join().unwrap();
            actor.send(1).unwrap();
            cluster.stop();
            assert_eq!(drops.count(), 0);
            if last {
                drop(actor);
            } else {
                assert_eq!(actor.send(2), Err(SendError::Stopped(2)));
                assert_eq!(actor.wait(), ExitReason::ClusterStopped);
            }
            assert_eq!(drops.count(), 1);
        }
    });
}

/// Actors that nobody stops end with their references, and their cluster with them.
#[test]
fn actors_need_not_be_stopped() {
    everywhere(|_| {
        let actors = Actors::builder().processors(2).build().unwrap();
        let drops = Drops::new();
        let value = drops.value();
        let actor = actors.spawn(each(move |(): ()| {
            let _ = &value;
        }));
        drop(actors);
        actor.send(()).unwrap();
        drop(actor);
        crate::support::eventually(|| drops.count() == 1);
    });
}
