//! Counts that keep a borrower's frame hold at any depth that a stack has room for.

use fibre::{Builder, CancelToken, compute, shield, timeout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// How many shields are in each other: with that of a call, one more than 16 bits count.
const DEPTH: usize = 65_535;

/// Room for that many frames of a debug build.
const STACK: usize = 256 << 20;

/// Long enough for a time-out that is over to end what it may end.
const A_WHILE: Duration = Duration::from_millis(500);

/// A value in a frame, which tells when it ends.
struct InFrame(Arc<AtomicBool>);

impl Drop for InFrame {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Calls `f` in so many shields.
fn shielded(depth: usize, f: &mut dyn FnMut()) {
    match depth {
        0 => f(),
        depth => shield(|| shielded(depth - 1, f)),
    }
}

/// Calls `f`, and keeps what unwinds it from the many frames below.
fn caught(f: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(f));
}

/// Runs `f` in a fibre with much room.
fn with_room(f: impl FnOnce() + Send + 'static) {
    let fibre = Builder::new().stack_size(STACK).spawn(f).unwrap();
    fibre.join().unwrap();
}

/// What `compute` borrows stays until its closure has returned, however many shields the caller has
/// raised in its time-out.
#[test]
fn deep_shields_keep_what_is_borrowed() {
    with_room(|| {
        let ended = Arc::new(AtomicBool::new(false));
        let (tell, told) = channel();
        let _ = timeout(Duration::from_millis(20), || {
            shielded(DEPTH, &mut || {
                caught(|| {
                    let value = InFrame(Arc::clone(&ended));
                    compute(|| {
                        thread::sleep(A_WHILE);
                        tell.send(value.0.load(Ordering::SeqCst)).unwrap();
                    });
                });
            });
        });
        assert_eq!(told.recv(), Ok(false), "a frame went before its borrower");
    });
}

/// A fibre notices nothing in shields, however many there are.
#[test]
fn deep_shields_keep_cancellation_out() {
    let all = CancelToken::new();
    let cancelled = all.clone();
    let looks = Builder::new().stack_size(STACK).cancel_token(&all);
    let looks = looks.spawn(move || {
        cancelled.cancel();
        assert!(fibre::is_cancelled());
        for depth in [DEPTH, DEPTH + 1] {
            shielded(depth, &mut || assert!(!fibre::is_cancelled()));
        }
    });
    looks.unwrap().join().unwrap();
}

/// A handle that joins when it is dropped does so in shields of any number, too.
#[test]
fn deep_shields_keep_a_join_on_drop() {
    with_room(|| {
        let ended = Arc::new(AtomicBool::new(false));
        let _ = timeout(Duration::from_millis(20), || {
            shielded(DEPTH, &mut || {
                let ends = Arc::clone(&ended);
                let sleeps = fibre::spawn(move || {
                    fibre::sleep(A_WHILE);
                    ends.store(true, Ordering::SeqCst);
                });
                caught(|| drop(sleeps.join_on_drop()));
            });
        });
        assert!(ended.load(Ordering::SeqCst), "the drop has not joined");
    });
}
