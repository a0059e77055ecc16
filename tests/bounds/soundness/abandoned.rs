//! A cluster that is stopped within limits leaves fibres behind. What these have lent of their
//! kernel thread's values is borrowed for ever, so that thread must not end.

use super::witness::{Witness, lend};
use fibre::{BlockingPool, Cluster};
use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// Long enough for a thread that is about to end to do so.
const A_WHILE: Duration = Duration::from_millis(300);

/// What a fibre and its test share.
#[derive(Clone, Default)]
struct Shared {
    /// The fibre has lent its thread's value.
    lent: Arc<AtomicBool>,
    /// The value has ended.
    ended: Arc<AtomicBool>,
    /// The borrower is to look, and to go.
    released: Arc<AtomicBool>,
    /// The borrower has found the value as it was.
    found: Arc<AtomicBool>,
}

impl Shared {
    /// What a borrower does: blocks its thread until released, and looks.
    fn borrow(&self, witness: &Witness) {
        self.lent.store(true, Ordering::SeqCst);
        wait_for(&self.released);
        self.found.store(!witness.has_ended(), Ordering::SeqCst);
    }

    /// Leaves the fibres of a cluster behind, and looks whether their threads stay.
    #[track_caller]
    fn stop(&self, cluster: Cluster) {
        wait_for(&self.lent);
        let stopped = cluster.stop_within(Duration::ZERO, Duration::ZERO);
        assert!(!stopped.unwrap_err().left.is_empty());
        assert!(!self.ended.load(Ordering::SeqCst), "the value has ended");
        self.released.store(true, Ordering::SeqCst);
    }

    /// Waits for what the borrower has to say.
    #[track_caller]
    fn check(&self) {
        wait_for(&self.found);
        assert!(!self.ended.load(Ordering::SeqCst), "the value has ended");
    }
}

/// Blocks the thread until it is set.
#[track_caller]
fn wait_for(flag: &AtomicBool) {
    for _ in 0..60_000 {
        if flag.load(Ordering::SeqCst) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing has happened for a minute");
}

/// Has a fibre lend its thread's value in some way, leaves it behind, and has the borrower look.
#[track_caller]
fn lent(how: impl Fn(&Shared, &Witness) + Send + Sync + Copy + 'static) {
    for processors in [1, 2, 4] {
        let shared = Shared::default();
        let cluster = Cluster::builder().processors(processors).build().unwrap();
        let inside = shared.clone();
        drop(cluster.spawn(move || lend(&inside.ended, |witness| how(&inside, witness))));
        shared.stop(cluster);
        shared.check();
    }
}

/// To a call on a thread of the process' pool.
#[test]
fn to_a_blocking_call() {
    lent(|shared, witness| fibre::blocking(|| shared.borrow(witness)));
}

/// To a call on a thread of a pool of its own.
#[test]
fn to_a_pool() {
    lent(|shared, witness| {
        let pool = BlockingPool::builder().threads(1).build();
        pool.run(|| shared.borrow(witness));
    });
}

/// To a thread of its own, while the fibre waits.
#[test]
fn to_a_scoped_thread() {
    lent(|shared, witness| {
        thread::scope(|scope| {
            scope.spawn(|| shared.borrow(witness));
            fibre::sleep(LONG);
        });
    });
}

/// To a call that another fibre of the scope makes.
#[test]
fn to_a_scoped_fibre() {
    lent(|shared, witness| {
        fibre::scope(|scope| {
            scope.spawn(|| fibre::blocking(|| shared.borrow(witness)));
        });
    });
}

/// To a fibre of another cluster, which is not stopped: what a thread of the pool spawns is of the
/// default one.
#[test]
fn to_a_fibre_elsewhere() {
    lent(|shared, witness| {
        fibre::blocking(|| {
            fibre::scope(|scope| {
                scope.spawn(|| shared.borrow(witness));
            });
        });
    });
}

/// To the kernel, which writes where a call on another thread has it write.
#[test]
fn to_a_read() {
    thread_local!(static BUFFER: std::cell::RefCell<[u8; 64]> = const { std::cell::RefCell::new([0; 64]) });
    let path = std::env::temp_dir().join(format!("fibre-soundness-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    let shared = Shared::default();
    let cluster = Cluster::builder().processors(1).build().unwrap();
    let (inside, from) = (shared.clone(), path.clone());
    drop(cluster.spawn(move || {
        let mut file = fibre::fs::File::open(from).unwrap();
        // Behind the buffer, so that it ends first.
        lend(&inside.ended, |_| {
            BUFFER.with_borrow_mut(|buffer| {
                inside.lent.store(true, Ordering::SeqCst);
                let _ = file.read(&mut buffer[..]);
            });
        });
    }));
    let mut writer = fs::File::create(&path).unwrap();
    shared.stop(cluster);
    writer.write_all(&[7; 64]).unwrap();
    fs::remove_file(path).unwrap();
    thread::sleep(A_WHILE);
    assert!(!shared.ended.load(Ordering::SeqCst), "the value has ended");
}

/// A processor that is stuck when the others leave comes to leave later.
#[test]
fn by_a_processor_that_leaves_late() {
    let shared = Shared::default();
    let go_on = Arc::new(AtomicBool::new(false));
    let cluster = Cluster::builder().processors(1).build().unwrap();
    let inside = shared.clone();
    drop(cluster.spawn(move || {
        lend(&inside.ended, |witness| {
            fibre::blocking(|| inside.borrow(witness))
        });
    }));
    wait_for(&shared.lent);
    let (stuck, until) = (Arc::new(AtomicBool::new(false)), Arc::clone(&go_on));
    let is_stuck = Arc::clone(&stuck);
    drop(cluster.spawn(move || {
        is_stuck.store(true, Ordering::SeqCst);
        wait_for(&until);
    }));
    wait_for(&stuck);
    let error = cluster
        .stop_within(Duration::ZERO, Duration::ZERO)
        .unwrap_err();
    assert_eq!(error.stuck.len(), 1);
    go_on.store(true, Ordering::SeqCst);
    thread::sleep(A_WHILE);
    assert!(!shared.ended.load(Ordering::SeqCst), "the value has ended");
    shared.released.store(true, Ordering::SeqCst);
    shared.check();
}

/// Threads of processors that leave nothing behind do end.
#[test]
fn by_nobody() {
    let ended = Arc::new(AtomicBool::new(false));
    let cluster = Cluster::builder().processors(1).build().unwrap();
    let inside = Arc::clone(&ended);
    cluster.spawn(move || lend(&inside, |_| ())).join().unwrap();
    cluster.stop_within(LONG, Duration::ZERO).unwrap();
    assert!(ended.load(Ordering::SeqCst));
}
