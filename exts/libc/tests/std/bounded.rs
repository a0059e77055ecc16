//! `mpsc::sync_channel`.

use crate::support::{SHORT, dropped};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SendError, SyncSender, TryRecvError, TrySendError, channel,
    sync_channel,
};
use std::thread;
use std::time::Duration;

/// How many values are many.
const MANY: usize = 200;

/// How many threads are many.
const THREADS: usize = 6;

pub(crate) fn carry_a_value() {
    let (send, receive) = sync_channel(1);
    send.send(1).unwrap();
    assert_eq!(receive.recv(), Ok(1));
}

pub(crate) fn drop_what_is_left() {
    let ((value, count), (send, receive)) = (dropped(), sync_channel(1));
    send.send(value).unwrap();
    drop((send.clone(), send, receive));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

pub(crate) fn carry_between_clones() {
    let (send, receive) = sync_channel(1);
    send.send(1).unwrap();
    assert_eq!(receive.recv(), Ok(1));
    send.clone().send(2).unwrap();
    assert_eq!(receive.recv(), Ok(2));
}

pub(crate) fn time_out() {
    let (send, receive) = sync_channel(1);
    assert_eq!(receive.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    send.send(1).unwrap();
    assert_eq!(receive.recv_timeout(SHORT), Ok(1));
}

pub(crate) fn carry_between_threads() {
    let (send, receive) = sync_channel(0);
    let thread = thread::spawn(move || send.send(1).unwrap());
    assert_eq!(receive.recv(), Ok(1));
    thread.join().unwrap();
}

pub(crate) fn refuse_sends_without_receiver() {
    let (send, receive) = sync_channel(0);
    let second = send.clone();
    drop(receive);
    assert_eq!(send.send(1), Err(SendError(1)));
    drop(send);
    assert_eq!(second.send(2), Err(SendError(2)));
}

pub(crate) fn stop_a_sender() {
    let (send, receive) = sync_channel(0);
    let thread = thread::spawn(move || {
        receive.recv().unwrap();
    });
    while send.send(1).is_ok() {}
    thread.join().unwrap();
}

pub(crate) fn stop_many_senders() {
    let (send, receive) = sync_channel(0);
    let second = send.clone();
    let thread = thread::spawn(move || {
        receive.recv().unwrap();
    });
    let other = thread::spawn(move || while second.send(1).is_ok() {});
    while send.send(1).is_ok() {}
    other.join().unwrap();
    thread.join().unwrap();
}

pub(crate) fn refuse_receives_without_sender() {
    let (send, receive) = sync_channel::<()>(0);
    drop((send.clone(), send));
    assert!(receive.recv().is_err());
}

pub(crate) fn stop_a_receiver() {
    let (send, receive) = sync_channel(0);
    let thread = thread::spawn(move || (0..2).for_each(|it| send.send(it).unwrap()));
    while receive.recv().is_ok() {}
    thread.join().unwrap();
}

pub(crate) fn rendezvous_often() {
    let (send, receive) = sync_channel(0);
    let thread = thread::spawn(move || (0..MANY).for_each(|it| send.send(it).unwrap()));
    assert!(receive.iter().eq(0..MANY));
    thread.join().unwrap();
}

/// Receives with a limit until nobody sends. How many came.
fn count_with_limits(receive: &Receiver<i32>) -> usize {
    let mut count = 0;
    loop {
        match receive.recv_timeout(SHORT) {
            Ok(_) => count += 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return count,
        }
    }
}

/// Starts threads that send many values.
fn senders(send: &SyncSender<i32>) {
    for _ in 0..THREADS {
        let send = send.clone();
        thread::spawn(move || (0..MANY / THREADS).for_each(|_| send.send(1).unwrap()));
    }
}

pub(crate) fn time_out_while_sent() {
    let (send, receive) = sync_channel(0);
    thread::spawn(move || {
        for number in 0..40 {
            if number % 10 == 0 {
                thread::sleep(2 * SHORT);
            }
            send.send(1).unwrap();
        }
    });
    assert_eq!(count_with_limits(&receive), 40);
}

pub(crate) fn time_out_never() {
    let (send, receive) = sync_channel(0);
    let thread = thread::spawn(move || receive.recv_timeout(Duration::MAX));
    send.send(1).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(1));
}

pub(crate) fn rendezvous_of_many() {
    let (send, receive) = sync_channel(0);
    senders(&send);
    drop(send);
    let thread = thread::spawn(move || receive.iter().count());
    assert_eq!(thread.join().unwrap(), MANY / THREADS * THREADS);
}

pub(crate) fn time_out_with_many() {
    let (send, receive) = sync_channel(0);
    senders(&send);
    drop(send);
    assert_eq!(count_with_limits(&receive), MANY / THREADS * THREADS);
}

pub(crate) fn close_receiver_first() {
    let (send, receive) = sync_channel::<i32>(0);
    drop(receive);
    drop(send);
}

pub(crate) fn close_sender_first() {
    let (send, receive) = sync_channel::<i32>(0);
    drop(send);
    drop(receive);
}

pub(crate) fn send_after_close() {
    let (send, receive) = sync_channel::<Box<i32>>(0);
    drop(receive);
    assert_eq!(*send.send(Box::new(3)).unwrap_err().0, 3);
}

pub(crate) fn receive_after_close() {
    let (send, receive) = sync_channel::<i32>(0);
    let thread = thread::spawn(move || {
        drop(send);
        receive.recv().unwrap();
    });
    assert!(thread.join().is_err());
}

pub(crate) fn try_send_to_nobody() {
    let (send, _receive) = sync_channel(0);
    assert_eq!(send.try_send(10), Err(TrySendError::Full(10)));
}

pub(crate) fn try_send_to_the_closed() {
    let (send, receive) = sync_channel(0);
    drop(receive);
    assert_eq!(send.try_send(10), Err(TrySendError::Disconnected(10)));
}

pub(crate) fn try_receive_open() {
    let (send, receive) = sync_channel(1);
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
    send.send(10).unwrap();
    assert_eq!(receive.try_recv(), Ok(10));
}

pub(crate) fn try_receive_closed() {
    let (send, receive) = sync_channel::<i32>(0);
    drop(send);
    assert_eq!(receive.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(receive.try_recv(), Err(TryRecvError::Disconnected));
}

pub(crate) fn streams_hand_boxes_on() {
    fn send(sender: SyncSender<Box<i32>>, number: i32) {
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
    for _ in 0..5 {
        let (sender, receiver) = sync_channel(0);
        send(sender, 0);
        receive(receiver, 0);
    }
}

pub(crate) fn hold_as_many_as_asked_for() {
    let (send, receive) = sync_channel(3);
    (0..3).for_each(|it| send.try_send(it).unwrap());
    assert_eq!(send.try_send(3), Err(TrySendError::Full(3)));
    assert_eq!(receive.recv(), Ok(0));
    assert_eq!(send.try_send(4), Ok(()));
    drop(send);
    assert_eq!(receive.iter().collect::<Vec<_>>(), [1, 2, 4]);
}

pub(crate) fn receive_a_lot() {
    let (send, receive) = sync_channel(10_000);
    (0..10_000).for_each(|_| send.send(()).unwrap());
    (0..10_000).for_each(|_| receive.recv().unwrap());
}

pub(crate) fn carry_from_many() {
    let (send, receive) = sync_channel(0);
    for number in 0..THREADS {
        let send = send.clone();
        thread::spawn(move || send.send(number).unwrap());
    }
    drop(send);
    assert_eq!(receive.iter().sum::<usize>(), THREADS * (THREADS - 1) / 2);
}

pub(crate) fn iterate() {
    let ((send, receive), (total, totals)) = (sync_channel::<i32>(0), sync_channel(0));
    thread::spawn(move || total.send(receive.iter().sum::<i32>()).unwrap());
    for number in [3, 1, 2] {
        send.send(number).unwrap();
    }
    drop(send);
    assert_eq!(totals.recv(), Ok(6));
}

pub(crate) fn iterate_until_broken() {
    let ((send, receive), (tell, told)) = (sync_channel(0), sync_channel(0));
    thread::spawn(move || {
        let before = receive.iter().take_while(|number| *number < 3).count();
        drop(receive);
        tell.send(before).unwrap();
    });
    for number in [2, 2, 2, 4] {
        send.send(number).unwrap();
    }
    // The receiver is gone, or goes.
    assert!(send.send(2).is_err());
    assert_eq!(told.recv(), Ok(3));
}

pub(crate) fn tell_their_states() {
    let ((send, receive), (step, steps)) = (sync_channel(1), sync_channel(1));
    let (done, dones) = sync_channel(1);
    let thread = thread::spawn(move || {
        steps.recv().unwrap();
        send.send(1).unwrap();
        done.send(()).unwrap();
        steps.recv().unwrap();
        drop(send);
        done.send(()).unwrap();
    });
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
    step.send(()).unwrap();
    dones.recv().unwrap();
    assert_eq!(receive.try_recv(), Ok(1));
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
    step.send(()).unwrap();
    dones.recv().unwrap();
    assert_eq!(receive.try_recv(), Err(TryRecvError::Disconnected));
    thread.join().unwrap();
}

pub(crate) fn end_while_a_sender_lives() {
    let ((send, receive), (done, dones)) = (sync_channel(0), sync_channel(0));
    let thread = thread::spawn(move || {
        receive.recv().unwrap();
        drop(receive);
        done.send(()).unwrap();
    });
    (0..10).for_each(|_| thread::yield_now());
    let second = send.clone();
    second.send(()).unwrap();
    drop(second);
    dones.recv().unwrap();
    drop(send);
    thread.join().unwrap();
}

pub(crate) fn try_send_when_full() {
    let (send, receive) = sync_channel(1);
    assert_eq!(send.try_send(1), Ok(()));
    assert_eq!(send.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(receive.recv(), Ok(1));
}

pub(crate) fn try_send_when_left() {
    let (send, receive) = sync_channel(1);
    assert_eq!(send.try_send(1), Ok(()));
    drop(receive);
    assert_eq!(send.try_send(2), Err(TrySendError::Disconnected(2)));
}

pub(crate) fn try_send_meets_a_receiver() {
    let ((send, receive), (reply, replies)) = (sync_channel(0), channel());
    thread::spawn(move || reply.send(receive.recv().unwrap()).unwrap());
    while send.try_send(7).is_err() {
        thread::yield_now();
    }
    assert_eq!(replies.recv(), Ok(7));
}

pub(crate) fn wake_senders_that_wait() {
    // A receiver that goes away tells all who wait for it.
    let (send, receive) = sync_channel::<()>(0);
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let send = send.clone();
            thread::spawn(move || send.send(()).is_err())
        })
        .collect();
    thread::sleep(SHORT);
    drop(receive);
    assert!(threads.into_iter().all(|one| one.join().unwrap()));
}

pub(crate) fn block_the_next_send() {
    let (send, receive) = sync_channel(1);
    let has_sent = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&has_sent);
    let thread = thread::spawn(move || {
        send.send(1).unwrap();
        send.send(2).unwrap();
        theirs.store(true, Ordering::SeqCst);
    });
    thread::sleep(SHORT);
    assert!(!has_sent.load(Ordering::SeqCst));
    assert_eq!((receive.recv(), receive.recv()), (Ok(1), Ok(2)));
    thread.join().unwrap();
    assert!(has_sent.load(Ordering::SeqCst));
}
