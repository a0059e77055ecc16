//! Sleeping, deadlines of waits, and ticks.

use crate::support::{self, Random, eventually, for_clusters, for_each_cluster, sockets, watched};
use fibre::sync::{Condvar, Mutex, Semaphore};
use fibre::{Cluster, Interval, Limit, WaitError, WallTime};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A sleep is never shorter than asked for, in fibres and in threads.
#[test]
fn sleep_takes_at_least_as_long() {
    let check = || {
        for microseconds in [0, 1, 10, 100, 1000, 5000] {
            let before = Instant::now();
            fibre::sleep(Duration::from_micros(microseconds));
            assert!(before.elapsed() >= Duration::from_micros(microseconds));
        }
    };
    for_each_cluster(move |_| check());
    watched(check);
}

/// Sleeping is not rounded up to a whole number of milliseconds where sockets are waited for:
/// sooner or later a short sleep is over before the first one has passed.
#[test]
fn sleep_is_precise_beside_sockets() {
    for_clusters(&[1], |_| {
        let (near, _far) = sockets::pair();
        let soon = Some(Duration::from_millis(1));
        near.set_read_timeout(soon).unwrap();
        (&near).read(&mut [0]).unwrap_err();
        eventually(|| {
            let before = Instant::now();
            fibre::sleep(Duration::from_micros(100));
            before.elapsed() < Duration::from_millis(1)
        });
    });
}

/// Sleepers wake up in the order of their deadlines. On one processor the order is exact;
/// between processors nobody compares.
#[test]
fn sleepers_wake_in_order() {
    watched(|| {
        let order = with_all_asleep(200, |due, place| {
            let place = place * 71 % 200;
            fibre::sleep_until(due + Duration::from_micros(100) * place);
            place
        });
        assert!(order.is_sorted() && order.len() == 200, "{order:?}");
    });
}

/// Runs `sleep` in so many fibres of one processor, with their numbers and a time that none of
/// them saw pass before all slept. Returns what `sleep` did, in the order of their returns.
fn with_all_asleep(fibres: u32, sleep: fn(Instant, u32) -> u32) -> Vec<u32> {
    let mut lead = Duration::from_millis(5);
    loop {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        // Not a lock that makes a fibre let others go first.
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let begun = Arc::new(AtomicU32::new(0));
        let due = Instant::now() + lead;
        for fibre in 0..fibres {
            let (order, begun) = (Arc::clone(&order), Arc::clone(&begun));
            cluster.spawn(move || {
                begun.fetch_add(1, Ordering::SeqCst);
                let result = sleep(due, fibre);
                order.lock().unwrap().push(result);
            });
        }
        // It runs on their processor: those that have begun then sleep.
        let in_time = cluster.spawn(move || {
            while begun.load(Ordering::SeqCst) < fibres {
                fibre::yield_now();
            }
            Instant::now() < due
        });
        let in_time = in_time.join().unwrap();
        cluster.stop();
        if in_time {
            return std::mem::take(&mut order.lock().unwrap());
        }
        // The machine is slow at the moment.
        lead *= 2;
    }
}

/// Ten thousand fibres sleep at once, each for a time of its own.
#[test]
fn many_sleepers() {
    for_each_cluster(|_| {
        let awake = Arc::new(AtomicUsize::new(0));
        let mut random = Random::new(7);
        for _ in 0..10_000 {
            let time = Duration::from_micros(random.below(50_000) as u64);
            let awake = Arc::clone(&awake);
            fibre::spawn(move || {
                let before = Instant::now();
                fibre::sleep(time);
                assert!(before.elapsed() >= time);
                awake.fetch_add(1, Ordering::SeqCst);
            });
        }
        eventually(|| awake.load(Ordering::SeqCst) == 10_000);
    });
}

/// No time at all only yields; a deadline in the past returns at once.
#[test]
fn zero_and_past() {
    for_each_cluster(|_| {
        let past = Instant::now();
        for _ in 0..1000 {
            fibre::sleep(Duration::ZERO);
            fibre::sleep(Duration::from_nanos(1));
            fibre::sleep_until(past);
        }
        let long_ago = past.checked_sub(Duration::from_secs(3600));
        fibre::sleep_until(long_ago.unwrap_or(past));
        assert!(past.elapsed() < Duration::from_secs(30));
    });
}

/// Times beyond all clocks are for ever, and do not disturb the others.
#[test]
fn huge_times_are_for_ever() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let century = Duration::from_secs(100 * 365 * 24 * 3600);
        let longest = Duration::from_secs(i64::MAX as u64);
        let times = [
            Duration::MAX,
            longest,
            longest / 2,
            century * 50_000,
            century,
        ];
        let ended = Arc::new(AtomicUsize::new(0));
        for time in times {
            let ended = Arc::clone(&ended);
            cluster.spawn(move || {
                fibre::sleep(time);
                ended.fetch_add(1, Ordering::SeqCst);
            });
        }
        for _ in 0..20 {
            cluster
                .spawn(|| fibre::sleep(Duration::from_millis(1)))
                .join()
                .unwrap();
        }
        assert_eq!(ended.load(Ordering::SeqCst), 0);
        eventually(|| cluster.live() == times.len());
    });
}

/// Deadlines far away are as good as none for those who are woken before.
#[test]
fn far_deadlines_do_no_harm() {
    let check = || {
        let now = Instant::now();
        for seconds in [1 << 20, 1 << 33, 1 << 40, 1 << 61, i64::MAX as u64 / 2] {
            let Some(deadline) = now.checked_add(Duration::from_secs(seconds)) else {
                continue;
            };
            let semaphore = Semaphore::new(0);
            let held = Mutex::new(());
            fibre::scope(|scope| {
                scope.spawn(|| {
                    fibre::sleep(Duration::from_millis(1));
                    semaphore.release();
                });
                assert!(semaphore.acquire_within(deadline).is_ok());
                assert!(held.lock_within(deadline).is_ok());
            });
            let handle = fibre::spawn(|| fibre::sleep(Duration::from_millis(1)));
            assert!(handle.join_within(deadline).is_ok());
        }
    };
    for_each_cluster(move |_| check());
    watched(check);
}

/// A deadline in the past still tries once, and takes what is there.
#[test]
fn past_deadlines_try_once() {
    let check = || {
        let past = Instant::now();
        let semaphore = Semaphore::new(1);
        assert_eq!(semaphore.acquire_within(past), Ok(()));
        assert_eq!(semaphore.acquire_within(past), Err(WaitError::TimedOut));
        let shown = Limit::Wall(WallTime::now());
        assert_eq!(semaphore.acquire_within(shown), Err(WaitError::TimedOut));
        assert_eq!(fibre::sleep_within(shown), Ok(()));
        let mutex = Mutex::new(());
        let guard = mutex.lock_within(past).unwrap();
        assert!(mutex.lock_within(past).is_err());
        drop(guard);
        let mut guard = mutex.lock();
        assert!(Condvar::new().wait_within(&mut guard, past).is_err());
        drop(guard);
        assert!(mutex.try_lock().is_some());
    };
    for_each_cluster(move |_| check());
    watched(check);
}

/// Deadlines that race with releases lose no permit and invent none, in fibres and threads.
#[test]
fn deadlines_race_releases() {
    let seed = Random::seed();
    for_each_cluster(move |_| {
        let mut random = Random::new(seed);
        let semaphore = Arc::new(Semaphore::new(0));
        let taken = Arc::new(AtomicUsize::new(0));
        for _ in 0..60 {
            let released = 1 + random.below(8);
            let acquire =
                |mut random: Random, taken: Arc<AtomicUsize>, semaphore: Arc<Semaphore>| {
                    let time = Duration::from_micros(random.below(300) as u64);
                    let got = semaphore.acquire_within(Instant::now() + time);
                    taken.fetch_add(usize::from(got.is_ok()), Ordering::SeqCst);
                };
            let mut fibres = Vec::new();
            for _ in 0..8 {
                let (random, taken) = (random.split(), Arc::clone(&taken));
                let semaphore = Arc::clone(&semaphore);
                fibres.push(fibre::spawn(move || acquire(random, taken, semaphore)));
            }
            let (one, count) = (random.split(), Arc::clone(&taken));
            let shared = Arc::clone(&semaphore);
            let thread = thread::spawn(move || acquire(one, count, shared));
            for _ in 0..released {
                fibre::sleep(Duration::from_micros(random.below(60) as u64));
                semaphore.release();
            }
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            thread.join().unwrap();
            let (left, taken) = (semaphore.available(), taken.swap(0, Ordering::SeqCst));
            assert_eq!(left + taken, released);
            (0..left).for_each(|_| assert!(semaphore.try_acquire()));
        }
    });
}

/// A timer of an earlier wait never ends a later one.
#[test]
fn old_timers_are_forgotten() {
    for_each_cluster(|_| {
        let semaphore = Arc::new(Semaphore::new(0));
        let releaser = Arc::clone(&semaphore);
        let helper = fibre::spawn(move || {
            for _ in 0..1000 {
                releaser.release();
                fibre::yield_now();
            }
        });
        let mut got = 0;
        while got < 1000 {
            let soon = Instant::now() + Duration::from_micros(50);
            got += usize::from(semaphore.acquire_within(soon).is_ok());
            let later = Instant::now() + Duration::from_micros(30);
            fibre::sleep_until(later);
            assert!(Instant::now() >= later);
        }
        helper.join().unwrap();
        assert_eq!(semaphore.available(), 0);
    });
}

/// Ticks stay at multiples of the period, though the fibre is late for each of them.
#[test]
fn intervals_do_not_drift() {
    for_each_cluster(|_| {
        let period = Duration::from_millis(3);
        let start = Instant::now() + period;
        let mut interval = Interval::starting_at(Some(start), period);
        for tick in 0..30 {
            let due = interval.tick();
            assert!(Instant::now() >= due, "early");
            assert_eq!(due, start + tick * period);
            fibre::sleep(Duration::from_millis(1));
        }
    });
}

/// Ticks that were missed come at once, or are counted and forgotten; then all is as before.
#[test]
fn missed_ticks() {
    for_each_cluster(|_| {
        let period = Duration::from_micros(100);
        let start = Instant::now();
        let mut interval = Interval::starting_at(Some(start), period);
        fibre::sleep(10 * period);
        assert_eq!(interval.tick(), start);
        assert_eq!(interval.tick(), start + period);
        let missed = interval.skip_missed();
        assert!(missed >= 8, "{missed}");
        let due = interval.tick();
        let ticks = u32::try_from(missed).unwrap() + 2;
        assert_eq!(due, start + ticks * period);
        let mut calm = Interval::new(Duration::from_secs(3600));
        assert_eq!(calm.skip_missed(), 0);
    });
}

/// The same from threads; and ticks beyond the clock's range never come.
#[test]
fn intervals_at_the_edges() {
    watched(|| {
        let mut interval = Interval::new(Duration::from_micros(50));
        let first = interval.tick();
        assert_eq!(interval.tick(), first + Duration::from_micros(50));
        let mut endless = Interval::starting_at(Some(Instant::now()), Duration::MAX);
        let _ = endless.tick();
        assert_eq!(endless.skip_missed(), 0);
        let payload = std::panic::catch_unwind(|| Interval::new(Duration::ZERO)).unwrap_err();
        assert!(support::text_of(&*payload).contains("no time at all"));
    });
}
