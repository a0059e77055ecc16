//! Fibres that keep their processors: what waits behind them goes on elsewhere.

use super::{builder, crowd, for_crowds};
use crate::support;
use std::cell::Cell;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::sockets::pair;

thread_local!(static ROUNDS: Cell<usize> = const { Cell::new(0) });

/// How many fibres wait behind those that keep their processors.
const FIBRES: usize = 20;

/// Fibres that have started everywhere, and wait for time, for each other and for sockets, come to
/// their ends while as many fibres as there are processors spin for that.
#[test]
fn what_has_started_goes_on() {
    for processors in support::processor_counts() {
        let cluster = builder().processors(processors).build().unwrap();
        support::run_in(cluster, Arc::new(move |_: &_| keep_all(processors)));
    }
}

/// The body of the test above.
fn keep_all(processors: usize) {
    let begun = Arc::new(AtomicUsize::new(0));
    let ended = Arc::new(AtomicUsize::new(0));
    let kept = Arc::new(AtomicUsize::new(0));
    let all_kept = move |kept: &AtomicUsize| kept.load(Ordering::Acquire) == processors;
    let others: Vec<_> = (0..FIBRES)
        .map(|_| {
            let counts = [&begun, &ended, &kept].map(Arc::clone);
            fibre::spawn(move || {
                let [begun, ended, kept] = counts;
                let (mut near, mut far) = pair();
                let echo = fibre::spawn(move || {
                    let mut byte = [0];
                    while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
                });
                begun.fetch_add(1, Ordering::Release);
                while !all_kept(&kept) {
                    fibre::sleep(Duration::from_micros(200));
                }
                for round in 1..=20 {
                    ROUNDS.set(round);
                    let mut byte = [round as u8];
                    near.write_all(&byte).unwrap();
                    near.read_exact(&mut byte).unwrap();
                    fibre::sleep(Duration::from_micros(100));
                    assert_eq!((ROUNDS.get(), byte), (round, [round as u8]));
                }
                drop(near);
                echo.join().unwrap();
                ended.fetch_add(1, Ordering::Release);
            })
        })
        .collect();
    while begun.load(Ordering::Acquire) < FIBRES {
        fibre::sleep(Duration::from_micros(100));
    }
    let keepers: Vec<_> = (0..processors)
        .map(|_| {
            let (ended, kept) = (Arc::clone(&ended), Arc::clone(&kept));
            fibre::spawn(move || {
                kept.fetch_add(1, Ordering::Release);
                while ended.load(Ordering::Acquire) < FIBRES {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    others.into_iter().for_each(|fibre| fibre.join().unwrap());
    keepers.into_iter().for_each(|fibre| fibre.join().unwrap());
}

/// A lock of std that is held over a wait: those who ask for it block their kernel threads, and the
/// holder goes on on another one. In the default cluster this hangs.
#[test]
fn a_std_lock_may_be_held_over_a_wait() {
    let count = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&count);
    for_crowds(8, move |_| {
        let mut count = shared.lock().unwrap();
        *count += 1;
        fibre::sleep(Duration::from_millis(1));
        *count += 1;
    });
    let runs = 2 * support::processor_counts().len();
    assert_eq!(*count.lock().unwrap(), 2 * 8 * runs);
}

/// Fibres that block their kernel threads hold up no other one.
#[test]
fn threads_may_be_blocked() {
    let body = Arc::new(|number: usize| {
        ROUNDS.set(number);
        if number.is_multiple_of(4) {
            std::thread::sleep(Duration::from_millis(30));
        } else {
            (0..10).for_each(|_| fibre::sleep(Duration::from_micros(500)));
        }
        assert_eq!(ROUNDS.get(), number);
    });
    super::for_each_kind(move |_| crowd(40, &body));
}
