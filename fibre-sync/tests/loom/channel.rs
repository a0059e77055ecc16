//! Models of channels: each value is received once or handed back, who receives it sees what its
//! sender did before, and nobody sleeps while there is something for it.
//!
//! Run by `cargo xtask loom`. A wait with a limit may give up at any moment here.

use fibre_core::model::{Shared, Watched, check, finds_planted};
use fibre_sync::channel::{Sender, bounded, rendezvous};
use fibre_sync::faults;
use loom::thread;
use std::time::Instant;

/// A value: a number that its sender has written, without any lock.
type Message = Shared<Watched>;

/// Written, to be sent.
fn message(number: u32) -> Message {
    let message = Shared::new(Watched::default());
    message.set(number);
    message
}

/// Read, by whoever has it.
fn read(message: Message) -> u32 {
    Watched::get(&message)
}

/// Sends these numbers.
fn send(sender: &Sender<Message>, numbers: std::ops::Range<u32>) {
    for number in numbers {
        assert!(sender.send(message(number)).is_ok());
    }
}

/// One sends so many, the other receives as many, in order.
fn one_to_one(capacity: usize, messages: u32) {
    let (sender, receiver) = bounded(capacity);
    let thread = thread::spawn(move || send(&sender, 0..messages));
    for number in 0..messages {
        assert_eq!(read(receiver.recv().unwrap()), number);
    }
    thread.join().unwrap();
}

/// Through a buffer that is empty at times and full at times.
#[test]
fn a_bounded_channel_keeps_the_order() {
    check(|| one_to_one(1, 3));
}

/// From hand to hand.
#[test]
fn a_rendezvous_keeps_the_order() {
    check(|| one_to_one(0, 2));
}

/// Planted: the value is in the buffer, and who waits for it sleeps for ever.
#[test]
fn planted_passing_by_is_found() {
    finds_planted(faults::channel::STORES_WHAT_A_RECEIVER_WAITS_FOR, || {
        one_to_one(1, 1)
    });
}

/// One sends two values; one of them has room; one is received before it has ended.
fn room_for_one() {
    let (sender, receiver) = bounded(1);
    let thread = thread::spawn(move || send(&sender, 0..2));
    assert_eq!(read(receiver.recv().unwrap()), 0);
    thread.join().unwrap();
    assert_eq!(read(receiver.recv().unwrap()), 1);
}

/// A receiver that makes room lets the next sender go on.
#[test]
fn room_is_used() {
    check(room_for_one);
}

/// Planted: there is room, and who waits for it sleeps for ever.
#[test]
fn planted_unused_room_is_found() {
    finds_planted(faults::channel::LEAVES_ROOM_TO_NOBODY, room_for_one);
}

/// Two send, this one receives.
#[test]
fn two_senders_are_both_served() {
    check(|| {
        let (sender, receiver) = rendezvous();
        let threads = [1, 2].map(|number| {
            let sender = sender.clone();
            thread::spawn(move || send(&sender, number..number + 1))
        });
        let sum = read(receiver.recv().unwrap()) + read(receiver.recv().unwrap());
        assert_eq!(sum, 3);
        let _ends = threads.map(|thread| thread.join().unwrap());
    });
}

/// Both sides may give up: the value is received, or handed back.
fn both_may_give_up(capacity: usize) {
    let (sender, receiver) = bounded(capacity);
    let thread = thread::spawn(
        move || match sender.send_within(message(1), Instant::now()) {
            Ok(()) => 0,
            Err(error) => read(error.into_inner()),
        },
    );
    let received = receiver.recv_within(Instant::now());
    let received = received.map_or(0, read);
    let returned = thread.join().unwrap();
    let left = receiver.try_recv().map_or(0, read);
    assert_eq!(received + returned + left, 1);
}

/// In a rendezvous and in a buffer.
#[test]
fn a_deadline_loses_no_value() {
    check(|| both_may_give_up(0));
    check(|| both_may_give_up(1));
}

/// One of two receivers may give up; what was meant for it reaches the other.
fn one_receiver_gives_up() {
    let (sender, receiver) = rendezvous();
    let impatient = {
        let receiver = receiver.clone();
        thread::spawn(move || receiver.recv_within(Instant::now()).map_or(0, read))
    };
    let patient = thread::spawn(move || receiver.recv().map_or(0, read));
    // Refused if the patient one is served by closing only: then there is nobody left.
    let sent = sender.send_within(message(1), Instant::now()).is_ok();
    drop(sender);
    let received = impatient.join().unwrap() + patient.join().unwrap();
    assert_eq!(received, u32::from(sent));
}

/// A value goes to one who is there.
#[test]
fn who_gives_up_takes_no_value_along() {
    check(one_receiver_gives_up);
}

/// Two wait for a value, and none comes any more.
fn closing() {
    let (sender, receiver) = bounded::<Message>(1);
    let threads = [(); 2].map(|()| {
        let receiver = receiver.clone();
        thread::spawn(move || assert!(receiver.recv().is_err()))
    });
    drop(sender);
    let _ends = threads.map(|thread| thread.join().unwrap());
}

/// Closing lets all go on.
#[test]
fn a_closed_channel_holds_nobody() {
    check(closing);
}

/// Planted: the second one waits for a value that will never come.
#[test]
fn planted_forgotten_receiver_is_found() {
    finds_planted(faults::channel::CLOSING_WAKES_ONE_OF_MANY, closing);
}

/// The last receiver goes while one sends: the value comes back, or was in the buffer.
fn refusal() {
    let (sender, receiver) = bounded(1);
    send(&sender, 0..1);
    let thread = thread::spawn(move || {
        let received = receiver.try_recv().is_ok();
        drop(receiver);
        received
    });
    let refused = sender.send(message(7)).map_err(|error| read(error.0));
    assert!(matches!(refused, Ok(()) | Err(7)));
    assert!(thread.join().unwrap());
}

/// Nobody waits for a receiver that has gone.
#[test]
fn a_refused_value_comes_back() {
    check(refusal);
}

/// One waits for room that does not come: the value comes back.
fn returned() {
    let (sender, receiver) = bounded(1);
    send(&sender, 0..1);
    let thread = thread::spawn(move || sender.send_within(message(7), Instant::now()).is_ok());
    let mut received = [receiver.recv(), receiver.recv()]
        .into_iter()
        .filter_map(Result::ok);
    assert_eq!(received.next().map(read), Some(0));
    let sent = received.next().map(read) == Some(7);
    assert_eq!(thread.join().unwrap(), sent);
}

/// A sender that gives up has its value back, and nobody else has it.
#[test]
fn a_sender_that_gives_up_keeps_its_value() {
    check(returned);
}

/// Planted: who gives up is told that it has sent.
#[test]
fn planted_lost_value_is_found() {
    finds_planted(faults::channel::GIVING_UP_LOSES_THE_VALUE, returned);
}
