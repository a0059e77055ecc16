//! Results, time-outs, who may join from where.

use crate::support::{Latch, eventually, for_each_cluster, let_others_block, processor_counts};
use crate::support::{text_of, watched};
use fibre::{Cluster, JoinHandle};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// A fibre's value comes back, whatever its size and alignment.
#[test]
fn join_returns_the_value() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(align(128))]
    struct Aligned([u8; 300]);

    for_each_cluster(|_| {
        fibre::spawn(|| ()).join().unwrap();
        assert_eq!(fibre::spawn(|| 7_u8).join().unwrap(), 7);
        let text = "moved in".to_owned();
        assert_eq!(fibre::spawn(move || text).join().unwrap(), "moved in");
        let large = Aligned([9; 300]);
        let returned = fibre::spawn(move || {
            assert!((&raw const large).is_aligned());
            large
        });
        let returned = returned.join().unwrap();
        assert!((&raw const returned).is_aligned());
        assert_eq!(returned, large);
    });
}

/// Fibres can be joined in any order, before and after their end.
#[test]
fn join_in_any_order() {
    for_each_cluster(|_| {
        let mut handles: Vec<_> = (0..100).map(|i| (i, fibre::spawn(move || i))).collect();
        let late = handles.split_off(50);
        for (i, handle) in handles.into_iter().rev() {
            assert_eq!(handle.join().unwrap(), i);
        }
        eventually(|| late.iter().all(|(_, handle)| handle.is_finished()));
        for (i, handle) in late {
            assert_eq!(handle.join().unwrap(), i);
        }
    });
}

/// Fibres spawn fibres, which run in the same cluster.
#[test]
fn spawns_nest() {
    fn tree(depth: u32) -> usize {
        if depth == 0 {
            return 1;
        }
        let children = [0, 1].map(|_| fibre::spawn(move || tree(depth - 1)));
        let below: usize = children.map(|child| child.join().unwrap()).iter().sum();
        below + 1
    }

    for_each_cluster(|cluster| {
        assert_eq!(tree(9), 1023);
        eventually(|| cluster.live() == 1);
    });
}

/// A fibre whose handle is dropped runs to its end.
#[test]
fn dropping_the_handle_detaches() {
    let ended = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&ended);
    for_each_cluster(move |_| {
        let ended = Arc::clone(&ended);
        drop(fibre::spawn(move || {
            fibre::sleep(Duration::from_millis(2));
            ended.fetch_add(1, Ordering::SeqCst);
        }));
    });
    assert_eq!(seen.load(Ordering::SeqCst), processor_counts().len());
}

/// A join with a deadline gives the handle back, which can be used again.
#[test]
fn join_until_gives_the_handle_back() {
    for_each_cluster(|_| {
        let latch = Latch::new();
        let waiting = Arc::clone(&latch);
        let mut handle = fibre::spawn(move || {
            waiting.wait();
            "done"
        });
        for milliseconds in [0, 0, 1, 5] {
            let before = Instant::now();
            let deadline = before + Duration::from_millis(milliseconds);
            handle = handle.join_within(deadline).expect_err("it waits");
            assert!(Instant::now() >= deadline);
        }
        let past = Instant::now();
        assert!(!handle.is_finished());
        latch.open();
        let later = Instant::now() + Duration::from_secs(30);
        let Ok(result) = handle.join_within(later) else {
            panic!("timed out")
        };
        assert_eq!(result.unwrap(), "done");
        let ended = fibre::spawn(|| 5);
        eventually(|| ended.is_finished());
        let Ok(result) = ended.join_within(past) else {
            panic!("a deadline in the past tries once")
        };
        assert_eq!(result.unwrap(), 5);
    });
}

/// A deadline that passes while the fibre ends loses nothing and invents nothing.
#[test]
fn join_until_races_the_end() {
    for_each_cluster(|_| {
        let mut late = 0;
        for round in 0..400_u64 {
            let handle = fibre::spawn(move || {
                fibre::sleep(Duration::from_micros(50 + round % 40));
                round
            });
            let deadline = Instant::now() + Duration::from_micros(70);
            match handle.join_within(deadline) {
                Ok(result) => assert_eq!(result.unwrap(), round),
                Err(handle) => {
                    late += 1;
                    assert_eq!(handle.join().unwrap(), round);
                }
            }
        }
        println!("{late} of 400 were late");
    });
}

/// `is_finished` turns true by itself, and not before the end.
#[test]
fn is_finished_follows_the_end() {
    for_each_cluster(|_| {
        let latch = Latch::new();
        let waiting = Arc::clone(&latch);
        let handle = fibre::spawn(move || waiting.wait());
        let_others_block();
        assert!(!handle.is_finished());
        latch.open();
        eventually(|| handle.is_finished());
        handle.join().unwrap();
    });
}

/// A fibre that joins itself panics with a message that says so, instead of hanging.
#[test]
fn joining_oneself_is_refused() {
    for_each_cluster(|_| {
        let (give, take) = channel::<JoinHandle<()>>();
        let (tell, told) = channel();
        let latch = Latch::new();
        let handed_over = Arc::clone(&latch);
        give.send(fibre::spawn(move || {
            handed_over.wait();
            let myself = take.recv().unwrap();
            let refused = catch_unwind(AssertUnwindSafe(|| myself.join()));
            let payload = refused.expect_err("it cannot have joined itself");
            tell.send(text_of(&*payload).to_owned()).unwrap();
        }))
        .unwrap();
        latch.open();
        eventually(|| {
            told.try_recv()
                .is_ok_and(|text| text == "a fibre cannot join itself")
        });
    });
}

/// Foreign threads spawn into one cluster concurrently and join from outside.
#[test]
fn foreign_threads_spawn_and_join() {
    for processors in processor_counts() {
        watched(|| {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            thread::scope(|threads| {
                for thread in 0..4_usize {
                    let cluster = &cluster;
                    threads.spawn(move || {
                        let spawn = |i| cluster.spawn(move || thread * 1000 + i);
                        for (i, handle) in (0..500).map(spawn).enumerate() {
                            assert_eq!(handle.join().unwrap(), thread * 1000 + i);
                        }
                        let handles: Vec<_> = (0..500).map(spawn).collect();
                        for (i, handle) in handles.into_iter().enumerate() {
                            assert_eq!(handle.join().unwrap(), thread * 1000 + i);
                        }
                    });
                }
            });
            eventually(|| cluster.live() == 0);
            cluster.stop();
        });
    }
}

/// A plain thread that spawns without naming a cluster gets the default one, and so do the
/// fibres that its fibres spawn.
#[test]
fn threads_spawn_into_the_default_cluster() {
    watched(|| {
        let (first, second) = fibre::spawn(|| {
            let inner = fibre::spawn(|| (fibre::in_fibre(), fibre::id()));
            (fibre::in_fibre(), inner.join().unwrap())
        })
        .join()
        .unwrap();
        assert!(first && second.0 && second.1.is_some());
        assert!(!fibre::in_fibre());
        assert_eq!((fibre::id(), fibre::name()), (None, None));
        let cluster = Cluster::default_cluster().unwrap();
        assert_eq!(cluster.processors(), fibre::default_processors());
        assert_eq!(cluster.spawn(|| 1).join().unwrap(), 1);
    });
}
