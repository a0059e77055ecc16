//! Random bytes of a run, and what follows from them.

use crate::support::process::{child, errors, plays};
use fibre::sync::Mutex;
use fibre_test::{Report, Schedule, Sim};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// A run where the order of a map's entries decides which fibre is spawned, and locks, first.
fn follows_a_map(_: &Sim) {
    let names: HashMap<u32, &str> = (0..20)
        .zip(["a", "b", "c", "d", "e"].into_iter().cycle())
        .collect();
    let order = Arc::new(Mutex::new(Vec::new()));
    let fibres: Vec<_> = names
        .into_iter()
        .map(|(number, name)| {
            let order = Arc::clone(&order);
            fibre::spawn(move || {
                for _ in 0..number % 4 {
                    order.lock().push(name);
                    fibre::yield_now();
                }
            })
        })
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
}

fn runs(seed: u64, schedule: Schedule) -> Report {
    let builder = Sim::builder().seed(seed).schedule(schedule);
    builder.run(follows_a_map)
}

#[test]
fn a_thousand_runs_with_a_map_are_one() {
    for schedule in [Schedule::in_order(), Schedule::pos()] {
        let first = runs(7, schedule);
        for _ in 0..1000 {
            assert_eq!(runs(7, schedule), first, "{schedule:?}");
        }
        let others: HashSet<_> = (0..20).map(|seed| runs(seed, schedule).hash()).collect();
        assert!(others.len() > 15, "{others:?}");
    }
}

/// Addresses and the process's own keys differ there.
#[test]
fn a_run_with_a_map_is_the_same_in_another_process() {
    if plays("prints") {
        println!("hash {:016x}", runs(7, Schedule::random()).hash());
        return;
    }
    let expected = format!("hash {:016x}", runs(7, Schedule::random()).hash());
    for _ in 0..3 {
        let output = child("prints", &[]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains(&expected),
            "{expected}: {text} {}",
            errors(&output)
        );
    }
}

/// What a run reads by the C library's function.
fn bytes<const COUNT: usize>() -> [u8; COUNT] {
    let mut bytes = [0; COUNT];
    // SAFETY: it writes so many bytes there.
    let read = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), COUNT, 0) };
    assert_eq!(read, COUNT as isize);
    bytes
}

/// What a run with this seed reads.
fn read_by(seed: u64) -> Vec<u8> {
    let read = Arc::new(Mutex::new(Vec::new()));
    let reads = Arc::clone(&read);
    let _ = Sim::builder().seed(seed).run(move |_| {
        let mut all = bytes::<100>().to_vec();
        all.extend(bytes::<3>());
        all.extend(bytes::<0>());
        all.extend(fibre::spawn(bytes::<13>).join().unwrap());
        *reads.lock() = all;
    });
    let read = read.lock().clone();
    assert_eq!(read.len(), 116);
    read
}

#[test]
fn random_bytes_follow_from_the_seed() {
    assert_eq!(read_by(1), read_by(1));
    assert_ne!(read_by(1), read_by(2));
    let bytes: HashSet<_> = read_by(3).into_iter().collect();
    assert!(bytes.len() > 60, "{bytes:?}");
}

#[test]
fn threads_that_are_no_run_read_the_kernels() {
    assert_ne!(bytes::<32>(), bytes::<32>());
    let key = || {
        std::thread::spawn(|| RandomState::new().hash_one(1))
            .join()
            .unwrap()
    };
    assert_ne!(key(), key());
}

/// The kernel's answer to a bad address is passed on.
#[test]
fn a_run_reads_nothing_to_nowhere() {
    fibre_test::run(|_| {
        // SAFETY: the kernel writes nothing there.
        let read = unsafe { libc::getrandom(std::ptr::null_mut(), 8, 0) };
        assert_eq!(read, -1);
    });
}
