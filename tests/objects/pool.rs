//! The pool of `examples/pool`, under attack: its bound, connections that fail, ends of waits, and
//! whether any connection or place is lost.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[path = "../../examples/pool/pool.rs"]
mod pool;

use crate::support::Random;
use fibre::{Builder, CancelToken, Cluster, Limit, WaitError};
use pool::{Pool, PoolError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long anything may take before it counts as hanging.
const LONG: Duration = Duration::from_secs(60);

/// How many connections there are, and were.
#[derive(Default)]
struct Count {
    open: AtomicUsize,
    most: AtomicUsize,
    ever: AtomicUsize,
}

/// A connection that is counted.
struct Counted {
    count: Arc<Count>,
    number: usize,
}

impl Counted {
    fn open(count: &Arc<Count>) -> Self {
        let open = count.open.fetch_add(1, Ordering::SeqCst) + 1;
        count.most.fetch_max(open, Ordering::SeqCst);
        Self {
            number: count.ever.fetch_add(1, Ordering::SeqCst),
            count: Arc::clone(count),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.count.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A pool of such connections.
fn pool(most: usize, keep: Duration) -> (Arc<Pool<Counted>>, Arc<Count>) {
    let count = Arc::new(Count::default());
    let opening = Arc::clone(&count);
    let pool = Pool::new(most, keep, move || Ok(Counted::open(&opening)));
    (Arc::new(pool), count)
}

#[test]
fn a_crowd_never_has_more_than_the_bound_and_loses_nothing() {
    const MOST: usize = 5;
    for processors in [1, 2, 4] {
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        let (pool, count) = pool(MOST, LONG);
        let lent = Arc::new(AtomicUsize::new(0));
        let fibres: Vec<_> = (0..100)
            .map(|number| {
                let (pool, lent) = (Arc::clone(&pool), Arc::clone(&lent));
                cluster.spawn(move || {
                    let mut random = Random::new(number);
                    let mut had = 0;
                    for _ in 0..100 {
                        let limit = Duration::from_micros(random.below(2000) as u64);
                        let mut borrow = || -> Result<(), PoolError> {
                            let line = pool.borrow(limit)?;
                            assert!(lent.fetch_add(1, Ordering::SeqCst) < MOST);
                            if random.below(4) == 0 {
                                fibre::sleep(Duration::from_micros(random.below(300) as u64));
                            }
                            lent.fetch_sub(1, Ordering::SeqCst);
                            match random.below(10) {
                                0 => Err(line.discard(io::ErrorKind::BrokenPipe.into())),
                                1 => resume_unwind(Box::new("on purpose")),
                                _ => Ok(()),
                            }
                        };
                        match catch_unwind(AssertUnwindSafe(&mut borrow)) {
                            Ok(Err(PoolError::Waited(error))) => {
                                assert_eq!(error, WaitError::TimedOut)
                            }
                            Ok(Err(PoolError::Closed)) => unreachable!("it is open"),
                            _ => had += 1,
                        }
                    }
                    had
                })
            })
            .collect();
        let had: usize = fibres.into_iter().map(|fibre| fibre.join().unwrap()).sum();
        assert!(had > 0);
        assert!(count.most.load(Ordering::SeqCst) <= MOST);
        assert_eq!(count.ever.load(Ordering::SeqCst), pool.opened());
        // All places are back: as many can be had as ever, at once.
        let all: Vec<_> = (0..MOST)
            .map(|_| pool.borrow(Duration::ZERO).unwrap())
            .collect();
        assert!(pool.borrow(Duration::ZERO).is_err());
        drop(all);
        pool.close();
        assert_eq!(count.open.load(Ordering::SeqCst), 0);
        cluster.stop();
    }
}

#[test]
fn what_was_used_last_is_lent_again_and_what_is_old_is_not() {
    let (pool, count) = pool(3, Duration::from_millis(20));
    let (first, second) = (
        pool.borrow(LONG).ok().unwrap(),
        pool.borrow(LONG).ok().unwrap(),
    );
    drop(first);
    drop(second);
    assert_eq!(pool.borrow(LONG).ok().unwrap().number, 1);
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(pool.borrow(LONG).ok().unwrap().number, 2);
    assert_eq!(count.open.load(Ordering::SeqCst), 1);
}

#[test]
fn a_place_is_back_when_no_connection_can_be_opened() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let pool = Pool::new(1, LONG, move || {
        match counted.fetch_add(1, Ordering::SeqCst) {
            0..3 => Err(io::ErrorKind::ConnectionRefused.into()),
            3 => resume_unwind(Box::new("on purpose")),
            _ => Ok(7),
        }
    });
    for _ in 0..3 {
        let refused = pool.borrow(LONG).map(|line| *line);
        assert!(
            matches!(refused, Err(PoolError::Failed(error)) if error.kind() == io::ErrorKind::ConnectionRefused)
        );
    }
    assert!(catch_unwind(AssertUnwindSafe(|| pool.borrow(LONG).map(drop))).is_err());
    assert_eq!(*pool.borrow(Duration::ZERO).ok().unwrap(), 7);
    assert_eq!(pool.opened(), 1);
}

#[test]
fn waits_end_by_cancellation_and_by_time_outs() {
    let (pool, _) = pool(1, LONG);
    let only = pool.borrow(LONG).ok().unwrap();
    let token = CancelToken::new();
    let waiting = Arc::clone(&pool);
    let waits = move || waiting.borrow(Limit::Cancellation).map(|line| line.number);
    let fibre = Builder::new().cancel_token(&token).spawn(waits).unwrap();
    token.cancel();
    let ended = fibre.join().unwrap();
    assert!(matches!(
        ended,
        Err(PoolError::Waited(WaitError::Cancelled))
    ));
    let late = fibre::timeout(Duration::from_millis(1), || {
        pool.borrow(LONG).map(|line| line.number)
    });
    assert!(late.is_err());
    drop(only);
    assert!(pool.borrow(Duration::ZERO).is_ok());
}

#[test]
fn closing_ends_all_waits_and_connections() {
    let (pool, count) = pool(2, LONG);
    let lent = pool.borrow(LONG).ok().unwrap();
    let idle = pool.borrow(LONG).ok().unwrap();
    let waiters: Vec<_> = (0..10)
        .map(|_| {
            let pool = Arc::clone(&pool);
            fibre::spawn(move || pool.borrow(LONG).map(|line| line.number))
        })
        .collect();
    while !waiters.iter().all(|waiter| !waiter.is_finished()) {
        fibre::yield_now();
    }
    // They stand in line, or come later: it makes no difference.
    pool.close();
    drop(idle);
    for waiter in waiters {
        assert!(matches!(waiter.join().unwrap(), Err(PoolError::Closed)));
    }
    assert_eq!(count.open.load(Ordering::SeqCst), 1);
    drop(lent);
    assert_eq!(count.open.load(Ordering::SeqCst), 0);
    pool.close();
    assert!(matches!(
        pool.borrow(LONG).map(drop),
        Err(PoolError::Closed)
    ));
}
