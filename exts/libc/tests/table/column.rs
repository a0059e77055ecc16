//! What stands in a row, found out in one kind of cluster.
//!
//! A *rider*, a fibre of the only processor that is always ready, counts how often it runs. What a
//! call waits for comes from a kernel thread, once the rider has run meanwhile, or after a while.

use crate::items::{QUESTIONS, WAITS};
use fibre::Cluster;
use fibre_libc as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// After how many seconds a process that hangs is ended.
const LONG: u32 = 120;

/// How long a call may keep the rider from running before it gets what it waits for.
const PATIENCE: Duration = Duration::from_millis(150);

/// How often the rider has run.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// The kind of cluster, and who the caller is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// A fibre of the default kind.
    Shared,
    /// A fibre with thread-locals of its own.
    Own,
    /// A thread of a program that has asked for threads that are fibres.
    Threads,
}

impl Column {
    /// The three columns, as the page has them.
    pub(crate) const ALL: [Self; 3] = [Self::Shared, Self::Own, Self::Threads];

    /// What a process is told.
    pub(crate) const fn role(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Own => "own",
            Self::Threads => "threads",
        }
    }

    /// The column with this role.
    pub(crate) fn of(role: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|one| one.role() == role)
            .unwrap()
    }

    /// Finds out all rows, and prints them.
    pub(crate) fn print(self) {
        // SAFETY: a number; the calls of the rows tie no memory to a kernel thread.
        unsafe {
            libc::alarm(LONG);
            fibre_libc::install();
        }
        match self {
            Self::Threads => {
                // SAFETY: as above.
                unsafe { fibre_libc::threads() }.unwrap();
                thread::spawn(find_out).join().unwrap();
            }
            Self::Shared | Self::Own => {
                let builder = Cluster::builder();
                let builder = match self {
                    // SAFETY: as above.
                    Self::Own => unsafe { builder.own_thread_locals() },
                    _ => builder,
                };
                let cluster = builder.build().unwrap();
                cluster.spawn(find_out).join().unwrap();
            }
        }
    }
}

/// Prints all rows, as the calling fibre finds them.
fn find_out() {
    let over = Arc::new(AtomicBool::new(false));
    let end = Arc::clone(&over);
    let rider = fibre::spawn(move || {
        while !end.load(Ordering::Relaxed) {
            RUNS.fetch_add(1, Ordering::Relaxed);
            fibre::yield_now();
        }
    });
    for (name, question) in QUESTIONS {
        println!("{name}\t{}", question());
    }
    for (name, make) in WAITS {
        let (give, wait) = make();
        println!("{name}\t{}", blocked_by(give, wait));
    }
    over.store(true, Ordering::Relaxed);
    rider.join().unwrap();
}

/// Makes a call that waits until `give` has been called, and says what it has blocked.
fn blocked_by(give: Box<dyn FnOnce() + Send>, wait: Box<dyn FnOnce()>) -> &'static str {
    let begun = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begun);
    let giver = move || {
        while !seen.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let (before, since) = (RUNS.load(Ordering::Relaxed), Instant::now());
        while RUNS.load(Ordering::Relaxed) == before && since.elapsed() < PATIENCE {
            thread::sleep(Duration::from_micros(100));
        }
        give();
    };
    let giver = fibre_libc::plainly(|| thread::spawn(giver));
    fibre::yield_now();
    let runs = RUNS.load(Ordering::Relaxed);
    begun.store(true, Ordering::Release);
    wait();
    let has_run = RUNS.load(Ordering::Relaxed) != runs;
    giver.join().unwrap();
    if has_run {
        "the fibre"
    } else {
        "the processor"
    }
}
