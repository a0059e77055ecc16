//! Cancellation against wakers and deadlines: what was handed over is never lost.

use crate::support::{Random, eventually, for_each_cluster, run_in};
use fibre::sync::{Condvar, Mutex, Semaphore};
use fibre::{Builder, CancelToken, Cluster, Limit};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Fibres at work at once.
const CROWD: usize = 12;

/// Rounds of each test.
const ROUNDS: usize = 40;

/// Runs `work` in many fibres that are cancelled at random times, round by round; then `after`
/// looks at what is left.
fn rounds(
    seed: u64,
    work: impl Fn(&mut Random) + Send + Sync + 'static,
    meanwhile: impl Fn(&mut Random),
) {
    let work = Arc::new(work);
    let mut random = Random::new(seed);
    for round in 0..ROUNDS {
        let token = CancelToken::new();
        let fibres: Vec<_> = (0..CROWD)
            .map(|me| {
                let work = Arc::clone(&work);
                let mut random = Random::new(seed + (round * CROWD + me) as u64);
                let builder = Builder::new().cancel_token(&token);
                builder.spawn(move || work(&mut random)).unwrap()
            })
            .collect();
        for fibre in fibres.iter().step_by(3) {
            meanwhile(&mut random);
            fibre.cancel();
        }
        meanwhile(&mut random);
        token.cancel();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    }
}

/// A short random wait.
fn moment(random: &mut Random) {
    match random.below(3) {
        0 => fibre::yield_now(),
        _ => fibre::sleep(Duration::from_micros(random.below(60) as u64)),
    }
}

/// Permits are neither lost nor invented.
fn permits(seed: u64) {
    let semaphore = Arc::new(Semaphore::new(2));
    let taken = Arc::new(AtomicUsize::new(0));
    let inside = (Arc::clone(&semaphore), Arc::clone(&taken));
    let work = move |random: &mut Random| {
        let (semaphore, taken) = &inside;
        for step in 0.. {
            let got = if step % 2 == 0 {
                semaphore.acquire_within(Limit::Cancellation).is_ok()
            } else {
                let deadline = Instant::now() + Duration::from_micros(random.below(100) as u64);
                semaphore.acquire_within(deadline).is_ok()
            };
            if got {
                taken.fetch_add(1, Ordering::Relaxed);
                moment(random);
                semaphore.release();
            } else if fibre::is_cancelled() {
                return;
            }
        }
    };
    rounds(seed, work, moment);
    assert_eq!(semaphore.available(), 2);
    assert!(taken.load(Ordering::Relaxed) > 0);
}

/// The mutex is free in the end, and never held by two.
fn locks(seed: u64) {
    let mutex = Arc::new(Mutex::new(()));
    let holders = Arc::new(AtomicUsize::new(0));
    let inside = (Arc::clone(&mutex), Arc::clone(&holders));
    let work = move |random: &mut Random| {
        while let Ok(guard) = inside.0.lock_within(Limit::Cancellation) {
            assert_eq!(inside.1.fetch_add(1, Ordering::SeqCst), 0);
            moment(random);
            inside.1.fetch_sub(1, Ordering::SeqCst);
            drop(guard);
        }
    };
    rounds(seed, work, moment);
    assert!(mutex.try_lock().is_some());
}

/// Each token that was put in, one notification each, is taken out by somebody: a notification
/// is not consumed by a wait that was cancelled.
fn notifications(seed: u64) {
    let shared = Arc::new((Mutex::new(0_usize), Condvar::new()));
    let taken = Arc::new(AtomicUsize::new(0));
    let inside = (Arc::clone(&shared), Arc::clone(&taken));
    let steady: Vec<_> = (0..2)
        .map(|_| {
            let (shared, taken) = (Arc::clone(&shared), Arc::clone(&taken));
            fibre::spawn(move || {
                loop {
                    let mut tokens = shared.0.lock();
                    shared.1.wait_while(&mut tokens, |tokens| *tokens == 0);
                    if *tokens == usize::MAX {
                        return;
                    }
                    *tokens -= 1;
                    taken.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let put = Arc::new(AtomicUsize::new(0));
    let putting = (Arc::clone(&shared), Arc::clone(&put));
    let work = move |_: &mut Random| {
        let ((tokens, more), taken) = (&*inside.0, &inside.1);
        let mut tokens = tokens.lock();
        while more.wait_within(&mut tokens, Limit::Cancellation).is_ok() {
            if *tokens > 0 {
                *tokens -= 1;
                taken.fetch_add(1, Ordering::SeqCst);
            }
        }
    };
    rounds(seed, work, move |random| {
        *putting.0.0.lock() += 1;
        putting.0.1.notify_one();
        putting.1.fetch_add(1, Ordering::SeqCst);
        moment(random);
    });
    // Those who are left take what is left: if a notification were lost, they would sleep.
    eventually(|| taken.load(Ordering::SeqCst) == put.load(Ordering::SeqCst));
    *shared.0.lock() = usize::MAX;
    shared.1.notify_all();
    steady.into_iter().for_each(|fibre| fibre.join().unwrap());
}

/// A join with a deadline, cancelled or not, gives the result or the handle.
fn joins(seed: u64) {
    let work = move |random: &mut Random| {
        while !fibre::is_cancelled() {
            let time = Duration::from_micros(random.below(40) as u64);
            let inner = fibre::spawn(move || {
                fibre::sleep(time);
                5
            });
            let result = match inner.join_within(Instant::now() + time) {
                Ok(result) => result,
                Err(inner) => inner.join(),
            };
            assert_eq!(result.unwrap(), 5);
        }
    };
    rounds(seed, work, moment);
}

/// Runs all these races.
fn all(seed: u64) {
    permits(seed);
    locks(seed + 1);
    notifications(seed + 2);
    joins(seed + 3);
}

#[test]
fn nothing_is_lost() {
    let seed = Random::seed();
    for_each_cluster(move |_| all(seed));
}

/// The same where each wake-up, also a canceller's, lands on another processor.
#[test]
fn nothing_is_lost_between_processors() {
    let seed = Random::seed();
    for processors in [2, 4] {
        let builder = Cluster::builder().processors(processors);
        // SAFETY: the fibres of this test keep nothing that belongs to a kernel thread.
        let cluster = unsafe { builder.force_migration() }.build().unwrap();
        run_in(cluster, Arc::new(move |_: &Cluster| all(seed)));
    }
}

/// The same where fibres may move as soon as there is a second processor, which comes while they
/// wait as if they could not.
#[test]
fn nothing_is_lost_when_processors_come() {
    let seed = Random::seed();
    for round in 0..8 {
        let builder = Cluster::builder().processors(1).max_processors(4);
        // SAFETY: the fibres of this test keep nothing that belongs to a kernel thread.
        let cluster = unsafe { builder.move_started_fibres() }.build().unwrap();
        let growing = cluster.clone();
        let adder = std::thread::spawn(move || {
            for _ in 1..4 {
                std::thread::sleep(Duration::from_millis(1 + round));
                growing.add_processors(1).unwrap();
            }
        });
        run_in(
            cluster,
            Arc::new(move |_: &Cluster| {
                all(seed + round);
                // Until all have come.
                eventually(|| adder.is_finished());
            }),
        );
    }
}
