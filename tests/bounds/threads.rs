//! Kernel threads that fibres start, and threads that work for them: which signals they hear of.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

use std::thread;
use support::process::{end_after, errors, no_core_file, plays, spawn_child};
use support::{for_each_cluster, kernel_thread, until_waiting, watched_for};

/// The signals that the calling thread blocks.
fn blocked() -> u64 {
    let path = format!("/proc/self/task/{}/status", kernel_thread());
    let status = std::fs::read_to_string(path).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    u64::from_str_radix(mask.unwrap().trim(), 16).unwrap()
}

/// A bit for SIGTERM.
const SIGTERM: u64 = 1 << 14;
/// A bit for SIGUSR2, which the child blocks before it starts a cluster.
const SIGUSR2: u64 = 1 << 11;

/// Threads that fibres start by our call, or that ask for it, and all those that closures of
/// `blocking` start, block what the program blocked; processors go on blocking everything.
#[test]
fn threads_hear_of_what_the_program_hears_of() {
    if !plays("program") {
        let output = spawn_child("program", &[]);
        assert!(output.status.success(), "{}", errors(&output));
        return;
    }
    end_after(std::time::Duration::from_secs(60));
    // SAFETY: a set of our own.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, libc::SIGUSR2);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
    let program = blocked();
    assert_eq!(program & (SIGTERM | SIGUSR2), SIGUSR2);
    for_each_cluster(move |_| {
        assert_eq!(blocked() & SIGTERM, SIGTERM);
        assert_eq!(fibre::blocking(blocked), program);
        assert_eq!(
            fibre::blocking(|| thread::spawn(blocked).join().unwrap()),
            program
        );
        let named = || (blocked(), thread::current().name().map(str::to_owned));
        let builder = thread::Builder::new().name("mine".to_owned());
        let thread = fibre::spawn_thread(builder, named).unwrap();
        let (mask, name) = fibre::blocking(|| thread.join().unwrap());
        assert_eq!((mask, name.as_deref()), (program, Some("mine")));
        let asks = thread::spawn(|| {
            fibre::take_signals_of_program();
            (blocked(), thread::spawn(blocked).join().unwrap())
        });
        assert_eq!(fibre::blocking(|| asks.join().unwrap()), (program, program));
        // A fibre that asks has its processor stay as it is.
        fibre::take_signals_of_program();
        assert_eq!(blocked() & SIGTERM, SIGTERM);
    });
    assert_eq!(blocked(), program);
}

/// What the watchdog of the tests says of a process that hangs.
#[test]
fn a_process_that_hangs_is_told_of() {
    if plays("hanging") {
        no_core_file();
        let event = fibre::sync::Event::new();
        let waits = move || event.wait();
        let builder = fibre::Builder::new().name("for ever");
        let waiting = builder.spawn(waits).unwrap();
        until_waiting(fibre::WaitKind::Event, &[waiting.id()]);
        let limit = std::time::Duration::from_millis(500);
        watched_for(limit, " on purpose", || waiting.join().unwrap());
    }
    let output = spawn_child("hanging", &[]);
    assert!(!output.status.success());
    let words = errors(&output);
    for expected in [
        "watchdog: `",
        "a_process_that_hangs_is_told_of` on purpose hangs after 500ms",
        "(\"for ever\") of cluster",
        "\"fibre/0\": ",
    ] {
        assert!(words.contains(expected), "{words}");
    }
}
