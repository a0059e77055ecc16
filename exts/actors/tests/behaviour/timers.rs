//! Messages that come later.

use crate::support::{Drops, eventually, everywhere};
use fibre::channel::{Sender, unbounded};
use fibre::sync::Event;
use fibre_actors::{Actor, ActorRef, Actors, Builder, Context, Mailbox, Overflow, Timer};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a test's actor is told.
#[derive(Clone)]
enum Order {
    After(Duration, u32),
    Every(Duration),
    Detach,
    Cancel,
    Tick(u32),
    Beat,
}

/// An actor with timers.
struct Timed {
    timers: Vec<Timer>,
    tell: Sender<u32>,
}

impl Actor for Timed {
    type Message = Order;

    fn handle(&mut self, order: Order, context: &mut Context<'_, Self>) {
        match order {
            Order::After(time, number) => {
                self.timers.push(context.after(time, Order::Tick(number)));
            }
            Order::Every(period) => self.timers.push(context.every(period, Order::Beat)),
            Order::Detach => self.timers.drain(..).for_each(Timer::detach),
            Order::Cancel => self.timers.clear(),
            Order::Tick(number) => self.tell.send(number).unwrap(),
            Order::Beat => self.tell.send(0).unwrap(),
        }
    }
}

/// Spawns one.
fn timed(actors: &Actors) -> (ActorRef<Order>, fibre::channel::Receiver<u32>) {
    let (tell, told) = unbounded();
    let timers = Vec::new();
    (actors.spawn(Timed { timers, tell }), told)
}

/// A message that came, and when it was due: between these.
struct Came {
    number: u32,
    due: (Instant, Instant),
    at: Instant,
}

/// An actor that says when its messages were due.
struct Clerk {
    due: HashMap<u32, (Instant, Instant)>,
    tell: Sender<Came>,
}

impl Actor for Clerk {
    /// How long the message of a number is to take; `None`: it has come.
    type Message = (u32, Option<Duration>);

    fn handle(&mut self, (number, time): Self::Message, context: &mut Context<'_, Self>) {
        let at = Instant::now();
        if let Some(time) = time {
            context.after(time, (number, None)).detach();
            self.due.insert(number, (at + time, Instant::now() + time));
        } else {
            let due = self.due[&number];
            self.tell.send(Came { number, due, at }).unwrap();
        }
    }
}

/// What comes to a clerk.
fn comes(actors: &Actors) -> Vec<Came> {
    let (tell, told) = unbounded();
    let due = HashMap::new();
    let clerk = actors.spawn(Clerk { due, tell });
    for (time, number) in [(9, 3), (1, 1), (30, 4), (5, 2)] {
        let time = Duration::from_millis(time);
        clerk.send((number, Some(time))).unwrap();
    }
    told.iter().take(4).collect()
}

#[test]
fn each_message_comes_once_and_not_before_its_time() {
    everywhere(|actors| {
        let came = comes(actors);
        assert!(came.iter().all(|one| one.at >= one.due.0));
        let mut numbers: Vec<_> = came.iter().map(|one| one.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3, 4]);
    });
}

/// Several processors have their timers each, and one of them may be late.
#[test]
fn messages_come_in_the_order_of_their_times_on_one_processor() {
    /// How far apart times are that timers tell apart.
    const APART: Duration = Duration::from_millis(1);
    let actors = Actors::builder().processors(1).build().unwrap();
    for _ in 0..5 {
        let came = comes(&actors);
        let in_order = |two: &[Came]| two[0].due.0 <= two[1].due.1 + APART;
        assert!(came.windows(2).all(in_order));
    }
    actors.stop();
}

#[test]
fn a_period_repeats_until_it_is_cancelled() {
    everywhere(|actors| {
        let (actor, told) = timed(actors);
        let begin = Instant::now();
        actor.send(Order::Every(Duration::from_millis(2))).unwrap();
        assert_eq!(told.iter().take(5).count(), 5);
        assert!(begin.elapsed() >= Duration::from_millis(10));
        actor.send(Order::Cancel).unwrap();
        actor.send(Order::Tick(7)).unwrap();
        while told.recv() != Ok(7) {}
        fibre::sleep(Duration::from_millis(6));
        // One may have been on its way.
        assert!(told.try_iter().count() <= 1);
    });
}

/// A period's messages may be made, each when it is due.
#[test]
fn messages_of_a_period_are_made() {
    struct Counter(Sender<u32>, Sender<Timer>);
    impl Actor for Counter {
        /// It cannot be cloned.
        type Message = Box<dyn FnOnce() -> u32 + Send>;
        fn started(&mut self, context: &mut Context<'_, Self>) {
            let mut made = 0;
            let make = move || -> Self::Message {
                made += 1;
                assert!(made <= 3, "planned");
                Box::new(move || made)
            };
            let timer = context.every_with(Duration::from_millis(1), make);
            self.1.send(timer).unwrap();
        }
        fn handle(&mut self, number: Self::Message, _: &mut Context<'_, Self>) {
            self.0.send(number()).unwrap();
        }
    }
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let (give, given) = unbounded();
        let counter = actors.spawn(Counter(tell, give));
        let numbers: Vec<_> = told.iter().take(3).collect();
        assert_eq!(numbers, [1, 2, 3]);
        let timer = given.recv().unwrap();
        // The next one panics, which ends the timer only.
        eventually(|| !timer.is_pending());
        counter.send(Box::new(|| 4)).unwrap();
        assert_eq!(told.recv(), Ok(4));
    });
}

/// Handles a tick when it is let.
struct Held {
    made: Arc<AtomicU32>,
    begun: Sender<()>,
    go_on: Arc<Event>,
}

impl Actor for Held {
    type Message = ();

    fn started(&mut self, context: &mut Context<'_, Self>) {
        let made = Arc::clone(&self.made);
        let make = move || _ = made.fetch_add(1, Relaxed);
        context
            .every_with(Duration::from_micros(200), make)
            .detach();
    }

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
        self.begun.send(()).unwrap();
        self.go_on.wait();
    }
}

/// A timer of an actor that does not keep up does not fill the mailbox, whatever that
/// is like.
#[test]
fn a_timer_has_one_message_under_way() {
    everywhere(|actors| {
        for mailbox in [
            Mailbox::Unbounded,
            Mailbox::bounded(3, Overflow::Block),
            Mailbox::bounded(3, Overflow::DropOldest),
            Mailbox::bounded(3, Overflow::DropNewest),
        ] {
            let (made, go_on) = (Arc::new(AtomicU32::new(0)), Arc::new(Event::new()));
            let (begun, begins) = unbounded();
            let held = Held {
                made: Arc::clone(&made),
                begun,
                go_on: Arc::clone(&go_on),
            };
            let held = Builder::new().mailbox(mailbox).spawn_in(actors, held);
            let held = held.unwrap();
            begins.recv().unwrap();
            // The clock is seen to go on, by one that keeps up.
            let (tell, ticks) = unbounded();
            let ticking = Timed {
                timers: Vec::new(),
                tell,
            };
            let ticking = actors.spawn(ticking);
            let period = Duration::from_micros(200);
            ticking.send(Order::Every(period)).unwrap();
            assert_eq!(ticks.iter().take(20).count(), 20);
            assert_eq!(made.load(Relaxed), 1);
            go_on.set();
            assert_eq!(begins.iter().take(5).count(), 5);
            held.kill();
            ticking.kill();
        }
    });
}

/// A pending timer keeps its actor, and a cancelled one does not.
#[test]
fn a_timer_keeps_its_actor() {
    everywhere(|actors| {
        let (actor, told) = timed(actors);
        actor
            .send(Order::After(Duration::from_millis(10), 1))
            .unwrap();
        drop(actor);
        assert_eq!(told.iter().collect::<Vec<_>>(), [1]);

        let (actor, told) = timed(actors);
        actor
            .send(Order::After(Duration::from_secs(3600), 1))
            .unwrap();
        actor.send(Order::Cancel).unwrap();
        drop(actor);
        assert!(told.recv().is_err());

        let (actor, told) = timed(actors);
        actor
            .send(Order::After(Duration::from_millis(5), 1))
            .unwrap();
        actor.send(Order::Detach).unwrap();
        drop(actor);
        assert_eq!(told.iter().collect::<Vec<_>>(), [1]);
        eventually(|| actors.is_empty());
    });
}

/// The end of an actor cancels its timers at once, with their messages.
#[test]
fn timers_end_with_their_actor() {
    struct Hoarder(Vec<Timer>);
    impl Actor for Hoarder {
        type Message = Option<crate::support::drops::Counted>;
        fn handle(&mut self, message: Self::Message, context: &mut Context<'_, Self>) {
            for _ in 0..10 {
                let never = context.after(Duration::MAX, None);
                assert!(never.is_pending());
                never.detach();
            }
            let hour = Duration::from_secs(3600);
            self.0.push(context.after(hour, message));
        }
    }
    everywhere(|actors| {
        let drops = Drops::new();
        let actor = actors.spawn(Hoarder(Vec::new()));
        (0..100).for_each(|_| actor.send(Some(drops.value())).unwrap());
        actor.stop();
        actor.wait();
        eventually(|| drops.count() == 100);
    });
}

/// Timers are dropped after their actor, by others, and after they have gone.
#[test]
fn timers_are_dropped_anywhere() {
    struct Giver(Sender<Timer>);
    impl Actor for Giver {
        type Message = bool;
        fn handle(&mut self, soon: bool, context: &mut Context<'_, Self>) {
            let time = if soon {
                Duration::ZERO
            } else {
                Duration::from_secs(3600)
            };
            self.0.send(context.after(time, true)).unwrap();
        }
    }
    everywhere(|actors| {
        let (give, given) = unbounded();
        let giver = actors.spawn(Giver(give));
        giver.send(false).unwrap();
        let late = given.recv().unwrap();
        assert!(late.is_pending());
        let id = giver.id();
        drop(giver);
        fibre::sleep(Duration::from_millis(1));
        assert_eq!(actors.len(), 1, "actor {id} has a timer");
        late.cancel();
        eventually(|| actors.is_empty());
    });
}

/// A timer is told of no room, and loses nothing where others would wait.
#[test]
fn timers_come_into_full_mailboxes() {
    struct Slow(Sender<u32>, Vec<Timer>);
    impl Actor for Slow {
        type Message = u32;
        fn started(&mut self, context: &mut Context<'_, Self>) {
            for number in 0..10 {
                let time = Duration::from_micros(u64::from(number));
                self.1.push(context.after(time, number));
            }
            fibre::sleep(Duration::from_millis(3));
        }
        fn handle(&mut self, number: u32, _: &mut Context<'_, Self>) {
            self.0.send(number).unwrap();
        }
    }
    everywhere(|actors| {
        for when_full in [Overflow::Block, Overflow::Refuse] {
            let (tell, told) = unbounded();
            let builder = Builder::new().mailbox(Mailbox::bounded(2, when_full));
            let slow = builder.spawn_in(actors, Slow(tell, Vec::new())).unwrap();
            drop(slow);
            assert!(told.iter().eq(0..10));
        }
    });
}

/// Many timers of many actors, and nothing is left of them.
#[test]
fn many_timers() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let all: Vec<_> = (0..100)
            .map(|_| {
                let tell = tell.clone();
                actors.spawn(Timed {
                    timers: Vec::new(),
                    tell,
                })
            })
            .collect();
        for number in 0..20 {
            for actor in &all {
                let time = Duration::from_micros(100 * u64::from(number % 7));
                actor.send(Order::After(time, number)).unwrap();
            }
        }
        assert_eq!(told.iter().take(2000).count(), 2000);
    });
}

/// Actors without an `Actors` have timers, too.
#[test]
fn loose_actors_have_timers() {
    let (tell, told) = unbounded();
    let timers = Vec::new();
    let actor = fibre_actors::spawn(Timed { timers, tell });
    actor
        .send(Order::After(Duration::from_millis(2), 5))
        .unwrap();
    assert_eq!(told.recv(), Ok(5));
}
