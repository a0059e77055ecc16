//! How actors end: told to, by themselves, or because nobody can send to them any more.

use crate::support::{Drops, each, eventually, everywhere};
use fibre::channel::{Receiver, Sender, unbounded};
use fibre::{Limit, WaitError};
use fibre_actors::{Actor, ActorRef, Actors, Builder, Context, ExitReason, SendError};
use std::time::{Duration, Instant};

/// An actor that tells of its life.
struct Told {
    tell: Sender<&'static str>,
    stop_at: Option<u32>,
}

impl Actor for Told {
    type Message = u32;

    fn started(&mut self, _: &mut Context<'_, Self>) {
        self.tell.send("started").unwrap();
    }

    fn handle(&mut self, number: u32, context: &mut Context<'_, Self>) {
        self.tell.send("handled").unwrap();
        if self.stop_at == Some(number) {
            context.stop();
        }
    }

    fn stopped(&mut self) {
        // It may block.
        fibre::sleep(Duration::from_micros(100));
        self.tell.send("stopped").unwrap();
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        fibre::sleep(Duration::from_micros(100));
        self.tell.send("dropped").unwrap();
    }
}

/// Spawns one, and what it tells.
fn told(actors: &Actors, stop_at: Option<u32>) -> (ActorRef<u32>, Receiver<&'static str>) {
    let (tell, told) = unbounded();
    (actors.spawn(Told { tell, stop_at }), told)
}

/// All that is told until the actor has been dropped.
fn life(told: &Receiver<&'static str>) -> Vec<&'static str> {
    told.iter().collect()
}

#[test]
fn a_stopped_actor_handles_what_it_has() {
    everywhere(|actors| {
        let (actor, told) = told(actors, None);
        (0..3).for_each(|number| actor.send(number).unwrap());
        actor.stop();
        assert_eq!(actor.send(3), Err(SendError::Stopped(3)));
        assert!(!actor.is_alive());
        assert_eq!(actor.wait(), ExitReason::Stopped);
        let all = [
            "started", "handled", "handled", "handled", "stopped", "dropped",
        ];
        assert_eq!(life(&told), all);
        assert_eq!(
            actor.wait_timeout(Duration::ZERO),
            Some(ExitReason::Stopped)
        );
    });
}

#[test]
fn an_actor_that_stops_itself_drops_what_it_has() {
    everywhere(|actors| {
        let (actor, told) = told(actors, Some(1));
        let sent = (0..100)
            .filter(|&number| actor.send(number).is_ok())
            .count();
        assert!(sent >= 2, "{sent}");
        assert_eq!(actor.wait(), ExitReason::Stopped);
        assert_eq!(
            life(&told),
            ["started", "handled", "handled", "stopped", "dropped"]
        );
    });
}

#[test]
fn an_actor_without_references_ends() {
    everywhere(|actors| {
        let (actor, told) = told(actors, None);
        (0..3).for_each(|number| actor.send(number).unwrap());
        let other = actor.clone();
        drop(actor);
        assert_eq!(other.wait_timeout(Duration::from_millis(1)), None);
        drop(other);
        let all = [
            "started", "handled", "handled", "handled", "stopped", "dropped",
        ];
        assert_eq!(life(&told), all);
        eventually(|| actors.is_empty());
    });
}

/// An actor that is never sent anything starts, and ends with its reference.
#[test]
fn an_idle_actor_ends_with_its_reference() {
    everywhere(|actors| {
        for _ in 0..100 {
            let (actor, told) = told(actors, None);
            if told.try_recv().is_err() {
                fibre::yield_now();
            }
            drop(actor);
            assert_eq!(life(&told).last(), Some(&"dropped"));
        }
    });
}

/// An actor that is the only one to refer to itself makes references again, or ends.
struct Phoenix(u32);

impl Actor for Phoenix {
    type Message = Option<ActorRef<Option<()>>>;

    fn handle(&mut self, message: Self::Message, context: &mut Context<'_, Self>) {
        drop(message);
        if self.0 > 0 {
            self.0 -= 1;
            context.myself().send(None).unwrap();
        }
    }
}

#[test]
fn an_actor_may_send_to_itself_without_other_references() {
    everywhere(|actors| {
        for lives in [0, 1, 100] {
            let phoenix = actors.spawn(Phoenix(lives));
            phoenix.send(None).unwrap();
            drop(phoenix);
        }
        eventually(|| actors.is_empty());
    });
}

#[test]
fn a_killed_actor_drops_what_it_has_and_waits_no_longer() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let drops = Drops::new();
        let actor = actors.spawn(each(move |value| {
            tell.send(()).unwrap();
            assert!(fibre::sleep_within(Duration::from_secs(3600)).is_err());
            drop(value);
        }));
        (0..10).for_each(|_| actor.send(drops.value()).unwrap());
        told.recv().unwrap();
        actor.kill();
        actor.kill();
        assert_eq!(actor.wait(), ExitReason::Stopped);
        eventually(|| drops.count() == 10);
        assert!(told.recv().is_err(), "a second message was handled");
    });
}

#[test]
fn an_idle_actor_can_be_killed() {
    everywhere(|actors| {
        let (actor, told) = told(actors, None);
        actor.send(0).unwrap();
        while told.recv() != Ok("handled") {}
        fibre::sleep(Duration::from_micros(300));
        actor.kill();
        assert_eq!(actor.wait(), ExitReason::Stopped);
        assert_eq!(life(&told), ["stopped", "dropped"]);
    });
}

/// Waits are many, and those that give up leave nothing behind.
#[test]
fn many_wait_for_an_end() {
    everywhere(|actors| {
        let actor = actors.spawn(each(|(): ()| ()));
        let wait = |number| {
            let actor = actor.clone();
            fibre::spawn(move || match number % 2 {
                0 => Some(actor.wait()),
                _ => actor.wait_timeout(Duration::from_millis(number)),
            })
        };
        let waiting: Vec<_> = (0..10).map(wait).collect();
        let (patient, limited): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .enumerate()
            .partition(|(number, _)| number % 2 == 0);
        for (_, fibre) in limited {
            assert_eq!(fibre.join().unwrap(), None);
        }
        assert_eq!(actor.wait_within(Instant::now()), Err(WaitError::TimedOut));
        let cancelled = {
            let actor = actor.clone();
            fibre::spawn(move || actor.wait_within(Limit::Cancellation))
        };
        cancelled.cancel();
        assert_eq!(cancelled.join().unwrap(), Err(WaitError::Cancelled));
        actor.stop();
        for (_, fibre) in patient {
            assert_eq!(fibre.join().unwrap(), Some(ExitReason::Stopped));
        }
    });
}

/// Spawns an actor among its own, and waits for its end.
struct Parent(Sender<ExitReason>);

impl Actor for Parent {
    type Message = u32;

    fn handle(&mut self, depth: u32, context: &mut Context<'_, Self>) {
        let child = match depth {
            0 => context.spawn_hub(each(|_: u32| ())),
            _ => context.spawn(Parent(self.0.clone())),
        };
        child.send(depth.saturating_sub(1)).unwrap();
        let named = Builder::new().name("sibling");
        let sibling = named
            .spawn_in(&context.actors(), each(|(): ()| ()))
            .unwrap();
        assert_eq!(sibling.name(), Some("sibling"));
        child.stop();
        self.0.send(child.wait()).unwrap();
    }
}

#[test]
fn actors_spawn_others() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let parent = actors.spawn_hub(Parent(tell));
        parent.send(10).unwrap();
        drop(parent);
        assert_eq!(told.iter().count(), 11);
        eventually(|| actors.is_empty());
    });
}

/// Those that refer to each other end when one is stopped.
#[test]
fn actors_in_a_circle_end_when_one_is_stopped() {
    struct Friend(Option<ActorRef<Hello>>);
    struct Hello(ActorRef<Hello>);
    impl Actor for Friend {
        type Message = Hello;
        fn handle(&mut self, Hello(other): Hello, _: &mut Context<'_, Self>) {
            self.0 = Some(other);
        }
    }
    everywhere(|actors| {
        let (one, other) = (actors.spawn(Friend(None)), actors.spawn(Friend(None)));
        one.send(Hello(other.clone())).unwrap();
        other.send(Hello(one.clone())).unwrap();
        drop(other);
        fibre::sleep(Duration::from_millis(1));
        assert_eq!(actors.len(), 2);
        one.stop();
        drop(one);
        eventually(|| actors.is_empty());
    });
}
