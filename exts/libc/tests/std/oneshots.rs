//! Channels that carry one value, or are given up.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

/// How often threads race.
const ROUNDS: usize = 20;

pub(crate) fn close_receiver_first() {
    let (send, receive) = channel::<i32>();
    drop(receive);
    drop(send);
}

pub(crate) fn close_sender_first() {
    let (send, receive) = channel::<i32>();
    drop(send);
    drop(receive);
}

pub(crate) fn send_after_close() {
    let (send, receive) = channel::<Box<i32>>();
    drop(receive);
    assert_eq!(*send.send(Box::new(3)).unwrap_err().0, 3);
}

pub(crate) fn send_then_receive() {
    let (send, receive) = channel();
    send.send(Box::new(10)).unwrap();
    assert_eq!(*receive.recv().unwrap(), 10);
}

pub(crate) fn receive_after_close() {
    let (send, receive) = channel::<i32>();
    let joined = thread::spawn(move || {
        drop(send);
        receive.recv().unwrap();
    });
    assert!(joined.join().is_err());
}

pub(crate) fn try_send_open() {
    let (send, receive) = channel();
    assert!(send.send(10).is_ok());
    assert_eq!(receive.recv(), Ok(10));
}

pub(crate) fn try_send_closed() {
    let (send, receive) = channel();
    drop(receive);
    assert!(send.send(10).is_err());
}

pub(crate) fn try_receive_open() {
    let (send, receive) = channel();
    send.send(10).unwrap();
    assert_eq!(receive.recv(), Ok(10));
}

pub(crate) fn try_receive_closed() {
    let (send, receive) = channel::<i32>();
    drop(send);
    assert!(receive.recv().is_err());
}

pub(crate) fn peek_data() {
    let (send, receive) = channel();
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
    send.send(10).unwrap();
    assert_eq!(receive.try_recv(), Ok(10));
}

pub(crate) fn peek_close() {
    let (send, receive) = channel::<i32>();
    drop(send);
    assert_eq!(receive.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(receive.try_recv(), Err(TryRecvError::Disconnected));
}

pub(crate) fn peek_open() {
    let (_send, receive) = channel::<i32>();
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
}

pub(crate) fn close_in_threads() {
    for _ in 0..ROUNDS {
        let (send, receive) = channel::<i32>();
        let thread = thread::spawn(move || drop(receive));
        drop(send);
        thread.join().unwrap();
    }
}

pub(crate) fn close_after_send() {
    for _ in 0..ROUNDS {
        let (send, receive) = channel();
        let thread = thread::spawn(move || drop(receive));
        // Nobody knows whether it arrives.
        let _ = thread::spawn(move || send.send(1)).join().unwrap();
        thread.join().unwrap();
    }
}

pub(crate) fn close_before_receive() {
    for _ in 0..ROUNDS {
        let (send, receive) = channel::<i32>();
        let receiver = thread::spawn(move || {
            let waits = thread::spawn(move || receive.recv().is_err());
            assert!(waits.join().unwrap());
        });
        let sender = thread::spawn(move || drop(send));
        sender.join().unwrap();
        receiver.join().unwrap();
    }
}

pub(crate) fn send_and_receive_in_threads() {
    for _ in 0..ROUNDS {
        let (send, receive) = channel();
        let thread = thread::spawn(move || send.send(Box::new(10)).unwrap());
        assert_eq!(*receive.recv().unwrap(), 10);
        thread.join().unwrap();
    }
}

pub(crate) fn streams_hand_boxes_on() {
    /// Each value is sent by a thread of its own, and received by one.
    fn send(sender: Sender<Box<i32>>, number: i32) {
        if number < 10 {
            thread::spawn(move || {
                sender.send(Box::new(number)).unwrap();
                send(sender, number + 1);
            });
        }
    }
    fn receive(receiver: Receiver<Box<i32>>, number: i32) {
        if number < 10 {
            thread::spawn(move || {
                assert_eq!(*receiver.recv().unwrap(), number);
                receive(receiver, number + 1);
            });
        }
    }
    for _ in 0..ROUNDS / 4 {
        let (sender, receiver) = channel();
        send(sender, 0);
        receive(receiver, 0);
    }
}
