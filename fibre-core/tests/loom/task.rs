//! Models of a task that waits for a completion, as that of a fibre's end: it is woken once, and
//! may be dropped at any moment.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::completion::Completion;
use fibre_core::internal::waiter::Wakeable;
use fibre_core::internal::{TaskWait, Waiter};
use fibre_core::model::{check, finds_planted};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc as StdArc;
use std::task::{Wake, Waker};

/// The type of fibres that finish it. There are none here.
fn finish(completion: &Completion) {
    fn finish_for<F: Wakeable>(
        completion: &Completion,
        _: fn(&Waiter) -> Option<std::ptr::NonNull<F>>,
    ) {
        let _ = completion.finish::<F>();
    }
    finish_for(completion, Waiter::fibre);
}

/// Counts how often it was woken.
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Whether the wait waits now, for this waker.
fn begin(completion: &Completion, wait: &StdArc<TaskWait<()>>, waker: &Waker) -> bool {
    assert!(!wait.register(waker));
    wait.begin();
    let waits = completion.publish_limited(wait.waiter());
    if !waits {
        // SAFETY: it was not published.
        unsafe { wait.end() };
    }
    waits
}

/// A task waits, is polled once more, and gives up or sees the end.
fn polled_and_dropped() {
    let completion = Arc::new(Completion::new());
    let finisher = Arc::clone(&completion);
    let thread = thread::spawn(move || finish(&finisher));
    let count = StdArc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(StdArc::clone(&count));
    let wait = TaskWait::new(());
    if begin(&completion, &wait, &waker) {
        let resumed = wait.register(&waker);
        assert!(!resumed || completion.is_done());
        completion.withdraw(wait.waiter());
        let claimed = wait.waiter().is_claimed();
        assert!(!claimed || completion.is_done());
        if !claimed {
            // SAFETY: taken out, and nobody has claimed it.
            unsafe { wait.end() };
        }
        drop(wait);
        thread.join().unwrap();
        assert_eq!(count.0.load(Ordering::Acquire), usize::from(claimed));
    } else {
        drop(wait);
        assert!(completion.is_done());
        thread.join().unwrap();
        assert_eq!(count.0.load(Ordering::Acquire), 0);
    }
    drop(waker);
    assert_eq!(
        StdArc::strong_count(&count),
        1,
        "the allocation has been freed"
    );
}

/// Whoever comes first, the waker is called once or never, and nothing is left.
#[test]
fn a_task_may_leave_at_any_moment() {
    check(polled_and_dropped);
}

/// A task changes its waker while it is resumed: the new one is called, or the poll sees the end.
fn changed_waker() {
    let completion = Arc::new(Completion::new());
    let finisher = Arc::clone(&completion);
    let [first, last] = [(); 2].map(|()| StdArc::new(Count(AtomicUsize::new(0))));
    let [one, other] = [&first, &last].map(|count| Waker::from(StdArc::clone(count)));
    let wait = TaskWait::new(());
    assert!(begin(&completion, &wait, &one));
    let thread = thread::spawn(move || finish(&finisher));
    let resumed = wait.register(&other);
    thread.join().unwrap();
    let calls = [first, last].map(|count| count.0.load(Ordering::Acquire));
    assert_eq!(calls, if resumed { [1, 0] } else { [0, 1] });
}

/// No wake-up is lost.
#[test]
fn the_last_waker_is_called() {
    check(changed_waker);
}

/// Planted: the new waker comes too late, and nobody says so.
#[test]
fn planted_late_waker_is_found() {
    finds_planted(
        "task: it does not look again whether it is resumed",
        changed_waker,
    );
}
