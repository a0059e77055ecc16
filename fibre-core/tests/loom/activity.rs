//! Models of the word of activities: no call is lost, and no two runs overlap.
//!
//! Run by `cargo xtask loom`. Whoever is told to queue the activity runs it, in place of the
//! processor that would take it out of a queue.

use fibre_core::internal::activity_word::{ActivityWord, Ended, Scheduled};
use fibre_core::model::{self, Shared, finds_bug, finds_planted};
use fibre_core::sync::{AtomicBool, Ordering};
use loom::cell::UnsafeCell;
use loom::thread;

/// How many give it something to do.
const CALLERS: usize = 2;

/// An activity that takes note of what has been posted to it.
struct Activity {
    word: ActivityWord,
    /// What each caller has posted. Relaxed: only the word orders.
    posted: [AtomicBool; CALLERS],
    /// What runs have seen of that.
    seen: UnsafeCell<[bool; CALLERS]>,
}

// SAFETY: runs do not overlap; loom checks that they do not.
unsafe impl Sync for Activity {}
// SAFETY: as above.
unsafe impl Send for Activity {}

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// A caller posts after it has scheduled.
    PostsLate,
    /// A caller runs the activity though it is not told to.
    RunsUnasked,
}

impl Activity {
    fn new() -> Shared<Self> {
        Shared::new(Self {
            word: ActivityWord::new(),
            posted: std::array::from_fn(|_| AtomicBool::new(false)),
            seen: UnsafeCell::new([false; CALLERS]),
        })
    }

    /// `Activity::schedule` by one caller, and what the processor does then.
    fn post(&self, caller: usize, planted: Planted) {
        let post = || self.posted[caller].store(true, Ordering::Relaxed);
        if planted != Planted::PostsLate {
            post();
        }
        let told = self.word.schedule();
        if planted == Planted::PostsLate {
            post();
        }
        if told == Scheduled::Enqueue || planted == Planted::RunsUnasked {
            while self.run() == Ended::Again {}
        }
    }

    /// One run.
    fn run(&self) -> Ended {
        self.word.begin();
        self.seen.with_mut(|seen| {
            for (caller, posted) in self.posted.iter().enumerate() {
                if posted.load(Ordering::Relaxed) {
                    // SAFETY: what is being checked.
                    unsafe { (*seen)[caller] = true };
                }
            }
        });
        self.word.end()
    }
}

/// Callers that post at the same time.
fn posts(planted: Planted) {
    let activity = Activity::new();
    let callers: Vec<_> = (1..CALLERS)
        .map(|caller| {
            let activity = activity.clone();
            thread::spawn(move || activity.post(caller, planted))
        })
        .collect();
    activity.post(0, planted);
    for caller in callers {
        caller.join().unwrap();
    }
    assert!(activity.word.is_idle());
    // SAFETY: all callers have ended.
    activity
        .seen
        .with(|seen| assert_eq!(unsafe { *seen }, [true; CALLERS], "a post was lost"));
}

/// Each post is seen by a run, and runs do not overlap.
#[test]
fn every_post_is_seen() {
    model::check(|| posts(Planted::Nothing));
}

/// Planted: the end of a run overwrites what came since it looked at the word.
#[test]
fn planted_forgetful_end_is_found() {
    let fault = "activity: the end of a run forgets who comes meanwhile";
    finds_planted(fault, || posts(Planted::Nothing));
}

/// Planted: what there is to do comes after the call.
#[test]
fn planted_late_post_is_found() {
    finds_bug(|| posts(Planted::PostsLate));
}

/// Planted: a caller runs what another one runs.
#[test]
fn planted_second_run_is_found() {
    finds_bug(|| posts(Planted::RunsUnasked));
}

/// A caller from outside, which the cluster turns away, and one of its fibres. The post of the
/// latter is seen.
fn turned_away(makes_ready_first: bool) {
    let activity = Activity::new();
    let outside = {
        let activity = activity.clone();
        thread::spawn(move || {
            if makes_ready_first {
                let _ = activity.word.schedule();
            } else {
                let _ = activity.word.notice();
            }
        })
    };
    activity.post(0, Planted::Nothing);
    outside.join().unwrap();
    // SAFETY: all callers have ended.
    let seen = activity.seen.with(|seen| unsafe { (*seen)[0] });
    assert!(seen, "a post was lost");
}

#[test]
fn a_caller_that_is_turned_away_hides_no_other() {
    model::check(|| turned_away(false));
}

/// Planted: a caller makes the activity ready before it is let in.
#[test]
fn planted_hasty_caller_is_found() {
    finds_bug(|| turned_away(true));
}

/// Where nobody runs anything any more, every later call learns it.
#[test]
fn a_refusal_is_final() {
    model::check(|| {
        let activity = Activity::new();
        let other = {
            let activity = activity.clone();
            thread::spawn(move || activity.word.schedule())
        };
        if activity.word.schedule() == Scheduled::Enqueue {
            activity.word.refuse();
            assert_eq!(activity.word.schedule(), Scheduled::Refused);
        }
        let told = other.join().unwrap();
        assert!(told != Scheduled::Enqueue || !activity.word.is_idle());
    });
}
