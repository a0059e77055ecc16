//! `mpsc::channel`.

use crate::support::{FOREVER, SHORT, dropped};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{
    Receiver, RecvError, RecvTimeoutError, SendError, Sender, TryRecvError, channel,
};
use std::thread;
use std::time::{Duration, Instant};

/// How many values are many.
const MANY: usize = 500;

/// How many threads are many.
const THREADS: usize = 8;

pub(crate) fn carry_a_value() {
    let (send, receive) = channel();
    send.send(1).unwrap();
    assert_eq!(receive.recv(), Ok(1));
}

pub(crate) fn drop_what_is_left() {
    let ((first, count), (send, receive)) = (dropped(), channel());
    send.send(first).unwrap();
    let second = send.clone();
    drop((send, second));
    drop(receive);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

pub(crate) fn carry_between_clones() {
    let (send, receive) = channel();
    send.send(1).unwrap();
    assert_eq!(receive.recv(), Ok(1));
    send.clone().send(2).unwrap();
    assert_eq!(receive.recv(), Ok(2));
}

pub(crate) fn carry_between_threads() {
    let (send, receive) = channel();
    let thread = thread::spawn(move || send.send(1).unwrap());
    assert_eq!(receive.recv(), Ok(1));
    thread.join().unwrap();
}

pub(crate) fn refuse_sends_without_receiver() {
    let (send, receive) = channel();
    drop(receive);
    assert_eq!(send.send(1), Err(SendError(1)));
}

pub(crate) fn refuse_sends_of_clones() {
    let (send, receive) = channel();
    let second = send.clone();
    drop((receive, send));
    assert_eq!(second.send(1), Err(SendError(1)));
}

/// Sends until nobody receives.
fn send_until_refused(send: &Sender<i32>) {
    while send.send(1).is_ok() {
        thread::yield_now();
    }
}

pub(crate) fn stop_a_sender() {
    let (send, receive) = channel();
    let thread = thread::spawn(move || {
        receive.recv().unwrap();
    });
    send_until_refused(&send);
    thread.join().unwrap();
}

pub(crate) fn stop_many_senders() {
    let (send, receive) = channel();
    let second = send.clone();
    let thread = thread::spawn(move || {
        receive.recv().unwrap();
    });
    let other = thread::spawn(move || send_until_refused(&second));
    send_until_refused(&send);
    other.join().unwrap();
    thread.join().unwrap();
}

pub(crate) fn refuse_receives_without_sender() {
    let (send, receive) = channel::<i32>();
    drop(send);
    assert_eq!(receive.recv(), Err(RecvError));
}

pub(crate) fn refuse_after_the_last_clone() {
    let (send, receive) = channel::<()>();
    let second = send.clone();
    drop(send);
    assert_eq!(receive.try_recv(), Err(TryRecvError::Empty));
    drop(second);
    assert_eq!(receive.recv(), Err(RecvError));
}

pub(crate) fn stop_a_receiver() {
    let (send, receive) = channel();
    let thread = thread::spawn(move || {
        for _ in 0..2 {
            send.send(1).unwrap();
        }
    });
    while receive.recv().is_ok() {}
    thread.join().unwrap();
}

pub(crate) fn keep_order() {
    let (send, receive) = channel();
    let thread = thread::spawn(move || (0..MANY).for_each(|it| send.send(it).unwrap()));
    assert!(receive.iter().eq(0..MANY));
    thread.join().unwrap();
}

pub(crate) fn carry_much() {
    let (send, receive) = channel();
    let thread = thread::spawn(move || (0..MANY).for_each(|_| send.send(1).unwrap()));
    (0..MANY).for_each(|_| assert_eq!(receive.recv(), Ok(1)));
    thread.join().unwrap();
}

/// Starts threads that send many values.
fn senders(send: &Sender<i32>) {
    for _ in 0..THREADS {
        let send = send.clone();
        thread::spawn(move || (0..MANY / THREADS).for_each(|_| send.send(1).unwrap()));
    }
}

pub(crate) fn carry_much_of_many() {
    let (send, receive) = channel();
    senders(&send);
    drop(send);
    let thread = thread::spawn(move || {
        let all = MANY / THREADS * THREADS;
        (0..all).for_each(|_| assert_eq!(receive.recv(), Ok(1)));
        assert!(receive.try_recv().is_err());
    });
    thread.join().unwrap();
}

pub(crate) fn are_sent_from_threads() {
    let ((send, receive), (tell, told)) = (channel(), channel());
    let thread = thread::spawn(move || {
        tell.send(()).unwrap();
        (0..40).for_each(|_| assert_eq!(receive.recv(), Ok(1)));
        tell.send(()).unwrap();
    });
    told.recv().unwrap();
    thread::spawn(move || (0..40).for_each(|_| send.send(1).unwrap()));
    told.recv().unwrap();
    thread.join().unwrap();
}

pub(crate) fn are_received_in_threads() {
    let (send, receive) = channel();
    let thread = thread::spawn(move || (0..40).for_each(|_| assert_eq!(receive.recv(), Ok(1))));
    (0..40).for_each(|_| send.send(1).unwrap());
    thread.join().unwrap();
}

pub(crate) fn carry_there_and_back() {
    let ((send, receive), (reply, replies)) = (channel(), channel());
    let first = thread::spawn(move || {
        assert_eq!(receive.recv(), Ok(1));
        reply.send(2).unwrap();
    });
    let second = thread::spawn(move || {
        send.send(1).unwrap();
        assert_eq!(replies.recv(), Ok(2));
    });
    first.join().unwrap();
    second.join().unwrap();
}

pub(crate) fn time_out_in_time() {
    let (send, receive) = channel();
    send.send(1).unwrap();
    assert_eq!(receive.recv_timeout(SHORT), Ok(1));
    let begin = Instant::now();
    assert_eq!(receive.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    assert!(begin.elapsed() >= SHORT);
    send.send(2).unwrap();
    assert_eq!(receive.recv_timeout(SHORT), Ok(2));
    drop(send);
    let refused = receive.recv_timeout(SHORT);
    assert_eq!(refused, Err(RecvTimeoutError::Disconnected));
}

/// Receives with a limit until nobody sends. How many came.
fn count_with_limits(receive: &Receiver<i32>) -> usize {
    let mut count = 0;
    loop {
        match receive.recv_timeout(SHORT) {
            Ok(one) => {
                assert_eq!(one, 1);
                count += 1;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return count,
        }
    }
}

pub(crate) fn time_out_while_sent() {
    let (send, receive) = channel();
    thread::spawn(move || {
        for number in 0..60 {
            if number % 10 == 0 {
                thread::sleep(2 * SHORT);
            }
            send.send(1).unwrap();
        }
    });
    assert_eq!(count_with_limits(&receive), 60);
}

pub(crate) fn time_out_while_cloned() {
    let (send, receive) = channel::<()>();
    drop(send.clone());
    let begin = Instant::now();
    assert_eq!(receive.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    assert!(begin.elapsed() >= SHORT);
    drop(send);
}

pub(crate) fn time_out_never() {
    let (send, receive) = channel();
    let thread = thread::spawn(move || receive.recv_timeout(Duration::MAX));
    thread::sleep(SHORT);
    send.send(1).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(1));
}

pub(crate) fn receive_a_lot() {
    // What is received leaves no traces that end the program.
    let (send, receive) = channel();
    for _ in 0..10_000 {
        send.send(()).unwrap();
        receive.recv().unwrap();
    }
}

pub(crate) fn wait_with_a_limit_for_many() {
    let (send, receive) = channel();
    senders(&send);
    drop(send);
    assert_eq!(count_with_limits(&receive), MANY / THREADS * THREADS);
}

pub(crate) fn carry_from_many() {
    let (send, receive) = channel();
    for number in 0..THREADS {
        let send = send.clone();
        thread::spawn(move || send.send(number).unwrap());
    }
    drop(send);
    assert_eq!(receive.iter().sum::<usize>(), THREADS * (THREADS - 1) / 2);
}

pub(crate) fn iterate() {
    let ((send, receive), (total, totals)) = (channel::<i32>(), channel());
    thread::spawn(move || total.send(receive.iter().sum::<i32>()).unwrap());
    for number in [3, 1, 2] {
        send.send(number).unwrap();
    }
    drop(send);
    assert_eq!(totals.recv(), Ok(6));
}

pub(crate) fn iterate_until_broken() {
    let ((send, receive), (tell, told)) = (channel(), channel());
    thread::spawn(move || {
        let before = receive.iter().take_while(|number| *number < 3).count();
        tell.send(before).unwrap();
    });
    for number in [2, 2, 2, 4] {
        send.send(number).unwrap();
    }
    assert_eq!(told.recv(), Ok(3));
    assert!(send.send(2).is_ok() || told.recv().is_err());
}

pub(crate) fn iterate_what_is_there() {
    let ((ask, asked), (answer, answers)) = (channel(), channel());
    let thread = thread::spawn(move || {
        // Asks for one after another, and takes whatever is there.
        let mut count = 0;
        while count < 6 {
            ask.send(()).unwrap();
            count += answers
                .recv()
                .into_iter()
                .chain(answers.try_iter())
                .sum::<i32>();
        }
        count
    });
    for () in &asked {
        if answer.send(2).is_err() {
            break;
        }
    }
    assert_eq!(thread.join().unwrap(), 6);
}

pub(crate) fn iterate_owned() {
    let (send, receive) = channel();
    send.send(1).unwrap();
    send.send(2).unwrap();
    drop(send);
    let mut iterator = receive.into_iter();
    assert_eq!(iterator.next(), Some(1));
    assert_eq!(iterator.next(), Some(2));
    assert_eq!(iterator.next(), None);
}

pub(crate) fn iterate_borrowed() {
    let (send, receive) = channel();
    send.send(1).unwrap();
    drop(send);
    let mut seen = Vec::new();
    for value in &receive {
        seen.push(value);
    }
    assert_eq!(
        (seen, receive.try_recv()),
        (vec![1], Err(TryRecvError::Disconnected))
    );
}

pub(crate) fn tell_their_states() {
    let ((send, receive), (step, steps)) = (channel(), channel());
    let (done, dones) = channel();
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
    let ((send, receive), (done, dones)) = (channel(), channel());
    let thread = thread::spawn(move || {
        receive.recv().unwrap();
        drop(receive);
        done.send(()).unwrap();
    });
    for _ in 0..10 {
        thread::yield_now();
    }
    let second = send.clone();
    second.send(()).unwrap();
    drop(second);
    dones.recv().unwrap();
    drop(send);
    thread.join().unwrap();
}

pub(crate) fn survive_sends_in_destructors() {
    /// Sends at its end.
    struct Last(Sender<i32>);
    impl Drop for Last {
        fn drop(&mut self) {
            let _ = self.0.send(5);
        }
    }
    let ((send, receive), (inner, inners)) = (channel(), channel());
    send.send(Last(inner)).unwrap();
    drop(receive);
    assert_eq!(inners.recv(), Ok(5));
    assert!(inners.recv().is_err());
}

pub(crate) fn wake_a_timed_receiver() {
    let (send, receive) = channel::<()>();
    let second = send.clone();
    let thread = thread::spawn(move || receive.recv_timeout(FOREVER));
    thread::sleep(SHORT);
    drop(second);
    drop(send);
    assert_eq!(thread.join().unwrap(), Err(RecvTimeoutError::Disconnected));
}

pub(crate) fn debug_and_display_errors() {
    assert_eq!(SendError(1).to_string(), "sending on a closed channel");
    assert!(format!("{:?}", channel::<()>().0).starts_with("Sender"));
    assert!(format!("{:?}", channel::<()>().1).starts_with("Receiver"));
}
