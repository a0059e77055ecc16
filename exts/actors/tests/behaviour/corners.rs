//! Corners where something was lost once.

use crate::support::{each, watchdog::watched};
use fibre::Cluster;
use fibre::channel::unbounded;
use fibre::sync::{Event, Semaphore};
use fibre_actors::{Actor, ActorRef, Actors, AskError, Context, ExitReason, Reply, Timer};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A timer that is always due leaves time for what it sends.
#[test]
fn a_short_period_keeps_nobody() {
    struct Hurried {
        timer: Option<Timer>,
        handled: Arc<AtomicUsize>,
    }
    impl Actor for Hurried {
        type Message = ();
        fn started(&mut self, context: &mut Context<'_, Self>) {
            self.timer = Some(context.every(Duration::from_nanos(1), ()));
        }
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
            self.handled.fetch_add(1, Ordering::SeqCst);
        }
    }
    watched(|| {
        let builder = Actors::builder().processors(1);
        let alone = builder.cluster(|cluster| cluster.max_spare_processors(0));
        let actors = alone.build().unwrap();
        let handled = Arc::new(AtomicUsize::new(0));
        let hurried = actors.spawn(Hurried {
            timer: None,
            handled: Arc::clone(&handled),
        });
        let began = Instant::now();
        while handled.load(Ordering::SeqCst) < 100 {
            assert!(began.elapsed() < Duration::from_secs(5), "starved");
            thread::sleep(Duration::from_millis(1));
        }
        drop(hurried);
        actors.stop();
    });
}

/// A killed actor handles nothing more, also if it was about to handle another batch.
#[test]
fn a_kill_between_two_batches_ends_the_actor() {
    watched(|| {
        let actors = Actors::builder().processors(1).batch(10).build().unwrap();
        let handled = Arc::new(AtomicUsize::new(0));
        let killer = actors.spawn(each(|victim: ActorRef<u32>| victim.kill()));
        struct Victim(Arc<AtomicUsize>, ActorRef<ActorRef<u32>>);
        impl Actor for Victim {
            type Message = u32;
            fn handle(&mut self, number: u32, context: &mut Context<'_, Self>) {
                if number == 0 {
                    // All are here before the first one has been handled.
                    (1..30).for_each(|number| context.myself().send(number).unwrap());
                }
                let handled = self.0.fetch_add(1, Ordering::SeqCst) + 1;
                // The last one of the first batch, and the tenth of what was taken then.
                if handled == 10 {
                    self.1.send(context.myself()).unwrap();
                }
            }
        }
        let victim = actors.spawn(Victim(Arc::clone(&handled), killer.clone()));
        victim.send(0).unwrap();
        assert_eq!(victim.wait(), ExitReason::Stopped);
        assert_eq!(handled.load(Ordering::SeqCst), 10);
        drop(killer);
        actors.stop();
    });
}

/// Two callers may stop the same actors.
#[test]
fn two_may_stop() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        for _ in 0..3000 {
            let actors = Actors::within(&cluster);
            for _ in 0..3 {
                drop(actors.spawn(each(|()| ())));
            }
            thread::scope(|scope| {
                for _ in 0..3 {
                    let actors = actors.clone();
                    scope.spawn(move || actors.stop());
                }
            });
        }
        cluster.stop();
    });
}

/// An actor that has been abandoned is seen as ended, whatever it does later.
#[test]
fn an_abandoned_actor_stays_ended() {
    struct Stubborn {
        begun: Arc<Event>,
        goes_on: Arc<Semaphore>,
    }
    impl Actor for Stubborn {
        type Message = ();
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
            self.begun.set();
            self.goes_on.acquire();
        }
        fn stopped(&mut self) {
            self.goes_on.acquire();
        }
    }
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let actors = Actors::within(&cluster);
        let (begun, goes_on) = (Arc::new(Event::new()), Arc::new(Semaphore::new(0)));
        let stubborn = actors.spawn(Stubborn {
            begun: Arc::clone(&begun),
            goes_on: Arc::clone(&goes_on),
        });
        stubborn.send(()).unwrap();
        begun.wait();
        let time = Duration::from_millis(1);
        assert_eq!(actors.stop_within(time, time).unwrap_err().actors.len(), 1);
        assert_eq!(stubborn.wait(), ExitReason::ClusterStopped);
        goes_on.release();
        thread::sleep(Duration::from_millis(100));
        let now = stubborn.wait_timeout(Duration::from_millis(10));
        goes_on.release();
        assert_eq!(now, Some(ExitReason::ClusterStopped), "it lives again");
        cluster.stop();
    });
}

/// A question without a limit does not notice cancellation; one with a time is asked.
#[test]
fn a_cancelled_fibre_may_ask() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let actors = Actors::within(&cluster);
        let (tell, told) = unbounded();
        let echo = actors.spawn(each(move |reply: Reply<u32>| {
            tell.send(()).unwrap();
            reply.send(7);
        }));
        let asked = cluster.spawn(move || {
            while !fibre::is_cancelled() {
                fibre::yield_now();
            }
            let never = echo.ask_within(fibre::Limit::Cancellation, |reply| reply);
            let unlimited = echo.ask_within(fibre::Limit::None, |reply| reply);
            let timed = echo.ask_timeout(Duration::from_secs(60), |reply| reply);
            (never, unlimited, timed)
        });
        asked.cancel();
        let (never, unlimited, timed) = asked.join().unwrap();
        assert_eq!(never, Err(AskError::Cancelled));
        assert_eq!(unlimited, Ok(7));
        assert!(matches!(timed, Ok(7) | Err(AskError::Cancelled)));
        assert_eq!(told.recv(), Ok(()));
        assert_eq!(told.recv(), Ok(()), "the timed one has been sent");
        actors.stop();
        cluster.stop();
    });
}

/// Those who wait for an actor learn that its cluster has been stopped.
#[test]
fn a_loose_actor_ends_with_its_cluster() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let idle = cluster.spawn(|| fibre_actors::spawn(each(|()| ())));
        let idle = idle.join().unwrap();
        thread::sleep(Duration::from_millis(50));
        cluster.stop();
        let ended = idle.wait_timeout(Duration::from_secs(2));
        assert_eq!(ended, Some(ExitReason::ClusterStopped));
    });
}

/// An actor that holds a question on its stack, or keeps it, and is stuck for good.
struct Stuck {
    kept: Vec<Reply<()>>,
    begun: fibre::channel::Sender<()>,
}

impl Actor for Stuck {
    type Message = (bool, Reply<()>);

    fn handle(&mut self, (keeps, reply): Self::Message, _: &mut Context<'_, Self>) {
        if keeps {
            self.kept.push(reply);
        } else {
            self.begun.send(()).unwrap();
            fibre::shield(|| fibre::sync::Event::new().wait());
            reply.send(());
        }
    }
}

/// Asks a stuck actor: one question that it keeps, and one that it has on its stack. One is waited
/// for by a thread, the other by a fibre of another cluster, or of the actor's.
fn ask_stuck(
    stuck: &ActorRef<(bool, Reply<()>)>,
    begins: &fibre::channel::Receiver<()>,
    cluster: Option<&Cluster>,
) -> impl FnOnce() -> [Result<(), AskError>; 3] {
    let kept = stuck.clone();
    let kept = move || kept.ask(|reply| (true, reply));
    let kept = match cluster {
        Some(cluster) => cluster.spawn(kept),
        None => fibre::spawn(kept),
    };
    let pending = stuck.request(|reply| (true, reply)).unwrap();
    fibre::sleep(Duration::from_millis(5));
    let held = stuck.clone();
    let held = thread::spawn(move || held.ask(|reply| (false, reply)));
    begins.recv().unwrap();
    let pending = thread::spawn(move || pending.wait());
    move || {
        [
            kept.join().unwrap(),
            held.join().unwrap(),
            pending.join().unwrap(),
        ]
    }
}

/// Those who have asked an actor that is left behind with their questions are told.
#[test]
fn questions_to_an_actor_that_is_left_behind_end() {
    watched(|| {
        let new = |begun| Stuck {
            kept: Vec::new(),
            begun,
        };
        let moment = Duration::from_millis(10);
        // Its cluster is stopped.
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let (begun, begins) = unbounded();
        let stuck = cluster.spawn(move || fibre_actors::spawn(new(begun)));
        let stuck = stuck.join().unwrap();
        let answers = ask_stuck(&stuck, &begins, None);
        cluster.stop_within(Duration::ZERO, moment).unwrap_err();
        assert_eq!(answers(), [Err(AskError::Stopped); 3]);
        // It is stopped with its like, and its cluster goes on.
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let (begun, begins) = unbounded();
        let actors = Actors::within(&cluster);
        let stuck = actors.spawn(new(begun));
        let answers = ask_stuck(&stuck, &begins, Some(&cluster));
        actors.stop_within(Duration::ZERO, moment).unwrap_err();
        assert_eq!(answers(), [Err(AskError::Stopped); 3]);
        // With both.
        let actors = Actors::builder().processors(1).build().unwrap();
        let (begun, begins) = unbounded();
        let stuck = actors.spawn(new(begun));
        let own = actors.cluster().cloned();
        let answers = ask_stuck(&stuck, &begins, own.as_ref());
        actors.stop_within(Duration::ZERO, moment).unwrap_err();
        let [kept, held, pending] = answers();
        assert!(kept.is_err(), "{kept:?}");
        assert_eq!([held, pending], [Err(AskError::Stopped); 2]);
    });
}

/// An answer that is there when its actor is left behind is the answer.
#[test]
fn answers_before_the_end_count() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let (tell, told) = unbounded();
        let answers = cluster.spawn(move || {
            fibre_actors::spawn(each(move |reply: Reply<u32>| {
                reply.send(7);
                tell.send(()).unwrap();
                fibre::shield(|| fibre::sync::Event::new().wait());
            }))
        });
        let answers = answers.join().unwrap();
        let pending = answers.request(|reply| reply).unwrap();
        told.recv().unwrap();
        cluster
            .stop_within(Duration::ZERO, Duration::from_millis(10))
            .unwrap_err();
        assert_eq!(pending.wait(), Ok(7));
    });
}

/// Those who wait for an actor that nobody stops learn that its cluster has left it behind, also
/// those with questions in its mailbox.
#[test]
fn a_loose_actor_that_is_left_behind_is_seen_to_end() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let (tell, told) = unbounded();
        let stuck = cluster.spawn(move || {
            fibre_actors::spawn(each(move |reply: Option<Reply<()>>| {
                tell.send(reply.is_some()).unwrap();
                fibre::shield(|| fibre::sync::Event::new().wait());
            }))
        });
        let stuck = stuck.join().unwrap();
        stuck.send(None).unwrap();
        assert_eq!(told.recv(), Ok(false));
        let pending = stuck.request(Some).unwrap();
        let waiter = {
            let stuck = stuck.clone();
            thread::spawn(move || stuck.wait())
        };
        cluster
            .stop_within(Duration::ZERO, Duration::from_millis(10))
            .unwrap_err();
        assert_eq!(waiter.join().unwrap(), ExitReason::ClusterStopped);
        assert_eq!(pending.wait(), Err(AskError::Stopped));
        assert!(stuck.send(None).is_err());
    });
}
