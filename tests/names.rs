//! Look-ups of names that hang: no server answers. All calls that block a thread would end up
//! behind them if they had the same threads.
//!
//! This program has a `getaddrinfo` of its own, which answers when the test says so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod support;

use fibre::net::{TcpStream, lookup_host};
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use support::eventually;
use support::process::{child, end_after, errors, plays};

/// How many threads the program may have for each kind.
const THREADS: usize = 2;

/// How many look-ups there are at once.
const LOOK_UPS: usize = 20;

/// How many threads are in `getaddrinfo`, and how many there have been at most.
static IN_IT: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Whether the servers answer.
static ANSWERED: AtomicBool = AtomicBool::new(false);

/// Stands in for the C library's: says, when there is an answer, that there is no such name.
#[unsafe(no_mangle)]
extern "C" fn getaddrinfo(
    _: *const c_char,
    _: *const c_char,
    _: *const libc::addrinfo,
    _: *mut *mut libc::addrinfo,
) -> c_int {
    let here = IN_IT.fetch_add(1, Ordering::SeqCst) + 1;
    MOST.fetch_max(here, Ordering::SeqCst);
    while !ANSWERED.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
    IN_IT.fetch_sub(1, Ordering::SeqCst);
    libc::EAI_NONAME
}

/// The body of the program.
fn look_up_in_vain() {
    end_after(Duration::from_secs(60));
    let waiting: Vec<_> = (0..LOOK_UPS)
        .map(|number| {
            fibre::spawn(move || match number % 2 {
                0 => lookup_host(format!("name{number}:80")).map(drop).is_err(),
                _ => TcpStream::connect(format!("name{number}:80")).is_err(),
            })
        })
        .collect();
    eventually(|| IN_IT.load(Ordering::SeqCst) == THREADS);
    let others = fibre::spawn(|| {
        assert_eq!(fibre::blocking(|| 6 * 7), 42);
        let path = std::env::temp_dir().join(format!("fibre-names-{}", std::process::id()));
        fibre::fs::write(&path, b"some bytes").unwrap();
        let read = fibre::fs::read(&path).unwrap();
        fibre::fs::remove_file(&path).unwrap();
        read
    });
    assert_eq!(others.join().unwrap(), b"some bytes");
    assert!(!ANSWERED.swap(true, Ordering::SeqCst));
    assert!(waiting.into_iter().all(|fibre| fibre.join().unwrap()));
    assert_eq!(MOST.load(Ordering::SeqCst), THREADS);
    eprintln!("all have ended");
}

/// Files and other calls that block do not wait for servers of names.
#[test]
fn look_ups_that_hang_hold_up_nothing_else() {
    if plays("looks up") {
        return look_up_in_vain();
    }
    let threads = THREADS.to_string();
    let mut command = child("looks up", &[("FIBRE_BLOCKING_THREADS", &threads)]);
    let output = command.output().unwrap();
    let said = errors(&output);
    assert!(
        output.status.success() && said.contains("all have ended"),
        "{said}"
    );
}
