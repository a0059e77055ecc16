//! Actors that handle the most urgent message first.

use crate::support::drops::Counted;
use crate::support::{Drops, everywhere};
use fibre::channel::{Receiver, Sender, unbounded};
use fibre::sync::Event;
use fibre_actors::internal::{Activation, Backlog, Inbox, Next};
use fibre_actors::{
    Actor, ActorRef, Actors, Builder, Context, ExitReason, Mailbox, Overflow, Restarts,
};
use std::sync::Arc;
use std::time::Duration;

/// What it is sent.
enum Message {
    /// A number, and how urgent it is.
    Number(u32, u32),
    /// Waits for the first event, and sets the second as it begins to; before all others.
    Hold(Arc<Event>, Arc<Event>),
    /// Panics.
    Fail(u32),
    /// Counts its drop.
    Counted(
        u32,
        #[expect(dead_code, reason = "its drop counts")] Counted,
    ),
    /// Ends the actor with what waits.
    Stop(u32),
}

/// Tells the numbers that it handles.
struct Urgent(Sender<u32>);

impl Actor for Urgent {
    type Message = Message;
    const PRIORITY: Option<fn(&Message) -> u32> = Some(|message| match message {
        Message::Number(_, priority)
        | Message::Fail(priority)
        | Message::Counted(priority, _)
        | Message::Stop(priority) => *priority,
        Message::Hold(..) => u32::MAX,
    });

    fn handle(&mut self, message: Message, context: &mut Context<'_, Self>) {
        match message {
            Message::Number(number, _) => self.0.send(number).unwrap(),
            Message::Hold(go, begun) => {
                begun.set();
                go.wait();
            }
            Message::Fail(_) => panic!("as it was asked to"),
            Message::Counted(..) => {}
            Message::Stop(_) => context.stop(),
        }
    }
}

/// An actor, and what it tells.
fn urgent(actors: &Actors) -> (ActorRef<Message>, Receiver<u32>) {
    let (tell, told) = unbounded();
    (actors.spawn(Urgent(tell)), told)
}

/// Makes an actor wait in a handler. It goes on when the event is set.
fn hold(actor: &ActorRef<Message>) -> Arc<Event> {
    let (go, begun) = (Arc::new(Event::new()), Arc::new(Event::new()));
    let hold = Message::Hold(Arc::clone(&go), Arc::clone(&begun));
    assert!(actor.send(hold).is_ok());
    begun.wait();
    go
}

/// Sends these numbers, each with its priority.
fn send(actor: &ActorRef<Message>, numbers: impl IntoIterator<Item = (u32, u32)>) {
    for (number, priority) in numbers {
        assert!(actor.send(Message::Number(number, priority)).is_ok());
    }
}

/// What an actor tells until it has handled all.
fn rest(actor: &ActorRef<Message>, told: &Receiver<u32>) -> Vec<u32> {
    actor.stop();
    actor.wait();
    told.iter().collect()
}

/// More than a batch, in the order of arrival the least urgent first.
#[test]
fn the_most_urgent_is_handled_first() {
    everywhere(|actors| {
        let (actor, told) = urgent(actors);
        let go = hold(&actor);
        send(&actor, (0..100).map(|number| (number, number / 10)));
        go.set();
        let right = (0..10).rev().flat_map(|ten| 10 * ten..10 * ten + 10);
        assert!(rest(&actor, &told).into_iter().eq(right));
    });
}

/// What comes while less urgent messages wait is handled before them.
#[test]
fn a_later_message_overtakes_those_that_were_taken() {
    everywhere(|actors| {
        let (actor, told) = urgent(actors);
        let go = hold(&actor);
        send(&actor, (0..50).map(|number| (number, 0)));
        go.set();
        // The actor has taken them when it tells the first.
        assert_eq!(told.recv(), Ok(0));
        let go = hold(&actor);
        let before: Vec<u32> = told.try_iter().collect();
        send(&actor, [(1000, 1), (1001, 2)]);
        go.set();
        let after = rest(&actor, &told);
        assert_eq!(after[..2], [1001, 1000]);
        let all = before.iter().chain(&after[2..]).copied();
        assert!(all.eq(1..50), "{before:?}, {after:?}");
    });
}

/// A panic takes one message along; what waits is the next one's, in its order.
#[test]
fn what_waits_stays_when_it_begins_anew() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let restarts = Restarts::new(3, Duration::from_secs(60));
        let make = move || Urgent(tell.clone());
        let actor = Builder::new().spawn_restarting_in(actors, restarts, make);
        let actor = actor.unwrap();
        let go = hold(&actor);
        send(&actor, [(0, 0), (1, 1), (5, 5)]);
        assert!(actor.send(Message::Fail(4)).is_ok());
        send(&actor, [(3, 3)]);
        go.set();
        assert_eq!(rest(&actor, &told), [5, 3, 1, 0]);
    });
}

/// A function of priorities that panics loses its message and no other.
#[test]
fn a_panic_of_the_priority_loses_its_message() {
    struct Picky(Sender<u32>);
    impl Actor for Picky {
        type Message = u32;
        const PRIORITY: Option<fn(&u32) -> u32> = Some(|number| {
            assert_ne!(*number, 13, "not this one");
            *number
        });
        fn handle(&mut self, number: u32, _: &mut Context<'_, Self>) {
            self.0.send(number).unwrap();
            // The others come meanwhile.
            while number == 99 && self.0.len() < 2 {
                fibre::sleep(Duration::from_micros(200));
            }
        }
    }
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let outside = tell.clone();
        let restarts = Restarts::new(3, Duration::from_secs(60));
        let make = move || Picky(tell.clone());
        let actor = Builder::new().spawn_restarting_in(actors, restarts, make);
        let actor = actor.unwrap();
        for number in [99, 12, 13, 14] {
            actor.send(number).unwrap();
        }
        outside.send(0).unwrap();
        drop(outside);
        actor.stop();
        assert_eq!(actor.wait(), ExitReason::Stopped);
        let mut all: Vec<u32> = told.iter().collect();
        all.sort_unstable();
        assert_eq!(all, [0, 12, 14, 99]);
    });
}

/// What waits is dropped with the actor, however that ends: by itself, by a panic, by a kill.
#[test]
fn messages_that_wait_are_dropped_at_the_end() {
    everywhere(|actors| {
        for end in 0..3 {
            let (actor, _told) = urgent(actors);
            let drops = Drops::new();
            let go = hold(&actor);
            for _ in 0..30 {
                let counted = Message::Counted(0, drops.value());
                assert!(actor.send(counted).is_ok());
            }
            let reason = match end {
                0 => {
                    assert!(actor.send(Message::Stop(1)).is_ok());
                    ExitReason::Stopped
                }
                1 => {
                    assert!(actor.send(Message::Fail(1)).is_ok());
                    ExitReason::Panicked
                }
                _ => {
                    actor.kill();
                    ExitReason::Stopped
                }
            };
            go.set();
            assert_eq!(actor.wait(), reason);
            assert_eq!(drops.count(), 30);
        }
    });
}

/// What was taken before the actor had handled all counts as handled when it rests, and not before.
/// A timer that comes again waits for that.
#[test]
fn what_was_taken_early_is_handled_at_rest() {
    let (inbox, mut backlog) = (Inbox::new(Mailbox::Unbounded), Backlog::new());
    let (activation, _) = inbox.deliver(1);
    assert_eq!(activation, Activation::Underway);
    assert_eq!(inbox.take(&mut backlog), Next::Handle);
    assert_eq!(backlog.pop(), Some(1));
    let (_, mark) = inbox.deliver(2);
    inbox.take_more(&mut backlog);
    assert_eq!(backlog.pop(), Some(2));
    assert!(!inbox.has_handled(mark), "the first may still wait");
    assert_eq!(inbox.take(&mut backlog), Next::Rest);
    assert!(inbox.has_handled(mark), "a timer would never come again");
}

/// A bound and priorities do not go together, and nobody is spawned.
#[test]
fn a_mailbox_with_a_bound_is_refused() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let bounded = Mailbox::bounded(10, Overflow::Block);
        let builder = Builder::new().mailbox(bounded);
        let error = builder.spawn_in(actors, Urgent(tell)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("without a bound"), "{error}");
        assert!(told.recv().is_err(), "the actor has been dropped");
    });
}
