//! Mailboxes with a bound: what becomes of a message that finds no room.

use crate::support::{Drops, each, eventually, everywhere, with_mailbox};
use fibre::channel::{Receiver, Sender, unbounded};
use fibre::sync::Event;
use fibre_actors::{Actor, ActorRef, Actors, Context, Mailbox, Overflow, SendError};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// An actor that is at its first message until it is let go, and tells what it has handled.
struct Held {
    actor: ActorRef<u32>,
    go: Arc<Event>,
    handled: Receiver<u32>,
}

/// Spawns it, and waits until it has begun with message zero.
fn held(actors: &Actors, capacity: usize, when_full: Overflow) -> Held {
    let (go, begun) = (Arc::new(Event::new()), Arc::new(Event::new()));
    let (tell, handled) = unbounded();
    let (let_go, begins) = (Arc::clone(&go), Arc::clone(&begun));
    let actor = each(move |number: u32| {
        begins.set();
        let_go.wait();
        tell.send(number).unwrap();
    });
    let actor = with_mailbox(actors, Mailbox::bounded(capacity, when_full), actor);
    actor.send(0).unwrap();
    begun.wait();
    Held { actor, go, handled }
}

impl Held {
    /// Lets the actor go, and returns all that it has handled.
    fn finish(self) -> Vec<u32> {
        self.go.set();
        self.actor.stop();
        self.actor.wait();
        drop(self.actor);
        self.handled.iter().collect()
    }
}

#[test]
fn a_mailbox_that_refuses_gives_messages_back() {
    everywhere(|actors| {
        let held = held(actors, 3, Overflow::Refuse);
        for number in 1..=3 {
            held.actor.send(number).unwrap();
        }
        assert_eq!(held.actor.queued(), Some(3));
        assert_eq!(held.actor.send(4), Err(SendError::Full(4)));
        assert_eq!(held.actor.try_send(5), Err(SendError::Full(5)));
        let timeout = held.actor.send_timeout(6, Duration::from_secs(60));
        assert_eq!(timeout, Err(SendError::Full(6)));
        assert_eq!(held.finish(), [0, 1, 2, 3]);
    });
}

#[test]
fn a_mailbox_drops_the_newest() {
    everywhere(|actors| {
        let held = held(actors, 3, Overflow::DropNewest);
        (1..=10).for_each(|number| held.actor.send(number).unwrap());
        assert_eq!((held.actor.queued(), held.actor.dropped()), (Some(3), 7));
        assert_eq!(held.finish(), [0, 1, 2, 3]);
    });
}

#[test]
fn a_mailbox_drops_the_oldest() {
    everywhere(|actors| {
        let held = held(actors, 3, Overflow::DropOldest);
        (1..=10).for_each(|number| held.actor.send(number).unwrap());
        assert_eq!((held.actor.queued(), held.actor.dropped()), (Some(3), 7));
        assert_eq!(held.finish(), [0, 8, 9, 10]);
    });
}

#[test]
fn senders_wait_in_the_order_in_which_they_came() {
    everywhere(|actors| {
        let held = held(actors, 2, Overflow::Block);
        held.actor.send(1).unwrap();
        held.actor.send(2).unwrap();
        assert_eq!(held.actor.try_send(9), Err(SendError::Full(9)));
        let timeout = held.actor.send_timeout(9, Duration::from_millis(5));
        assert_eq!(timeout, Err(SendError::TimedOut(9)));
        let passed = held.actor.send_within(9, Instant::now());
        assert_eq!(passed, Err(SendError::TimedOut(9)));
        let waits = |number: u32| {
            let actor = held.actor.clone();
            let fibre = fibre::spawn(move || actor.send(number));
            eventually(|| fibre::waits().iter().any(|wait| wait.id == fibre.id()));
            fibre
        };
        let senders: Vec<_> = (3..=5).map(waits).collect();
        assert_eq!(held.actor.queued(), Some(2));
        held.go.set();
        for sender in senders {
            assert_eq!(sender.join().unwrap(), Ok(()));
        }
        assert_eq!(held.finish(), [0, 1, 2, 3, 4, 5]);
    });
}

#[test]
fn a_cancelled_sender_gives_up() {
    everywhere(|actors| {
        let held = held(actors, 1, Overflow::Block);
        held.actor.send(1).unwrap();
        let actor = held.actor.clone();
        let fibre = fibre::spawn(move || actor.send(2));
        eventually(|| fibre::waits().iter().any(|wait| wait.id == fibre.id()));
        fibre.cancel();
        assert_eq!(fibre.join().unwrap(), Err(SendError::Cancelled(2)));
        assert_eq!(held.finish(), [0, 1]);
    });
}

#[test]
fn waiting_senders_are_sent_away_when_the_actor_stops() {
    everywhere(|actors| {
        let held = held(actors, 1, Overflow::Block);
        held.actor.send(1).unwrap();
        thread::scope(|scope| {
            let senders: Vec<_> = (2..5)
                .map(|number| {
                    scope.spawn({
                        let actor = held.actor.clone();
                        move || actor.send(number)
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(5));
            held.actor.stop();
            for (sender, number) in senders.into_iter().zip(2..) {
                assert_eq!(sender.join().unwrap(), Err(SendError::Stopped(number)));
            }
        });
        assert_eq!(held.finish(), [0, 1]);
    });
}

/// An actor that sends to itself.
struct Selfish(Sender<Result<(), SendError<u32>>>);

impl Actor for Selfish {
    type Message = u32;

    fn handle(&mut self, number: u32, context: &mut Context<'_, Self>) {
        if number == 0 {
            for number in 1..=3 {
                self.0.send(context.myself().send(number)).unwrap();
            }
        }
    }
}

#[test]
fn an_actor_does_not_wait_for_room_in_its_own_mailbox() {
    everywhere(|actors| {
        let (tell, told) = unbounded();
        let mailbox = Mailbox::bounded(2, Overflow::Block);
        let actor = with_mailbox(actors, mailbox, Selfish(tell));
        actor.send(0).unwrap();
        assert_eq!(told.recv(), Ok(Ok(())));
        assert_eq!(told.recv(), Ok(Ok(())));
        assert_eq!(told.recv(), Ok(Err(SendError::Full(3))));
    });
}

#[test]
fn a_capacity_of_zero_is_one() {
    everywhere(|actors| {
        let held = held(actors, 0, Overflow::Refuse);
        held.actor.send(1).unwrap();
        assert_eq!(held.actor.send(2), Err(SendError::Full(2)));
        assert_eq!(held.finish(), [0, 1]);
    });
}

/// Whatever the mailbox does, each message is dropped once in the end.
#[test]
fn all_mailboxes_account_for_their_messages() {
    let all = [
        Overflow::Block,
        Overflow::DropNewest,
        Overflow::DropOldest,
        Overflow::Refuse,
    ];
    everywhere(|actors| {
        for when_full in all {
            let drops = Drops::new();
            let mailbox = Mailbox::bounded(7, when_full);
            let actor = with_mailbox(actors, mailbox, each(drop));
            thread::scope(|scope| {
                for _ in 0..3 {
                    let (actor, drops) = (actor.clone(), drops.clone());
                    scope.spawn(move || {
                        for _ in 0..500 {
                            let sent = actor.send(drops.value());
                            assert!(sent.is_ok() || when_full == Overflow::Refuse);
                        }
                    });
                }
            });
            actor.stop();
            actor.wait();
            eventually(|| drops.count() == 1500);
        }
    });
}
