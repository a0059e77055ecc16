//! Stuck fibres: `fibre::stuck()` finds those that nobody can wake any more, and no others.
//!
//! * `leaks`: ways to leave fibres behind, and each is found;
//! * `near`: fibres that wait in the same ways, and can still be woken;
//! * `hidden`: and those with references at odd places;
//! * `random`: graphs that chance has made;
//! * `told`: what the watch tells;
//! * `harm`: what a search does to the program.
//!
//! With the feature `sanitizer` there are none: such builds hide references.

#![cfg(not(feature = "sanitizer"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::type_complexity,
    reason = "a test fails by panicking, and types of tests are read once"
)]

mod harm;
mod hidden;
mod leaks;
mod near;
mod random;
mod told;

use crate::support::process::{end_after, plays, spawn_child};
use fibre::{Builder, Cluster, JoinHandle, Stuck};
use std::hint::black_box;
use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant};

/// How long fibres have to begin to wait.
const LIMIT: Duration = Duration::from_secs(60);

/// How long searches are repeated that have not found all fibres.
const REST: Duration = Duration::from_secs(3);

/// Spawns a fibre with a name, and detaches it.
fn leave(name: &str, f: impl FnOnce() + Send + 'static) {
    drop(spawn(name, f));
}

/// Spawns a fibre with a name.
fn spawn<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().name(name).spawn(f).unwrap()
}

/// The stuck fibres. On a busy machine a thread may have no CPU to answer on.
fn stuck() -> Vec<Stuck> {
    let begun = Instant::now();
    loop {
        match fibre::stuck() {
            Err(late) if late.kind() == ErrorKind::TimedOut && begun.elapsed() < LIMIT => {}
            found => return found.unwrap(),
        }
    }
}

/// The names of all fibres that begin with `prefix` and are stuck, in sets, in order.
fn found(prefix: &str) -> Vec<Vec<String>> {
    let sets = stuck();
    let names = sets.iter().map(|set| {
        let names = set.fibres.iter().filter_map(|fibre| fibre.name.clone());
        let mut names: Vec<_> = names
            .filter_map(|name| Some(name.strip_prefix(prefix)?.to_owned()))
            .collect();
        names.sort();
        names
    });
    let mut sets: Vec<_> = names.filter(|names| !names.is_empty()).collect();
    sets.sort();
    sets
}

/// [`found`] by the last of several searches: the first one that finds `all`, or one that comes
/// when all should have come to rest. A fibre that waits may still have been woken, and be stuck in
/// its next wait only.
fn found_at_last(prefix: &str, all: impl Fn(&[Vec<String>]) -> bool) -> Vec<Vec<String>> {
    let begun = Instant::now();
    loop {
        let found = found(prefix);
        if all(&found) || begun.elapsed() > REST {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until so many fibres wait with names that begin with `prefix`.
fn until_waiting(prefix: &str, count: usize) {
    let begun = Instant::now();
    loop {
        let waits = fibre::waits();
        let ours = waits.iter().filter(|wait| {
            wait.stuck.is_none()
                && wait
                    .name
                    .as_ref()
                    .is_some_and(|name| name.starts_with(prefix))
        });
        if ours.count() == count {
            return;
        }
        assert!(
            begun.elapsed() < LIMIT,
            "{prefix}: {count} fibres were to wait: {waits:?}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until no fibre waits with a name that begins with `prefix`.
fn until_none(prefix: &str) {
    until_waiting(prefix, 0);
}

/// Makes zeros of what earlier calls have left on the stack, so that the frames of later ones have
/// no old words of theirs.
#[inline(never)]
fn forget_earlier_calls() {
    black_box(&mut [0_u64; 8192]);
}

/// What a process ends with that has found fewer fibres than there are.
const MISSED: i32 = 3;

/// In how many processes a search is tried. What looks like a reference counts as one, and old
/// words may do so, also by chance: structures are moved with what lies in their gaps, and frames
/// of builds without optimisation have many words that nobody reads any more. Where these are
/// differs from one process to the next.
const TRIES: usize = 3;

/// Calls `f` on 1, 2 and 4 processors, each time in a process of its own, with a cluster and what
/// the names of the fibres begin with. If it returns `false`, it is called in another process. The
/// clusters wipe their stacks, so that no frame has old words of a fibre that has ended.
fn alone(scenario: &str, f: impl Fn(&Cluster, &str) -> bool) {
    let all = [1, 2, 4].map(|processors| (processors, format!("{scenario}/{processors}/")));
    for (processors, prefix) in &all {
        if plays(prefix) {
            end_after(LIMIT);
            let cluster = Cluster::builder()
                .processors(*processors)
                .wipe_stacks(true)
                .build();
            let complete = f(&cluster.unwrap(), prefix);
            std::process::exit(if complete { 0 } else { MISSED });
        }
    }
    for (_, prefix) in &all {
        let mut outputs = (0..TRIES).map(|_| spawn_child(prefix, &[]));
        let judged = outputs.find(|output| {
            let complete = output.status.code() != Some(MISSED);
            if !complete {
                eprintln!("{prefix}: some were missed");
            }
            complete
        });
        let output = judged.unwrap_or_else(|| panic!("{prefix}: not found"));
        assert!(output.status.success(), "{prefix}: {output:?}");
    }
}

/// Calls `begin` on a fibre, and waits until so many fibres wait.
#[inline(never)]
fn begin_on_a_fibre(cluster: &Cluster, prefix: &str, begin: fn(&str), count: usize) {
    let begins = prefix.to_owned();
    cluster.spawn(move || begin(&begins)).join().unwrap();
    until_waiting(prefix, count);
}

/// What `begin` leaves behind, with what it is given before their names, are stuck, in these sets.
/// It runs on a fibre, so that no stack in use has its leftovers.
fn leaks(scenario: &str, sets: &[&[&str]], begin: fn(&str)) {
    alone(scenario, |cluster, prefix| {
        let count = sets.iter().map(|set| set.len()).sum();
        begin_on_a_fibre(cluster, prefix, begin, count);
        forget_earlier_calls();
        let all = sets.concat();
        let names_in = |found: &[Vec<String>]| {
            let mut names = found.concat();
            names.sort();
            let no_others = names.iter().all(|name| all.contains(&name.as_str()));
            assert!(no_others, "{prefix}: {names:?}");
            names
        };
        let found = found_at_last(prefix, |found| names_in(found) == all);
        let names = names_in(&found);
        // Fibres of one set come together; old words may make one set of two.
        let together = sets.len() > 1 || names.is_empty() || found == sets;
        assert!(together, "{prefix}: {found:?}");
        names == all
    });
}
