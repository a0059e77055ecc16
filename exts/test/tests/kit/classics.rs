//! Faults that other tools are shown by, each within so many seeds by random and by PCT.

use crate::{assert_says, failure};
use fibre::sync::{Condvar, Mutex};
use fibre_test::{Schedule, Sim};
use std::sync::Arc;

const SEEDS: u64 = 1000;

/// Asserts that both schedules find the fault, and that its words say this. In order it is not
/// seen.
fn is_found(says: &str, test: fn(&Sim)) {
    let _ = Sim::builder().run(test);
    is_found_by_seeds(says, test);
}

/// The same of a fault that may be seen in order, too.
fn is_found_by_seeds(says: &str, test: fn(&Sim)) {
    for schedule in [Schedule::random(), Schedule::pct(3)] {
        let text = failure(Sim::builder().seeds(SEEDS).schedule(schedule), test);
        assert_says(&text, &[says]);
    }
}

#[test]
fn two_accounts_lock_each_other_out() {
    is_found("deadlock", |_| {
        let accounts = [100, 100].map(|money| Arc::new(Mutex::new(money)));
        let transfers = [[0, 1], [1, 0]].map(|[from, to]| {
            let [from, to] = [from, to].map(|which| Arc::clone(&accounts[which]));
            fibre::spawn(move || {
                let mut from = from.lock();
                let mut to = to.lock();
                *from -= 10;
                *to += 10;
            })
        });
        transfers
            .into_iter()
            .for_each(|transfer| transfer.join().unwrap());
    });
}

#[test]
fn philosophers_starve() {
    is_found("deadlock", |_| {
        let forks: Vec<_> = (0..3).map(|_| Arc::new(Mutex::new(()))).collect();
        let philosophers: Vec<_> = (0..3)
            .map(|seat| {
                let [left, right] = [seat, (seat + 1) % 3].map(|fork| Arc::clone(&forks[fork]));
                fibre::spawn(move || {
                    let _left = left.lock();
                    let _right = right.lock();
                })
            })
            .collect();
        philosophers
            .into_iter()
            .for_each(|philosopher| philosopher.join().unwrap());
    });
}

/// A buffer with room for one, where producers and consumers wait for one condition variable and
/// wake one of all that wait.
#[test]
fn a_bounded_buffer_with_one_condition_variable_stands_still() {
    is_found_by_seeds("deadlock", |_| {
        let buffer = Arc::new((Mutex::new(0_u32), Condvar::new()));
        let change = |full: bool| {
            let buffer = Arc::clone(&buffer);
            move || {
                let (count, changed) = &*buffer;
                for _ in 0..2 {
                    let mut count = count.lock();
                    while (*count == 1) == full {
                        changed.wait(&mut count);
                    }
                    *count = u32::from(full);
                    changed.notify_one();
                }
            }
        };
        let fibres: Vec<_> = [true, true, false, false]
            .map(|fills| fibre::spawn(change(fills)))
            .into();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    });
}

/// A waiter looks, lets the lock go, and waits without having looked again.
#[test]
fn a_wake_up_is_lost() {
    is_found("deadlock", |_| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let waits = Arc::clone(&shared);
        let waiter = fibre::spawn(move || {
            let (ready, changed) = &*waits;
            let seen = *ready.lock();
            if !seen {
                changed.wait(&mut ready.lock());
            }
        });
        fibre::yield_now();
        *shared.0.lock() = true;
        shared.1.notify_one();
        waiter.join().unwrap();
    });
}

/// A check and an act with a gap between them: two fibres open what is to be opened once.
#[test]
fn a_check_is_out_of_date_when_one_acts() {
    is_found("opened twice", |_| {
        let opened = Arc::new(Mutex::new(0));
        let openers = [(); 2].map(|()| {
            let opened = Arc::clone(&opened);
            fibre::spawn(move || {
                if *opened.lock() == 0 {
                    *opened.lock() += 1;
                }
            })
        });
        openers
            .into_iter()
            .for_each(|opener| opener.join().unwrap());
        assert!(*opened.lock() == 1, "opened twice");
    });
}
