//! The end of the process while fibres run: by `exit`, by the return of `main`, from a fibre.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::Cluster;
use fibre::sync::{Mutex, Semaphore};
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use support::process::{end_after, errors, no_core_file, plays, spawn_child};
use support::sockets;

/// The longest that a child may take.
const LIMIT: Duration = Duration::from_secs(30);

/// How many fibres there are.
const FIBRES: usize = 1000;

/// Fibres that never end and do all kinds of things, allocating and printing included.
fn busy_cluster() -> Cluster {
    let cluster = Cluster::builder().processors(3).build().unwrap();
    let permits = Arc::new(Semaphore::new(3));
    let shared = Arc::new(Mutex::new(Vec::new()));
    for i in 0..FIBRES {
        let (permits, shared) = (Arc::clone(&permits), Arc::clone(&shared));
        cluster.spawn(move || {
            loop {
                match i % 5 {
                    0 => fibre::yield_now(),
                    1 => fibre::sleep(Duration::from_micros(i as u64)),
                    2 => {
                        permits.acquire();
                        fibre::yield_now();
                        permits.release();
                    }
                    3 => {
                        let mut values = shared.lock();
                        let text = format!("{i}");
                        values.push(text);
                        if values.len() > 100 {
                            values.clear();
                        }
                    }
                    _ => {
                        let (mut near, mut far) = sockets::fresh_pair_with_std();
                        sockets::reset_on_close(&near);
                        far.write_all(b"x").unwrap();
                        near.read_exact(&mut [0]).unwrap();
                        fibre::sleep(Duration::from_millis(50));
                    }
                }
            }
        });
    }
    cluster
}

/// Runs the child many times, with another moment each time.
fn every_child_exits_with(role: &str, code: i32) {
    for moment in 0..15 {
        let output = spawn_child(role, &[("MOMENT", &(moment * 300).to_string())]);
        assert_eq!(output.status.code(), Some(code), "{}", errors(&output));
    }
}

/// Lets fibres run for the time that the parent says.
fn wait_for_the_moment() {
    let moment = std::env::var("MOMENT").unwrap().parse().unwrap();
    thread::sleep(Duration::from_micros(moment));
}

/// `exit` on the main thread, or one that is no processor.
#[test]
fn exit_while_fibres_run() {
    if plays("exiting") {
        no_core_file();
        end_after(LIMIT);
        let _cluster = busy_cluster();
        wait_for_the_moment();
        std::process::exit(7);
    }
    every_child_exits_with("exiting", 7);
}

/// The test harness returns from `main` while fibres run.
#[test]
fn main_returns_while_fibres_run() {
    if plays("returning") {
        no_core_file();
        end_after(LIMIT);
        std::mem::forget(busy_cluster());
        return wait_for_the_moment();
    }
    every_child_exits_with("returning", 0);
}

/// `exit` by a fibre.
#[test]
fn a_fibre_exits() {
    if plays("fibre") {
        no_core_file();
        end_after(LIMIT);
        let cluster = busy_cluster();
        let exiting = cluster.spawn(|| {
            wait_for_the_moment();
            std::process::exit(9);
        });
        let _ = exiting.join();
        return;
    }
    every_child_exits_with("fibre", 9);
}
