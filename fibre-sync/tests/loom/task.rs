//! Models of tasks that wait in a channel's lines: no wake-up is lost, and no value, whenever a
//! future is dropped.
//!
//! Run by `cargo xtask loom`. [`block_on`] runs the tasks, and other threads of the model call its
//! waker.

use fibre_core::model::{Shared, Watched, check, finds_planted};
use fibre_sync::channel::{Receiver, bounded, rendezvous};
use fibre_sync::{block_on, faults};
use loom::thread;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

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

/// One task sends two values, another one receives them.
fn task_to_task(capacity: usize) {
    let (sender, receiver) = bounded(capacity);
    let sending = thread::spawn(move || {
        block_on(async {
            assert!(sender.send_async(message(1)).await.is_ok());
        });
        drop(sender);
    });
    block_on(async {
        assert_eq!(read(receiver.recv_async().await.unwrap()), 1);
        assert!(receiver.recv_async().await.is_err());
    });
    sending.join().unwrap();
}

/// Through a buffer, and from hand to hand.
#[test]
fn a_task_is_woken_by_another_one() {
    check(|| task_to_task(1));
    check(|| task_to_task(0));
}

/// A thread sends, a task receives; and the other way round.
fn task_and_thread() {
    let (sender, receiver) = rendezvous();
    let thread = thread::spawn(move || assert!(sender.send(message(1)).is_ok()));
    assert_eq!(read(block_on(receiver.recv_async()).unwrap()), 1);
    thread.join().unwrap();
    let (sender, receiver) = rendezvous();
    let thread = thread::spawn(move || assert!(block_on(sender.send_async(message(2))).is_ok()));
    assert_eq!(read(receiver.recv().unwrap()), 2);
    thread.join().unwrap();
}

/// Tasks and threads share the lines.
#[test]
fn tasks_and_threads_meet() {
    check(task_and_thread);
}

/// A task is polled twice, with another waker, and then waits for that.
fn two_wakers() {
    let (sender, receiver) = bounded(1);
    let thread = thread::spawn(move || assert!(sender.send(message(1)).is_ok()));
    let mut future = pin!(receiver.recv_async());
    let first = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    let value = match first {
        Poll::Ready(value) => value,
        Poll::Pending => block_on(future),
    };
    assert_eq!(read(value.unwrap()), 1);
    thread.join().unwrap();
}

/// The waker of the last poll is called, or the poll sees that it is too late for that.
#[test]
fn the_last_waker_is_called() {
    check(two_wakers);
}

/// Planted: a poll that comes late registers its waker, which nobody calls any more.
#[test]
fn planted_late_waker_is_found() {
    finds_planted(
        "task: it does not look again whether it is resumed",
        two_wakers,
    );
}

/// Polls once; drops the future, whatever has come of it. Returns the value if it was received.
fn poll_and_drop(receiver: &Receiver<Message>) -> u32 {
    let mut future = pin!(receiver.recv_async());
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(value) => value.map_or(0, read),
        Poll::Pending => 0,
    }
}

/// A value is sent to a task, and its future is dropped. It is there for another receiver.
fn dropped_receiver(capacity: usize) {
    let (sender, receiver) = bounded(capacity);
    let thread = thread::spawn(move || assert!(sender.send(message(1)).is_ok()));
    let received = poll_and_drop(&receiver);
    let received = received + receiver.recv().map_or(0, read);
    assert_eq!(received, 1);
    thread.join().unwrap();
}

/// In a buffer and from hand to hand.
#[test]
fn a_dropped_future_loses_no_value() {
    check(|| dropped_receiver(1));
    check(|| dropped_receiver(0));
}

/// Planted: the value goes with the future that was handed it.
#[test]
fn planted_lost_value_is_found() {
    finds_planted(faults::channel::DROPPED_FUTURE_LOSES_ITS_VALUE, || {
        dropped_receiver(1);
    });
}

/// What a dropped future was handed goes to the one behind it.
fn next_in_line() {
    let (sender, receiver) = bounded(1);
    let other = receiver.clone();
    let waiting = thread::spawn(move || block_on(other.recv_async()).map_or(0, read));
    let sending = thread::spawn(move || assert!(sender.send(message(1)).is_ok()));
    let received = poll_and_drop(&receiver) + waiting.join().unwrap();
    sending.join().unwrap();
    // The one behind it is refused if the channel was closed while the value was in the hand of the
    // first one: then it is there for whoever asks next.
    let left = receiver.try_recv().map_or(0, read);
    assert_eq!(received + left, 1);
}

/// The next receiver is woken with the value.
#[test]
fn a_dropped_future_passes_its_value_on() {
    check(next_in_line);
}

/// A sender's future is dropped: its value has been sent, or is gone with it.
fn dropped_sender() {
    let (sender, receiver) = rendezvous();
    let thread = thread::spawn(move || {
        let mut future = pin!(sender.send_async(message(1)));
        let first = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        matches!(first, Poll::Ready(Ok(())))
    });
    let received = receiver.recv().map_or(0, read);
    let sent = thread.join().unwrap();
    assert!(received == 1 || !sent);
}

/// Nobody touches a future that is gone.
#[test]
fn a_dropped_sender_leaves_the_line() {
    check(dropped_sender);
}
