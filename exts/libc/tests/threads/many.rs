//! Ten thousand threads that wait at a time. (`examples/many_threads.rs` has any number.)

use crate::run::begin;
use std::fs;
use std::sync::{Arc, Barrier};
use std::thread;

/// Threads. The kernel would need as many stacks, each with a mapping of its own and a guard.
const THREADS: usize = 10_000;

/// Mappings that all of them may take: a tenth of what a process may have.
const MAPPINGS: usize = 6_500;

/// Bytes of memory that each may take, in debug builds, too.
const BYTES: usize = 40 << 10;

/// How many mappings the process has, and how many bytes of memory.
fn taken() -> (usize, usize) {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let memory = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = memory.split(' ').nth(1).unwrap().parse().unwrap();
    (maps.lines().count(), pages * 4096)
}

/// Runs them.
pub(crate) fn run() {
    begin();
    let (_, before) = taken();
    let all = [(); 2].map(|()| Arc::new(Barrier::new(THREADS + 1)));
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let all = all.clone();
            thread::spawn(move || {
                for all in all {
                    all.wait();
                }
                number
            })
        })
        .collect();
    all[0].wait();
    let (mappings, bytes) = taken();
    let each = bytes.saturating_sub(before) / THREADS;
    println!("{THREADS} threads: {mappings} mappings, {each} bytes each");
    assert!(mappings < MAPPINGS, "{mappings} mappings");
    assert!(each < BYTES, "{each} bytes each");
    all[1].wait();
    let sum: usize = threads.into_iter().map(|one| one.join().unwrap()).sum();
    assert_eq!(sum, THREADS * (THREADS - 1) / 2);
}
