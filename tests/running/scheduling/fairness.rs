//! Fibres that yield starve nobody.

use crate::support::{
    Latch, eventually, for_clusters, for_each_cluster, let_others_block, sockets,
};
use fibre::Cluster;
use fibre::sync::{Mutex, Semaphore};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Fibres that yield for as long as the value lives, two for each processor.
struct Yielders(Arc<AtomicBool>);

impl Yielders {
    /// Starts them.
    fn start(cluster: &Cluster) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..2 * cluster.processors() {
            let stop = Arc::clone(&stop);
            fibre::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    fibre::yield_now();
                }
            });
        }
        Self(stop)
    }
}

impl Drop for Yielders {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two fibres that yield take turns.
#[test]
fn yielding_alternates() {
    for_clusters(&[1], |_| {
        let turns = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let handles = [0, 1].map(|me| {
            let turns = Arc::clone(&turns);
            fibre::spawn(move || {
                while turns[1 - me].load(Ordering::SeqCst) == 0 && me == 0 {
                    fibre::yield_now();
                }
                for _ in 0..10_000 {
                    let mine = turns[me].fetch_add(1, Ordering::SeqCst) + 1;
                    let other = turns[1 - me].load(Ordering::SeqCst);
                    let ahead = mine.abs_diff(other);
                    assert!(ahead <= 2 || other == 10_000, "{mine} against {other}");
                    fibre::yield_now();
                }
            })
        });
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
    });
}

/// A hundred fibres that yield on one processor get the same number of turns.
#[test]
fn yielding_is_fair() {
    for_clusters(&[1], |_| {
        let turns: Arc<Vec<AtomicUsize>> =
            Arc::new((0..100).map(|_| AtomicUsize::new(0)).collect());
        let (come, all_are_here) = (Arc::new(AtomicUsize::new(0)), Latch::new());
        for me in 0..100 {
            let (turns, latch) = (Arc::clone(&turns), Arc::clone(&all_are_here));
            let come = Arc::clone(&come);
            fibre::spawn(move || {
                come.fetch_add(1, Ordering::Relaxed);
                latch.wait();
                while turns[me].fetch_add(1, Ordering::Relaxed) < 1000 {
                    fibre::yield_now();
                }
            });
        }
        eventually(|| come.load(Ordering::Relaxed) == 100);
        let_others_block();
        all_are_here.open();
        while turns[0].load(Ordering::Relaxed) < 500 {
            fibre::yield_now();
        }
        for count in turns.iter() {
            let count = count.load(Ordering::Relaxed);
            assert!((498..=502).contains(&count), "{count} turns instead of 500");
        }
    });
}

/// Fibres that yield all the time do not keep sleepers from waking up.
#[test]
fn yielding_does_not_starve_timers() {
    for_each_cluster(|cluster| {
        let _yielders = Yielders::start(cluster);
        for _ in 0..20 {
            let before = Instant::now();
            fibre::sleep(Duration::from_millis(1));
            assert!(before.elapsed() < Duration::from_secs(20));
        }
    });
}

/// A single fibre that yields all the time does not either, though it has nobody to yield to.
#[test]
fn a_lone_yielder_starves_nothing() {
    for_clusters(&[1], |_| {
        let (near, mut far) = sockets::pair_with_std();
        let done = Arc::new(AtomicUsize::new(0));
        let (slept, read) = (Arc::clone(&done), Arc::clone(&done));
        fibre::spawn(move || {
            fibre::sleep(Duration::from_millis(3));
            slept.fetch_add(1, Ordering::SeqCst);
        });
        fibre::spawn(move || {
            assert_eq!((&near).read(&mut [0; 8]).unwrap(), 1);
            read.fetch_add(1, Ordering::SeqCst);
        });
        let writer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(3));
            far.write_all(b"x").unwrap();
        });
        while done.load(Ordering::SeqCst) < 2 {
            fibre::yield_now();
        }
        writer.join().unwrap();
    });
}

/// Fibres that yield all the time do not starve sockets.
#[test]
fn yielding_does_not_starve_sockets() {
    for_each_cluster(|cluster| {
        let _yielders = Yielders::start(cluster);
        let (near, far) = sockets::pair();
        let echo = fibre::spawn(move || {
            let mut byte = [0];
            while (&far).read(&mut byte).unwrap() == 1 {
                (&far).write_all(&byte).unwrap();
            }
        });
        for i in 0..100 {
            (&near).write_all(&[i]).unwrap();
            let mut byte = [0];
            (&near).read_exact(&mut byte).unwrap();
            assert_eq!(byte, [i]);
        }
        drop(near);
        echo.join().unwrap();
    });
}

/// Fibres that yield all the time do not starve those which have not started.
#[test]
fn yielding_does_not_starve_the_new() {
    for_each_cluster(|cluster| {
        let _yielders = Yielders::start(cluster);
        for i in 0..200 {
            assert_eq!(fibre::spawn(move || i).join().unwrap(), i);
        }
        let here = cluster.clone();
        let foreign = thread::spawn(move || {
            (0..100).for_each(|i| assert_eq!(here.spawn(move || i).join().unwrap(), i));
        });
        eventually(|| foreign.is_finished());
        foreign.join().unwrap();
    });
}

/// A fibre that does `free` again and again, which never has to wait, keeps neither the others
/// of its processor waiting, nor timers, nor descriptors.
fn starves_nobody(free: impl Fn()) {
    let (mut near, mut far) = sockets::pair_with_std();
    far.write_all(b"!").unwrap();
    let came = Arc::new(AtomicUsize::new(0));
    let others: [Box<dyn FnOnce() + Send>; 3] = [
        Box::new(|| ()),
        Box::new(|| fibre::sleep(Duration::from_millis(1))),
        Box::new(move || near.read_exact(&mut [0]).unwrap()),
    ];
    for other in others {
        let came = Arc::clone(&came);
        fibre::spawn(move || {
            other();
            came.fetch_add(1, Ordering::SeqCst);
        });
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while came.load(Ordering::SeqCst) < 3 {
        free();
        assert!(Instant::now() < deadline, "somebody starves");
    }
}

#[test]
fn locks_that_are_free_starve_nobody() {
    for_clusters(&[1], |_| {
        let mutex = Mutex::new(());
        starves_nobody(|| drop(mutex.lock()));
    });
}

#[test]
fn permits_that_are_there_starve_nobody() {
    for_clusters(&[1], |_| {
        let semaphore = Semaphore::new(1);
        starves_nobody(|| {
            semaphore.acquire();
            semaphore.release();
        });
    });
}

/// Neither does writing to a socket whose reader keeps up.
#[test]
fn writes_that_find_room_starve_nobody() {
    for_clusters(&[1], |_| {
        let (near, mut far) = sockets::pair_with_std();
        let reader = thread::spawn(move || while let Ok(1..) = far.read(&mut [0; 1 << 16]) {});
        starves_nobody(|| (&near).write_all(b"x").unwrap());
        drop(near);
        reader.join().unwrap();
    });
}

/// A fibre has its processor for itself at locks that are free for as long as its cluster says.
#[test]
fn a_slice_is_as_long_as_asked_for() {
    for (slice, yields) in [(Duration::ZERO, true), (Duration::MAX, false)] {
        let builder = Cluster::builder().processors(1).slice(slice);
        // A spare processor would run the other one, too.
        let cluster = builder.max_spare_processors(0).build().unwrap();
        let came = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&came);
        let other_came = move || {
            let mutex = Mutex::new(());
            fibre::spawn(move || told.store(true, Ordering::SeqCst));
            (0..10_000).for_each(|_| drop(mutex.lock()));
            came.load(Ordering::SeqCst)
        };
        let yielded = cluster.spawn(other_came).join().unwrap();
        assert_eq!(yielded, yields, "{slice:?}");
        cluster.stop();
    }
}

/// Everybody in a crowd around one mutex gets it again and again, though whoever has a
/// processor finds it free whenever he comes by.
#[test]
fn a_crowd_shares_a_mutex() {
    for_clusters(&[1, 2], |_| {
        let mutex = Arc::new(Mutex::new(()));
        let content = Arc::new(AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(20);
        let member = || {
            let (mutex, content) = (Arc::clone(&mutex), Arc::clone(&content));
            fibre::spawn(move || {
                let mut turns = 0;
                while content.load(Ordering::SeqCst) < 16 {
                    drop(mutex.lock());
                    turns += 1;
                    if turns == 1000 {
                        content.fetch_add(1, Ordering::SeqCst);
                    }
                    assert!(Instant::now() < deadline, "somebody starves");
                }
            })
        };
        let crowd: Vec<_> = (0..16).map(|_| member()).collect();
        crowd.into_iter().for_each(|member| member.join().unwrap());
    });
}
