//! Names, numbers, stack sizes.

use crate::support::drops::OnDrop;
use crate::support::{for_clusters, for_each_cluster};
use fibre::{Builder, Cluster, StackError};
use std::collections::HashSet;
use std::hint::black_box;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Uses about `bytes` of stack, all of it, and yields at the deepest point.
fn dig(bytes: usize) -> usize {
    let frame = black_box([1_u8; 1024]);
    if bytes <= 2048 {
        fibre::yield_now();
        return frame.iter().map(|byte| usize::from(*byte)).sum();
    }
    dig(bytes - 2048) + usize::from(black_box(&frame)[17])
}

/// Fibres have the names they were given, inside and outside.
#[test]
fn names() {
    for_each_cluster(|cluster| {
        let named = Builder::new().name("clerk").spawn(fibre::name).unwrap();
        assert_eq!(named.name(), Some("clerk"));
        assert_eq!(named.join().unwrap().as_deref(), Some("clerk"));
        let there = Builder::new().name("").spawn_in(cluster, fibre::name);
        assert_eq!(there.unwrap().join().unwrap().as_deref(), Some(""));
        let unnamed = fibre::spawn(fibre::name);
        assert_eq!(unnamed.name(), None);
        assert_eq!(unnamed.join().unwrap(), None);
    });
}

/// Numbers are the same inside and outside, and never used twice.
#[test]
fn numbers_are_unique() {
    let cluster = Cluster::builder().processors(2).build().unwrap();
    let mut numbers = HashSet::new();
    for _ in 0..200 {
        let outer = cluster.spawn(|| {
            let inner: Vec<_> = (0..20).map(|_| fibre::spawn(fibre::id)).collect();
            let inner = inner.into_iter().map(|handle| {
                let number = handle.id();
                assert_eq!(handle.join().unwrap(), Some(number));
                number
            });
            let mut all: Vec<u64> = inner.collect();
            all.extend(fibre::id());
            all
        });
        for number in outer.join().unwrap() {
            assert!(numbers.insert(number), "{number} was used twice");
        }
    }
    cluster.stop();
}

/// Deep recursion fits as long as the stack is large enough, at the default size and at others.
#[test]
fn deep_recursion_fits_the_stack() {
    for_each_cluster(|_| {
        fibre::spawn(|| dig(100 * 1024)).join().unwrap();
        for size in [512 * 1024, 4 << 20, 64 << 20] {
            let fibre = Builder::new().stack_size(size);
            let deep = fibre.spawn(move || dig(size.min(16 << 20) / 3)).unwrap();
            assert!(deep.join().unwrap() > 1000);
        }
    });
}

/// Tiny and odd sizes are rounded up to something that works.
#[test]
fn small_sizes_are_rounded_up() {
    for_each_cluster(|_| {
        for size in [0, 1, 4095, 4097, 32 * 1024 + 1] {
            let small = Builder::new().stack_size(size).spawn(|| dig(2048)).unwrap();
            assert_eq!(small.join().unwrap(), 1024);
        }
    });
}

/// A stack that cannot be had is an error of the spawn, and harms nobody else.
#[test]
fn absurd_sizes_are_an_error() {
    for_each_cluster(|_| {
        for size in [1 << 50, (1 << 58) + 4096, usize::MAX - 5000, usize::MAX] {
            let error = Builder::new().stack_size(size).spawn(|| ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        }
        assert_eq!(fibre::spawn(|| 1).join().unwrap(), 1);
    });
}

/// What a fibre owns that is refused its stack is dropped where it may block.
#[test]
fn refused_closures_may_block_in_drop() {
    for_clusters(&[1], |_| {
        let dropped_in_fibre = Arc::new(AtomicBool::new(false));
        let mut other = Some(fibre::spawn(|| fibre::sleep(Duration::from_millis(5))));
        let seen = Arc::clone(&dropped_in_fibre);
        let owned = OnDrop(move || {
            if let Some(other) = other.take() {
                other.join().unwrap();
            }
            seen.store(fibre::in_fibre(), Ordering::SeqCst);
        });
        let absurd = Cluster::builder().processors(1).stack_size(1 << 51);
        let absurd = absurd.build().unwrap();
        let refused = absurd.spawn(move || drop(owned));
        let payload = refused.join().expect_err("nobody has that much memory");
        assert!(payload.is::<StackError>());
        assert!(dropped_in_fibre.load(Ordering::SeqCst));
        absurd.stop();
    });
}

/// A cluster's stack size holds for its fibres.
#[test]
fn clusters_have_a_stack_size() {
    let builder = Cluster::builder().processors(2).stack_size(8 << 20);
    let cluster = builder.build().unwrap();
    cluster.spawn(|| dig(2 << 20)).join().unwrap();
    let inner = cluster.spawn(|| fibre::spawn(|| dig(2 << 20)).join());
    inner.join().unwrap().unwrap();
    cluster.stop();
}

/// Memory of the deep stack of one fibre is fresh enough for the next: reuse works.
#[test]
fn stacks_are_reused() {
    for_each_cluster(|_| {
        for round in 0..2000 {
            let depth = if round % 10 == 0 { 60 * 1024 } else { 2048 };
            fibre::spawn(move || dig(depth)).join().unwrap();
        }
    });
}
