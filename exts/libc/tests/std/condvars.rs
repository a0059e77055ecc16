//! `Condvar`.

use crate::support::{FOREVER, SHORT};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A lock and a condition variable.
type Pair<T> = Arc<(Mutex<T>, Condvar)>;

/// A pair, and a thread that sets the value as soon as the caller waits.
fn set_by_another() -> Pair<bool> {
    let pair: Pair<bool> = Arc::default();
    let theirs = Arc::clone(&pair);
    thread::spawn(move || {
        thread::sleep(SHORT);
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    pair
}

pub(crate) fn may_be_told_without_waiters() {
    let changed = Condvar::new();
    changed.notify_one();
    changed.notify_all();
}

pub(crate) fn wake_one() {
    let (lock, changed) = (Arc::new(Mutex::new(())), Arc::new(Condvar::new()));
    let (theirs, told) = (Arc::clone(&lock), Arc::clone(&changed));
    // The thread cannot tell before the caller waits.
    let held = lock.lock().unwrap();
    let thread = thread::spawn(move || {
        let _held = theirs.lock().unwrap();
        told.notify_one();
    });
    drop(changed.wait(held).unwrap());
    thread.join().unwrap();
}

pub(crate) fn wake_all() {
    const THREADS: usize = 10;
    let pair: Pair<usize> = Arc::default();
    let (send, receive) = channel();
    for _ in 0..THREADS {
        let (theirs, send) = (Arc::clone(&pair), send.clone());
        thread::spawn(move || {
            let mut count = theirs.0.lock().unwrap();
            *count += 1;
            if *count == THREADS {
                send.send(()).unwrap();
            }
            while *count != 0 {
                count = theirs.1.wait(count).unwrap();
            }
            send.send(()).unwrap();
        });
    }
    drop(send);
    receive.recv().unwrap();
    *pair.0.lock().unwrap() = 0;
    pair.1.notify_all();
    assert_eq!(receive.iter().count(), THREADS);
}

pub(crate) fn unlock_while_they_wait() {
    let pair: Pair<bool> = Arc::default();
    let theirs = Arc::clone(&pair);
    let held = pair.0.lock().unwrap();
    let thread = thread::spawn(move || {
        // It gets the lock only while the caller waits.
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    let held = pair.1.wait_while(held, |is_set| !*is_set).unwrap();
    assert!(*held);
    thread.join().unwrap();
}

pub(crate) fn wait_for_conditions() {
    let pair = set_by_another();
    let held = pair.0.lock().unwrap();
    assert!(*pair.1.wait_while(held, |is_set| !*is_set).unwrap());
}

pub(crate) fn give_up_in_time() {
    let (lock, changed) = (Mutex::new(()), Condvar::new());
    loop {
        let begin = Instant::now();
        let (_held, end) = changed.wait_timeout(lock.lock().unwrap(), SHORT).unwrap();
        // It may wake for no reason.
        if end.timed_out() {
            assert!(begin.elapsed() >= SHORT);
            return;
        }
    }
}

pub(crate) fn give_up_on_conditions() {
    let (lock, changed) = (Mutex::new(()), Condvar::new());
    let waited = changed.wait_timeout_while(lock.lock().unwrap(), SHORT, |()| true);
    assert!(waited.unwrap().1.timed_out());
}

pub(crate) fn see_what_holds_already() {
    let (lock, changed) = (Mutex::new(()), Condvar::new());
    let waited = changed.wait_timeout_while(lock.lock().unwrap(), Duration::ZERO, |()| false);
    assert!(!waited.unwrap().1.timed_out());
}

pub(crate) fn wake_timed_conditions() {
    let pair = set_by_another();
    let held = pair.0.lock().unwrap();
    let waited = pair.1.wait_timeout_while(held, FOREVER, |is_set| !*is_set);
    let (is_set, end) = waited.unwrap();
    assert!(*is_set && !end.timed_out());
}

pub(crate) fn wake_timed_waits() {
    let pair = set_by_another();
    let mut held = pair.0.lock().unwrap();
    while !*held {
        let (again, end) = pair.1.wait_timeout(held, FOREVER).unwrap();
        assert!(!end.timed_out());
        held = again;
    }
}

pub(crate) fn serve_many_waiters() {
    const THREADS: usize = 6;
    let pair: Pair<usize> = Arc::default();
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                let turn = pair.0.lock().unwrap();
                let mut turn = pair.1.wait_while(turn, |now| *now != number).unwrap();
                *turn += 1;
                pair.1.notify_all();
            })
        })
        .collect();
    threads.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(*pair.0.lock().unwrap(), THREADS);
}
