//! The stop of a cluster spares stretches of work until half of its second limit has passed.

use crate::support::{
    Random, any_cluster, eventually, processor_counts, until_waiting, watchdog, watched_for,
};
use fibre::sync::Event;
use fibre::{
    Builder, CancelToken, Cancelled, Cluster, Limit, StopError, WaitError, WaitKind, cancellable,
    grace_limit, graceful, is_cancelled, is_ending, shield, sleep_within,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(3600);

/// Calls `test` on this thread with each kind of cluster: of each size, with fibres that stay and
/// with fibres that move.
fn for_each(test: impl Fn(Cluster, bool)) {
    for processors in processor_counts() {
        for moving in [false, true] {
            let builder = match moving {
                false => any_cluster(),
                // SAFETY: the fibres of this file keep nothing across a wait that belongs to a
                // kernel thread.
                true => unsafe { Cluster::builder().move_started_fibres() },
            };
            let cluster = builder.processors(processors).build().unwrap();
            let remark = format!(" with {processors} processors, moving: {moving}");
            watched_for(watchdog::LIMIT, &remark, || test(cluster, moving));
        }
    }
}

/// Whether the started fibres of clusters that ask for nothing move.
fn all_move() -> bool {
    std::env::var("FIBRE_TEST_MOVES").is_ok_and(|moves| moves != "never")
}

/// Stops a cluster on another thread, without a drain.
fn stop(cluster: Cluster, cancel: Duration) -> JoinHandle<Result<(), StopError>> {
    thread::spawn(move || cluster.stop_within(Duration::ZERO, cancel))
}

/// Those outside of a stretch are cancelled at once, and one in a stretch when that ends. It can
/// learn of that, and of the limit.
#[test]
fn a_stretch_is_spared_by_the_end_of_its_cluster() {
    for_each(|cluster, _| {
        let [begun, told, go] = [(); 3].map(|()| Arc::new(Event::new()));
        let (begins, hears, goes) = (Arc::clone(&begun), Arc::clone(&told), Arc::clone(&go));
        let spared = cluster.spawn(move || {
            let ended = graceful(|| {
                assert!(!is_ending() && grace_limit().is_none());
                begins.set();
                hears.wait();
                assert!(is_ending() && !is_cancelled());
                assert!(grace_limit().is_some_and(|limit| limit > Instant::now()));
                // A stretch within is a part of it.
                graceful(|| goes.wait_within(Limit::Cancellation)).unwrap()
            });
            (ended, is_cancelled(), sleep_within(LONG))
        });
        let outside = cluster.spawn(|| sleep_within(LONG));
        begun.wait();
        let stopping = stop(cluster, 4 * LONG);
        assert_eq!(outside.join().unwrap(), Err(Cancelled));
        told.set();
        until_waiting(WaitKind::Event, &[spared.id()]);
        assert!(!spared.is_finished() && !stopping.is_finished());
        go.set();
        assert_eq!(spared.join().unwrap(), (Ok(Ok(())), true, Err(Cancelled)));
        assert_eq!(stopping.join().unwrap(), Ok(()));
    });
}

/// At the limit, calls of a stretch that can fail do, and others are unwound.
#[test]
fn the_limit_ends_stretches_of_a_cluster_that_stops() {
    for_each(|cluster, moving| {
        let begun = Arc::new(AtomicU32::new(0));
        let begins = Arc::clone(&begun);
        let fails = cluster.spawn(move || {
            let ended = graceful(|| {
                begins.fetch_add(1, Ordering::SeqCst);
                let before = Instant::now();
                let ended = Event::new().wait_within(Limit::Cancellation);
                // It was spared until then.
                assert!(grace_limit().is_some_and(|limit| before < limit));
                assert!(grace_limit().is_some_and(|limit| Instant::now() >= limit));
                ended
            });
            (ended, sleep_within(LONG))
        });
        let begins = Arc::clone(&begun);
        let unwound = cluster.spawn(move || {
            let waits = || {
                begins.fetch_add(1, Ordering::SeqCst);
                fibre::sleep(LONG);
            };
            // Fibres that move are not unwound, unless they say so.
            match moving || all_move() {
                true => cancellable(|| graceful(waits)),
                false => Ok(graceful(waits)),
            }
        });
        eventually(|| begun.load(Ordering::SeqCst) == 2);
        let unwinds_at_once = moving || all_move();
        assert_eq!(cluster.stop_within(Duration::ZERO, LONG / 72_000), Ok(()));
        let ended = (Ok(Err(WaitError::Cancelled)), Err(Cancelled));
        assert_eq!(fails.join().unwrap(), ended);
        match unwound.join() {
            Ok(ended) => assert!(unwinds_at_once && ended == Err(Cancelled)),
            Err(payload) => assert!(!unwinds_at_once && payload.is::<Cancelled>()),
        }
    });
}

/// Fibres of a scope or a group that begins in a stretch are a part of it, whenever they begin.
/// Others that begin after the cancellation are cancelled, and begin no stretch.
#[test]
fn children_of_a_stretch_are_spared_with_it() {
    for_each(|cluster, _| {
        let [begun, told] = [(); 2].map(|()| Arc::new(Event::new()));
        let (begins, hears) = (Arc::clone(&begun), Arc::clone(&told));
        let short = Duration::from_micros(50);
        let parent = cluster.spawn(move || {
            graceful(|| {
                fibre::scope(|scope| {
                    let early = scope.spawn(|| {
                        begins.set();
                        hears.wait();
                        (is_ending(), sleep_within(short))
                    });
                    hears.wait();
                    let late = scope.spawn(|| (graceful(|| sleep_within(short)), is_cancelled()));
                    assert_eq!(early.join().unwrap(), (true, Ok(())));
                    assert_eq!(late.join().unwrap(), (Ok(Ok(())), false));
                });
                let sum = fibre::group(|group| {
                    for number in 1..=3 {
                        group.spawn(move || sleep_within(short).map(|()| number));
                    }
                    Ok(group.results().sum::<u32>())
                });
                assert_eq!(sum, Ok(6));
                let other = fibre::spawn(|| (graceful(|| ()), sleep_within(LONG)));
                assert_eq!(other.join().unwrap(), (Err(Cancelled), Err(Cancelled)));
                sleep_within(short)
            })
        });
        begun.wait();
        let bystander = cluster.spawn(|| sleep_within(LONG));
        let stopping = stop(cluster, 4 * LONG);
        assert_eq!(bystander.join().unwrap(), Err(Cancelled));
        told.set();
        assert_eq!(parent.join().unwrap(), Ok(Ok(())));
        assert_eq!(stopping.join().unwrap(), Ok(()));
    });
}

/// A stretch is spared by token and cluster, each until its own limit, and a token's or a handle's
/// `cancel` ends it.
#[test]
fn the_earliest_limit_of_token_and_cluster_counts() {
    for_each(|cluster, _| {
        let tokens = [(); 3].map(|()| CancelToken::new());
        let begun = Arc::new(AtomicU32::new(0));
        let fibres = tokens.each_ref().map(|token| {
            let begins = Arc::clone(&begun);
            let body = move || {
                let ended = graceful(|| {
                    begins.fetch_add(1, Ordering::SeqCst);
                    let ended = sleep_within(LONG);
                    (ended, grace_limit())
                });
                // In a shield, a stretch begins in any case.
                assert_eq!(shield(|| graceful(|| ())), Ok(()));
                assert_eq!(graceful(|| ()), Err(Cancelled));
                ended
            };
            let builder = Builder::new().cancel_token(token);
            builder.spawn_in(&cluster, body).unwrap()
        });
        eventually(|| begun.load(Ordering::SeqCst) == 3);
        let outside = cluster.spawn(|| sleep_within(LONG));
        let stopping = stop(cluster, 4 * LONG);
        assert_eq!(outside.join().unwrap(), Err(Cancelled));
        let [by_limit, by_token, by_handle] = fibres;
        assert!(!by_limit.is_finished() && !by_token.is_finished() && !by_handle.is_finished());
        let limit = Instant::now() + LONG;
        tokens[0].cancel_within(Duration::from_millis(2)).unwrap();
        let (ended, told) = by_limit.join().unwrap().unwrap();
        assert_eq!(ended, Err(Cancelled));
        assert!(told.is_some_and(|told| told < limit && told <= Instant::now()));
        tokens[1].cancel();
        let (ended, told) = by_token.join().unwrap().unwrap();
        assert_eq!(ended, Err(Cancelled));
        assert!(told.is_some_and(|told| told > limit));
        by_handle.cancel();
        assert_eq!(by_handle.join().unwrap().unwrap().0, Err(Cancelled));
        assert_eq!(stopping.join().unwrap(), Ok(()));
    });
}

/// A `cancel_within` with its fibre in a cluster that stops ends no stretch before the cluster
/// does.
#[test]
fn the_grace_of_a_token_goes_on_in_a_cluster_that_stops() {
    for_each(|cluster, _| {
        let token = CancelToken::new();
        let [begun, go] = [(); 2].map(|()| Arc::new(Event::new()));
        let (begins, goes) = (Arc::clone(&begun), Arc::clone(&go));
        let body = move || {
            graceful(|| {
                begins.set();
                goes.wait_within(Limit::Cancellation)
            })
        };
        let builder = Builder::new().cancel_token(&token);
        let spared = builder.spawn_in(&cluster, body).unwrap();
        begun.wait();
        let ends = token.clone();
        let canceller = cluster.spawn(move || ends.cancel_within(LONG).map_err(|e| e.kind()));
        assert_eq!(canceller.join().unwrap(), Ok(()));
        // The fibre that waits for the limit has begun.
        eventually(|| {
            let waits = fibre::waits();
            let mut named = waits
                .iter()
                .filter(|one| one.name.as_deref() == Some("grace"));
            named.any(|one| one.awaited.kind() == WaitKind::Sleep)
        });
        let outside = cluster.spawn(|| sleep_within(LONG));
        let stopping = stop(cluster, 4 * LONG);
        assert_eq!(outside.join().unwrap(), Err(Cancelled));
        assert!(!spared.is_finished());
        go.set();
        assert_eq!(spared.join().unwrap(), Ok(Ok(())));
        assert_eq!(stopping.join().unwrap(), Ok(()));
    });
}

/// A stretch that has begun is not cut short, whenever the stop comes, and all fibres end.
#[test]
fn no_stretch_is_cut_by_a_stop_at_any_moment() {
    let seed = Random::seed();
    for_each(|_, moving| {
        let mut random = Random::new(seed);
        for round in 0..20 {
            let builder = match moving {
                false => any_cluster(),
                // SAFETY: as in `for_each`.
                true => unsafe { Cluster::builder().move_started_fibres() },
            };
            let cluster = builder.processors(1 + round % 4).build().unwrap();
            let counts = Arc::new([(); 2].map(|()| AtomicU32::new(0)));
            for _ in 0..8 {
                let (counts, mut random) = (Arc::clone(&counts), random.split());
                cluster.spawn(move || {
                    let [begun, ended] = &*counts;
                    loop {
                        let stretch = graceful(|| {
                            begun.fetch_add(1, Ordering::Relaxed);
                            let wait = Duration::from_micros(random.below(60) as u64);
                            let worked = match random.below(3) {
                                0 => sleep_within(wait),
                                1 => fibre::cancellation_point(),
                                _ => graceful(|| sleep_within(wait)).unwrap_or(Err(Cancelled)),
                            };
                            ended.fetch_add(u32::from(worked.is_ok()), Ordering::Relaxed);
                        });
                        if stretch.is_err() {
                            return;
                        }
                        fibre::yield_now();
                    }
                });
            }
            thread::sleep(Duration::from_micros(random.below(300) as u64));
            assert_eq!(cluster.stop_within(Duration::ZERO, LONG), Ok(()));
            let [begun, ended] = [0, 1].map(|index| counts[index].load(Ordering::Relaxed));
            assert_eq!(begun, ended, "a stretch was cut short");
        }
    });
}
