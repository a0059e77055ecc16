//! The barrier.

use super::{ends_by_cancellation, freed_by_who_waits, mixed_crowd};
use crate::support::{
    Random, any_cluster, eventually, for_each_cluster, let_others_block, watched,
};
use fibre::sync::Barrier;
use fibre::{Limit, WaitError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Nobody goes on before all have come, round after round, and each round has one leader.
#[test]
fn all_go_on_together() {
    for_each_cluster(|_| {
        let shared = Arc::new((Barrier::new(9), AtomicUsize::new(0), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        mixed_crowd(move |_| {
            let (barrier, came, led) = &*inside;
            for round in 1..=100 {
                came.fetch_add(1, Ordering::SeqCst);
                let leads = barrier.wait().is_leader();
                led.fetch_add(usize::from(leads), Ordering::SeqCst);
                assert_eq!(
                    came.load(Ordering::SeqCst),
                    9 * round,
                    "somebody is missing"
                );
                barrier.wait();
                assert_eq!(led.load(Ordering::SeqCst), round, "leaders");
            }
        });
        assert_eq!(shared.0.waiting(), 0);
    });
}

/// A barrier for one, or for none, holds nobody up.
#[test]
fn a_lone_party_goes_on() {
    for parties in [0, 1] {
        let barrier = Barrier::new(parties);
        assert_eq!(barrier.parties(), parties);
        assert!(barrier.wait().is_leader());
        assert!(barrier.try_wait().is_some());
        assert!(barrier.wait_within(Instant::now()).is_ok());
        assert!(barrier.wait_within(Limit::Cancellation).is_ok());
    }
}

/// A party that gives up has not come: the others need one more.
#[test]
fn an_arrival_is_taken_back() {
    for_each_cluster(|_| {
        let barrier = Arc::new(Barrier::new(3));
        let before = Instant::now();
        let time = Duration::from_millis(2);
        assert!(barrier.wait_timeout(time).is_none());
        assert!(before.elapsed() >= time);
        assert_eq!(barrier.wait_within(before), Err(WaitError::TimedOut));
        assert!(barrier.try_wait().is_none());
        let cancelled = Arc::clone(&barrier);
        ends_by_cancellation(move || cancelled.wait_within(Limit::Cancellation).is_err());
        let cancelled = Arc::clone(&barrier);
        ends_by_cancellation(move || cancelled.wait_timeout(Duration::MAX).is_none());
        assert_eq!(barrier.waiting(), 0);
        let others = [(); 2].map(|()| {
            let barrier = Arc::clone(&barrier);
            fibre::spawn(move || barrier.wait().is_leader())
        });
        eventually(|| barrier.waiting() == 2);
        assert!(others.iter().all(|other| !other.is_finished()));
        // A deadline in the past tries once.
        assert!(
            barrier
                .wait_within(before)
                .is_ok_and(|result| result.is_leader())
        );
        assert!(others.into_iter().all(|other| !other.join().unwrap()));
    });
}

/// Whoever gives up or goes on, as many go on as a round has parties, one of them as its leader.
#[test]
fn rounds_are_complete() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let shared = Arc::new((Barrier::new(3), AtomicUsize::new(0), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        mixed_crowd(move |me| {
            let mut random = Random::new(seed.wrapping_add(me as u64));
            for _ in 0..300 {
                let time = Duration::from_micros(random.below(60) as u64);
                if let Some(result) = inside.0.wait_timeout(time) {
                    inside.1.fetch_add(1, Ordering::SeqCst);
                    inside
                        .2
                        .fetch_add(usize::from(result.is_leader()), Ordering::SeqCst);
                }
            }
        });
        assert_eq!(shared.0.waiting(), 0);
        let (passed, led) = (
            shared.1.load(Ordering::SeqCst),
            shared.2.load(Ordering::SeqCst),
        );
        assert_eq!(passed, 3 * led, "seed {seed}");
    });
}

/// A party that goes on may free the barrier, though others have yet to go on.
#[test]
fn who_goes_on_may_free_it() {
    fn pass(barrier: &Barrier) {
        barrier.wait();
    }
    for_each_cluster(|_| freed_by_who_waits(|| Barrier::new(2), pass, pass));
}

/// Parties of two clusters that wait at the same time, and a thread that completes them.
#[test]
fn a_thread_completes_fibres() {
    watched(|| {
        let clusters = [1, 2].map(|count| any_cluster().processors(count).build().unwrap());
        let barrier = Arc::new(Barrier::new(5));
        let fibres: Vec<_> = (0..4)
            .map(|i| {
                let barrier = Arc::clone(&barrier);
                clusters[i % 2].spawn(move || barrier.wait().is_leader())
            })
            .collect();
        eventually(|| barrier.waiting() == 4);
        let_others_block();
        assert!(barrier.wait().is_leader());
        assert!(fibres.into_iter().all(|fibre| !fibre.join().unwrap()));
        clusters.into_iter().for_each(|cluster| cluster.stop());
    });
}
