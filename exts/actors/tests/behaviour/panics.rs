//! An actor that panics ends, and all who have to do with it learn of it.

use crate::support::{Drops, each, eventually, everywhere, with_mailbox};
use fibre::channel::{Sender, unbounded};
use fibre_actors::{
    Actor, AskError, Builder, Context, Exit, ExitReason, Mailbox, Overflow, Reply, Restarts,
    SendError,
};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Panics without a report of std's.
fn fail() -> ! {
    resume_unwind(Box::new("planned"))
}

/// What a fragile actor is told.
#[allow(dead_code, reason = "what is held is dropped")]
enum Order {
    Hold(crate::support::drops::Counted),
    Answer(Reply<()>),
    Fail,
}

/// An actor that fails when it is told to.
struct Fragile {
    stopped: Sender<()>,
    _state: crate::support::drops::Counted,
}

impl Actor for Fragile {
    type Message = Order;

    fn handle(&mut self, order: Order, _: &mut Context<'_, Self>) {
        match order {
            Order::Hold(_) | Order::Answer(_) => {}
            Order::Fail => fail(),
        }
    }

    fn stopped(&mut self) {
        self.stopped.send(()).unwrap();
    }
}

#[test]
fn a_panic_ends_the_actor_and_drops_what_it_has() {
    everywhere(|actors| {
        let drops = Drops::new();
        let (stopped, has_stopped) = unbounded();
        let (tell, told) = unbounded();
        let observer = actors.spawn(each(move |exit: Exit| tell.send(exit).unwrap()));
        let fragile = Fragile {
            stopped,
            _state: drops.value(),
        };
        let builder = Builder::new().name("fragile");
        let fragile = builder.spawn_in(actors, fragile).unwrap();
        fragile.monitor(&observer, |exit| exit);
        fragile.send(Order::Hold(drops.value())).unwrap();
        fragile.send(Order::Fail).unwrap();
        for _ in 0..100 {
            let _ = fragile.send(Order::Hold(drops.value()));
        }
        assert_eq!(fragile.wait(), ExitReason::Panicked);
        let exit = told.recv().unwrap();
        assert_eq!((exit.id, exit.reason), (fragile.id(), ExitReason::Panicked));
        assert_eq!(exit.name.as_deref(), Some("fragile"));
        eventually(|| drops.count() == 102);
        assert!(matches!(
            fragile.send(Order::Fail),
            Err(SendError::Stopped(Order::Fail))
        ));
        assert_eq!(fragile.ask(Order::Answer), Err(AskError::Stopped));
        assert!(has_stopped.recv().is_err(), "`stopped` was called");
        // A late observer is told at once.
        fragile.monitor(&observer, |exit| exit);
        assert_eq!(told.recv().unwrap().reason, ExitReason::Panicked);
    });
}

/// Questions that an actor has not come to, or is at, when it panics.
#[test]
fn askers_of_an_actor_that_panics_go_on() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let actor = actors.spawn(each(move |_: Option<Reply<()>>| {
            tell.send(()).unwrap();
            fibre::sleep(std::time::Duration::from_millis(3));
            fail();
        }));
        actor.send(None).unwrap();
        told.recv().unwrap();
        let askers: Vec<_> = (0..3)
            .map(|_| {
                let actor = actor.clone();
                fibre::spawn(move || actor.ask(Some))
            })
            .collect();
        for asker in askers {
            assert_eq!(asker.join().unwrap(), Err(AskError::Stopped));
        }
        let actor = actors.spawn(each(|_: Reply<()>| fail()));
        let error = actor.ask(|reply| reply).unwrap_err();
        assert!(matches!(error, AskError::Stopped | AskError::NoReply));
    });
}

/// Senders that wait for room get their messages back.
#[test]
fn waiting_senders_of_an_actor_that_panics_go_on() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let go = std::sync::Arc::new(fibre::sync::Event::new());
        let let_go = std::sync::Arc::clone(&go);
        let mailbox = Mailbox::bounded(1, Overflow::Block);
        let actor = each(move |_: u32| {
            tell.send(()).unwrap();
            let_go.wait();
            fail();
        });
        let actor = with_mailbox(actors, mailbox, actor);
        actor.send(0).unwrap();
        told.recv().unwrap();
        actor.send(1).unwrap();
        let senders: Vec<_> = (2..5)
            .map(|number| {
                let actor = actor.clone();
                let sender = fibre::spawn(move || actor.send(number));
                eventually(|| fibre::waits().iter().any(|wait| wait.id == sender.id()));
                sender
            })
            .collect();
        go.set();
        for (sender, number) in senders.into_iter().zip(2..) {
            assert_eq!(sender.join().unwrap(), Err(SendError::Stopped(number)));
        }
        assert_eq!(actor.wait(), ExitReason::Panicked);
    });
}

/// Which of an actor's parts panics.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Started,
    Stopped,
    Destructor,
}

/// An actor with one part that panics.
struct Broken(Part);

impl Actor for Broken {
    type Message = Bomb;

    fn started(&mut self, _: &mut Context<'_, Self>) {
        if self.0 == Part::Started {
            fail();
        }
    }

    fn handle(&mut self, _: Bomb, _: &mut Context<'_, Self>) {}

    fn stopped(&mut self) {
        if self.0 == Part::Stopped {
            fail();
        }
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        if self.0 == Part::Destructor {
            fail();
        }
    }
}

/// A message with a destructor that panics where nobody handles it.
struct Bomb(Option<crate::support::drops::Counted>);

impl Drop for Bomb {
    fn drop(&mut self) {
        drop(self.0.take());
        if !std::thread::panicking() {
            fail();
        }
    }
}

#[test]
fn other_parts_of_an_actor_may_panic() {
    everywhere(|actors| {
        for (part, expected) in [
            (Part::Started, ExitReason::Panicked),
            (Part::Stopped, ExitReason::Stopped),
            (Part::Destructor, ExitReason::Stopped),
        ] {
            let actor = actors.spawn(Broken(part));
            if part == Part::Started {
                assert_eq!(actor.wait(), expected);
            }
            actor.stop();
            assert_eq!(actor.wait(), expected);
        }
    });
}

/// Messages that are dropped with their actor do not take others along.
#[test]
fn messages_may_panic_when_they_are_dropped() {
    everywhere(|actors| {
        let drops = Drops::new();
        let (tell, told) = unbounded();
        let mut bombs = Vec::new();
        let actor = actors.spawn(each(move |bomb: Bomb| {
            tell.send(()).unwrap();
            fibre::sleep(std::time::Duration::from_millis(2));
            bombs.push(bomb);
            if bombs.len() == 1 {
                // The one in the list blows up with the actor.
                fail();
            }
        }));
        for _ in 0..20 {
            actor.send(Bomb(Some(drops.value()))).unwrap();
        }
        told.recv().unwrap();
        assert_eq!(actor.wait(), ExitReason::Panicked);
        eventually(|| drops.count() == 20);
    });
}

/// What an actor that restarts is told.
enum Step {
    Add(u32),
    Fail,
    Sum(Reply<u32>),
}

/// An actor that restarts: adds, and counts how often it was started.
struct Phoenix {
    sum: u32,
    started: Arc<AtomicU32>,
    _state: crate::support::drops::Counted,
}

impl Actor for Phoenix {
    type Message = Step;

    fn started(&mut self, _: &mut Context<'_, Self>) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    fn handle(&mut self, step: Step, _: &mut Context<'_, Self>) {
        match step {
            Step::Add(number) => self.sum += number,
            Step::Fail => fail(),
            Step::Sum(reply) => reply.send(self.sum),
        }
    }
}

const LONG: Duration = Duration::from_secs(3600);

/// What makes such actors.
fn phoenix(drops: &Drops, started: &Arc<AtomicU32>) -> impl FnMut() -> Phoenix + Send + 'static {
    let (drops, started) = (drops.clone(), Arc::clone(started));
    move || Phoenix {
        sum: 0,
        started: Arc::clone(&started),
        _state: drops.value(),
    }
}

/// It begins anew with the messages that wait, so often and no oftener; then it ends as others do.
#[test]
fn an_actor_restarts_so_often() {
    everywhere(|actors| {
        let (drops, started) = (Drops::new(), Arc::new(AtomicU32::new(0)));
        let (tell, told) = unbounded();
        let observer = actors.spawn(each(move |exit: Exit| tell.send(exit).unwrap()));
        let make = phoenix(&drops, &started);
        let restarts = Restarts::new(2, LONG);
        let actor = Builder::new().spawn_restarting_in(actors, restarts, make);
        let actor = actor.unwrap();
        actor.monitor(&observer, |exit| exit);
        for step in [
            Step::Add(1),
            Step::Fail,
            Step::Add(2),
            Step::Fail,
            Step::Add(3),
        ] {
            actor.send(step).unwrap();
        }
        assert_eq!(
            actor.ask(Step::Sum),
            Ok(3),
            "the third one has had one message"
        );
        assert_eq!((started.load(Ordering::Relaxed), drops.count()), (3, 2));
        assert!(told.try_recv().is_err(), "it has not ended");
        actor.send(Step::Fail).unwrap();
        assert_eq!(actor.wait(), ExitReason::Panicked);
        assert_eq!(told.recv().unwrap().reason, ExitReason::Panicked);
        eventually(|| drops.count() == 3);
        assert_eq!(started.load(Ordering::Relaxed), 3);
    });
}

/// Actors may share a limit; a kill ends a pause, and so does the end of all.
#[test]
fn a_pause_of_an_actor_ends_with_it() {
    everywhere(|actors| {
        let (drops, started) = (Drops::new(), Arc::new(AtomicU32::new(0)));
        let restarts = Arc::new(Restarts::new(2, LONG).backoff(LONG, LONG));
        let spawn = || {
            let make = phoenix(&drops, &started);
            let builder = Builder::new();
            let actor = builder.spawn_restarting_in(actors, Arc::clone(&restarts), make);
            let actor = actor.unwrap();
            actor.send(Step::Fail).unwrap();
            actor
        };
        let pausing = [spawn(), spawn()];
        eventually(|| started.load(Ordering::Relaxed) == 2);
        // The two have used the limit up, or are about to.
        let third = loop {
            let third = spawn();
            let ended = fibre::timeout(Duration::from_millis(20), || third.wait());
            match ended {
                Ok(reason) => break reason,
                Err(_) => third.kill(),
            }
        };
        assert_eq!(third, ExitReason::Panicked);
        pausing.iter().for_each(|actor| actor.kill());
        for actor in &pausing {
            actor.wait();
            assert!(!actor.is_alive());
        }
        // A third that was killed may begin only now.
        eventually(|| drops.count() == started.load(Ordering::Relaxed) as usize);
    });
}

/// What an actor has when it panics is gone before its successor is made: it may be an address that
/// the next one is to have.
#[test]
fn a_successor_finds_what_the_last_one_had() {
    struct Holder(Arc<()>);

    impl Actor for Holder {
        type Message = Reply<usize>;
        fn handle(&mut self, reply: Reply<usize>, _: &mut Context<'_, Self>) {
            let held = Arc::strong_count(&self.0);
            reply.send(held);
            fail();
        }
    }

    everywhere(|actors| {
        let held = Arc::new(());
        let restarts = Restarts::new(9, LONG);
        let make = move || Holder(Arc::clone(&held));
        let actor = Builder::new().spawn_restarting_in(actors, restarts, make);
        let actor = actor.unwrap();
        for _ in 0..3 {
            assert_eq!(
                actor.ask(|reply| reply),
                Ok(2),
                "the test's and one actor's"
            );
        }
    });
}

/// An actor ends if its successor cannot be made.
#[test]
fn an_actor_without_a_successor_ends() {
    everywhere(|actors| {
        let (drops, started) = (Drops::new(), Arc::new(AtomicU32::new(0)));
        let (mut make, mut made) = (phoenix(&drops, &started), false);
        let once = move || {
            if std::mem::replace(&mut made, true) {
                fail();
            }
            make()
        };
        let restarts = Restarts::new(9, LONG);
        let actor = Builder::new().spawn_restarting_in(actors, restarts, once);
        let actor = actor.unwrap();
        actor.send(Step::Fail).unwrap();
        assert_eq!(actor.wait(), ExitReason::Panicked);
        eventually(|| drops.count() == 1);
    });
}
