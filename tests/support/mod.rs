//! What all behaviour tests share.
//!
//! * [`for_each_cluster`]: runs a body as a fibre of a fresh cluster with one, two and
//!   four processors, and sees to it that the cluster ends with no fibre left.
//! * [`watched`]: ends the process if a body hangs, with what can be known of it; [`die`] does so
//!   with any words.
//! * [`Random`]: choices that follow from one seed, printed when a test fails.
//! * [`Latch`], [`eventually`], [`until_waiting`], [`Drops`], [`process`]: small things to wait for
//!   and to count with.

#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "each test file uses a part; a test fails by panicking"
)]

pub mod direct;
pub mod drops;
pub mod process;
pub mod program;
pub mod random;
#[cfg(target_arch = "x86_64")]
pub mod sandbox;
mod seeker;
pub mod sockets;
pub mod stripped;
pub mod terminal;
pub mod watchdog;

pub use drops::Drops;
pub use random::Random;
pub use watchdog::{die, die_hanging, hangs, watched, watched_for};

use fibre::sync::{Condvar, Mutex};
use fibre::{Builder, CancelToken, Cluster, ClusterBuilder, StopError, WaitKind};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Runs `body` as a fibre that has been cancelled.
pub fn as_cancelled<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let token = CancelToken::new();
    token.cancel();
    let fibre = Builder::new().cancel_token(&token).spawn(body).unwrap();
    fibre.join().unwrap()
}

/// Numbers of processors that everything is tried with: 1, 2 and 4, or what the list
/// `FIBRE_TEST_PROCESSORS` says.
pub fn processor_counts() -> Vec<usize> {
    processor_counts_or("1,2,4")
}

/// [`processor_counts`] with another list by default.
pub fn processor_counts_or(default: &str) -> Vec<usize> {
    let list = std::env::var("FIBRE_TEST_PROCESSORS");
    let list = list.as_deref().unwrap_or(default);
    list.split(',')
        .map(|count| count.parse().unwrap())
        .collect()
}

/// A builder of clusters for tests that hold under every policy: other than the runtime's, it
/// lets `FIBRE_TEST_MOVES` ask for clusters that move started fibres, `started` when that is
/// of use, `forced` at every turn, `own` at every turn and with thread-locals of their own.
pub fn any_cluster() -> ClusterBuilder {
    let builder = Cluster::builder();
    let moves = std::env::var("FIBRE_TEST_MOVES");
    // SAFETY: the fibres of these tests keep nothing across a wait that belongs to a kernel
    // thread.
    unsafe {
        match moves.as_deref() {
            Err(_) | Ok("never") => builder,
            Ok("started") => builder.move_started_fibres(),
            Ok("forced") => builder.force_migration(),
            Ok("own") => builder.own_thread_locals().force_migration(),
            Ok(other) => panic!("FIBRE_TEST_MOVES cannot be {other:?}"),
        }
    }
}

/// Runs `body` as a fibre of a fresh cluster, for each of [`processor_counts`].
pub fn for_each_cluster(body: impl Fn(&Cluster) + Send + Sync + 'static) {
    for_clusters(&processor_counts(), body);
}

/// Runs `body` as a fibre of a fresh cluster, for each number of processors.
pub fn for_clusters(processors: &[usize], body: impl Fn(&Cluster) + Send + Sync + 'static) {
    let body: Body = Arc::new(body);
    for &count in processors {
        let cluster = any_cluster().processors(count).build().unwrap();
        run_body(cluster, Arc::clone(&body));
    }
}

/// What a test runs as a fibre. Boxed, as each test would compile its watchdog, its cluster and its
/// first fibre anew.
type Body = Arc<dyn Fn(&Cluster) + Send + Sync>;

/// Runs `body` as a fibre of `cluster`, and stops the cluster.
pub fn run_in<F>(cluster: Cluster, body: Arc<F>)
where
    F: Fn(&Cluster) + Send + Sync + 'static,
{
    run_body(cluster, body);
}

/// [`run_in`] for whatever body.
fn run_body(cluster: Cluster, body: Body) {
    let remark = format!(" with {} processors", cluster.processors());
    watched_for(watchdog::LIMIT, &remark, || {
        let inside = cluster.clone();
        let root = cluster.spawn(move || body(&inside));
        if let Err(payload) = root.join() {
            eprintln!("failed{remark}");
            resume_unwind(payload);
        }
        let witness = cluster.clone();
        cluster.stop();
        assert_eq!(witness.live(), 0, "fibres were left{remark}");
    });
}

/// Yields until `condition` holds; fails the test if that takes very long.
#[track_caller]
pub fn eventually(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut tries = 0_u32;
    while !condition() {
        assert!(Instant::now() < deadline, "it has not come true");
        tries += 1;
        if tries < 1000 {
            fibre::yield_now();
        } else {
            fibre::sleep(Duration::from_micros(200));
        }
    }
}

/// Lets everything that is ready run for a while: what is about to block then very likely has, and
/// with one processor certainly. For tests that see less without; who would be wrong without asks
/// [`until_waiting`].
pub fn let_others_block() {
    for _ in 0..100 {
        fibre::yield_now();
    }
    fibre::sleep(Duration::from_millis(2));
}

/// Spawns a fibre and lets it come as far as it can. Fibres that are spawned so, one after the
/// other, begin in this order, wherever new fibres are queued.
pub fn spawn_in_turn<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> fibre::JoinHandle<T> {
    let fibre = fibre::spawn(body);
    let_others_block();
    fibre
}

/// Waits until each of the fibres with these numbers waits for something of this kind.
#[track_caller]
pub fn until_waiting(kind: WaitKind, fibres: &[u64]) {
    eventually(|| {
        let waits = fibre::waits();
        let waits = waits.iter().filter(|one| one.awaited.kind() == kind);
        waits.filter(|one| fibres.contains(&one.id)).count() == fibres.len()
    });
}

/// Whether processors that are told of as stuck were only late, since others had the CPUs: they end
/// then. Fails if they do not.
#[track_caller]
pub fn were_late(error: &StopError) -> bool {
    for processor in &error.stuck {
        let thread = format!("/proc/self/task/{}", processor.thread);
        eventually(|| !std::fs::exists(&thread).unwrap());
    }
    !error.stuck.is_empty()
}

/// The kernel's number of the calling thread, asked for each time.
pub fn kernel_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Whether a kernel thread of this process has this name. While others' threads end, the list may
/// lack one.
pub fn thread_exists(name: &str) -> bool {
    let names = std::fs::read_dir("/proc/self/task").unwrap();
    names
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .any(|comm| comm.trim_end() == name)
}

/// Nanoseconds of CPU that the threads whose names begin with `prefix` have used.
pub fn cpu_time_of(prefix: &str) -> u64 {
    let used = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let figures = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let used = figures.split(' ').next()?.parse::<u64>().ok()?;
        name.starts_with(prefix).then_some(used)
    };
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(|task| used(task.ok()?)).sum()
}

/// Opens once, for all that wait then or later.
#[derive(Debug, Default)]
pub struct Latch {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Latch {
    /// Closed.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Waits until somebody opens it.
    pub fn wait(&self) {
        let mut open = self.open.lock();
        self.changed.wait_while(&mut open, |open| !*open);
    }

    /// Opens it.
    pub fn open(&self) {
        *self.open.lock() = true;
        self.changed.notify_all();
    }
}

/// The text of a panic's payload.
pub fn text_of(payload: &(dyn std::any::Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a payload that is no text")
}
