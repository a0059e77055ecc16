//! Time-outs and cancellation at random moments: whatever is won is had, and nothing is lost.

use crate::support::{Random, any_cluster, run_in};
use fibre::channel::bounded;
use fibre::sync::{Mutex, Semaphore};
use fibre::{Builder, CancelToken, cancellable, timeout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many calls each fibre makes: a million of all fibres in a release build with
/// `FIBRE_STRESS_SECONDS`, fewer otherwise.
fn rounds() -> u64 {
    let stressed = std::env::var_os("FIBRE_STRESS_SECONDS").is_some();
    if stressed && !cfg!(debug_assertions) {
        31_250
    } else {
        250
    }
}

/// How many fibres compete.
const FIBRES: u64 = 8;

/// A time that is over soon, and often in the middle of the call.
fn soon(random: &mut Random) -> Duration {
    Duration::from_nanos(random.below(60_000) as u64)
}

/// Permits that a time-out takes from a waiter are with another one, or in the count.
fn permits(random: &mut Random) {
    let permits = Arc::new(Semaphore::new(2));
    let inside = Arc::new(AtomicU64::new(0));
    let fibres: Vec<_> = (0..FIBRES)
        .map(|_| {
            let (permits, inside) = (Arc::clone(&permits), Arc::clone(&inside));
            let mut random = random.split();
            fibre::spawn(move || {
                for _ in 0..rounds() {
                    let many = 1 + random.below(2);
                    let taken = timeout(soon(&mut random), || permits.acquire_many(many));
                    if taken.is_ok() {
                        let others = inside.fetch_add(many as u64, Ordering::Relaxed);
                        assert!(others + many as u64 <= 2);
                        fibre::yield_now();
                        inside.fetch_sub(many as u64, Ordering::Relaxed);
                        permits.release_many(many);
                    }
                }
            })
        })
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
    assert_eq!(permits.available(), 2);
}

/// Each value that was sent is received once, or was given back by the end of its sender's time.
fn values(random: &mut Random) {
    let (sender, receiver) = bounded::<u64>(1);
    let sent: Vec<_> = (0..FIBRES / 2)
        .map(|_| {
            let sender = sender.clone();
            let mut random = random.split();
            fibre::spawn(move || {
                let mut sum = 0;
                for value in 0..rounds() {
                    if timeout(soon(&mut random), || sender.send(value).unwrap()).is_ok() {
                        sum += value + 1;
                    }
                }
                sum
            })
        })
        .collect();
    drop(sender);
    let received: Vec<_> = (0..FIBRES / 2)
        .map(|_| {
            let receiver = receiver.clone();
            let mut random = random.split();
            fibre::spawn(move || {
                let mut sum = 0;
                loop {
                    match timeout(soon(&mut random), || receiver.recv()) {
                        Ok(Ok(value)) => sum += value + 1,
                        Ok(Err(_closed)) => return sum,
                        Err(late) => assert!(late.into_value().is_none()),
                    }
                }
            })
        })
        .collect();
    let total = |fibres: Vec<fibre::JoinHandle<u64>>| -> u64 {
        fibres.into_iter().map(|fibre| fibre.join().unwrap()).sum()
    };
    assert_eq!(total(sent), total(received));
}

/// A mutex is never had by two, nor by nobody for ever; cancelled fibres leave it.
fn locks(random: &mut Random) {
    let mutex = Arc::new(Mutex::new(0_u64));
    for _ in 0..rounds() / 10 {
        let token = CancelToken::new();
        let fibres: Vec<_> = (0..FIBRES)
            .map(|_| {
                let mutex = Arc::clone(&mutex);
                let builder = Builder::new().cancel_token(&token);
                let body = move || {
                    let mut taken = 0_u64;
                    let _ = cancellable(|| {
                        for _ in 0..10 {
                            let mut guard = mutex.lock();
                            *guard += 1;
                            taken += 1;
                            fibre::yield_now();
                        }
                    });
                    taken
                };
                builder.spawn(body).unwrap()
            })
            .collect();
        fibre::sleep(soon(random) / 2);
        token.cancel();
        let taken: u64 = fibres.into_iter().map(|fibre| fibre.join().unwrap()).sum();
        assert_eq!(std::mem::take(&mut *mutex.lock()), taken);
    }
}

/// All of it, with different numbers of processors.
#[test]
fn nothing_is_lost_or_doubled() {
    for processors in [1, 2, 4, 16] {
        let cluster = any_cluster().processors(processors).build().unwrap();
        let seed = Random::seed();
        let body = move |_: &fibre::Cluster| {
            let mut random = Random::new(seed);
            permits(&mut random);
            values(&mut random);
            locks(&mut random);
        };
        run_in(cluster, Arc::new(body));
    }
}
