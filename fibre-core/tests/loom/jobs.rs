//! Models of calls that block: callers that bring jobs, and the threads that do them.
//!
//! Run by `cargo xtask loom`. Jobs, threads and their waits are the shipped code; the start of a
//! thread, or its failure, is played here.

use fibre_core::internal::jobs::{Idle, Job, JobOutcome, Jobs, Next, Start};
use fibre_core::internal::{Outcome, Wait, Waiter};
use fibre_core::model::{Shared, check, finds_planted};
use fibre_core::sync::{AtomicUsize, Futex, Ordering};
use fibre_core::{WaitKind, WaitObject};
use loom::thread;
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// A pool as the shipped one, with threads of the model.
struct Pool {
    jobs: Jobs,
    /// How many threads can be started.
    room: AtomicUsize,
    /// Whether threads give up being idle at some moment.
    impatient: bool,
}

/// A call, as the shipped one.
#[repr(C)]
struct Call {
    job: Job,
    waiter: Cell<*const Waiter>,
    /// What became of it.
    outcome: Cell<Option<JobOutcome>>,
    /// The other call that it meets, or null.
    meeting: *const Meeting,
}

/// The meeting of two calls.
struct Meeting {
    /// How many have come.
    come: AtomicUsize,
    /// 1 once both have.
    complete: Futex,
}

impl Meeting {
    /// A meeting that no call has come to.
    fn new() -> Self {
        Self {
            come: AtomicUsize::new(0),
            complete: Futex::new(0),
        }
    }

    /// Waits for the other call.
    fn meet(&self) {
        if self.come.fetch_add(1, Ordering::Relaxed) == 1 {
            self.complete.swap(1);
            Futex::wake_one(&raw const self.complete);
            return;
        }
        while self.complete.load() == 0 {
            self.complete.wait(0, None);
        }
    }
}

impl Pool {
    /// A pool of at most `most` threads; `room` of them can be started.
    fn new(most: usize, room: usize, impatient: bool) -> Shared<Self> {
        Shared::new(Self {
            jobs: Jobs::new(most),
            room: AtomicUsize::new(room),
            impatient,
        })
    }

    /// Starts a thread, if there is room for it.
    fn start(this: Shared<Self>, start: Start) {
        let take = |room: usize| room.checked_sub(1);
        let room = this
            .room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        if room.is_err() {
            this.jobs.cannot_start(start);
            return;
        }
        thread::spawn(move || Self::work(this));
    }

    /// The loop of a thread.
    fn work(this: Shared<Self>) {
        let wait = |idle: &Idle| !this.impatient && idle.sleep(None);
        let mut next = this.jobs.begin(wait);
        while let Next::Work(job, more) = next {
            if let Some(start) = more {
                Self::start(this, start);
            }
            job.carry_out();
            next = this.jobs.next(wait);
        }
    }

    /// Makes a call, and returns what became of it.
    fn call(this: Shared<Self>) -> JobOutcome {
        Self::call_and_meet(this, None)
    }

    /// Makes a call that lasts until another one has begun.
    fn call_and_meet(this: Shared<Self>, meeting: Option<Shared<Meeting>>) -> JobOutcome {
        let call = Call {
            meeting: meeting.map_or(ptr::null(), |meeting| ptr::from_ref(meeting.get())),
            job: Job::new(conclude),
            waiter: Cell::new(ptr::null()),
            outcome: Cell::new(None),
        };
        let job = NonNull::from(&call).cast();
        let publish = |waiter: &Waiter, _| {
            call.waiter.set(waiter);
            // SAFETY: `call` stays until the thread is resumed, which is the job's conclusion.
            if let Some(start) = unsafe { this.jobs.bring(job) } {
                Self::start(this, start);
            }
            true
        };
        let awaited = WaitObject::placeless(WaitKind::Blocking);
        // SAFETY: only the thread that concludes the job claims the waiter.
        let outcome = unsafe { Wait::closed(awaited).park(publish, |_| {}) };
        assert_eq!(outcome, Outcome::Woken(0));
        call.outcome.get().unwrap()
    }
}

/// Does the job, or not, and resumes its caller.
unsafe fn conclude(job: NonNull<Job>, outcome: JobOutcome) {
    // SAFETY: the first field of a call, which stays until it is resumed.
    let call = unsafe { job.cast::<Call>().as_ref() };
    // SAFETY: in the frame of the function that makes the calls.
    if let Some(meeting) = unsafe { call.meeting.as_ref() } {
        meeting.meet();
    }
    assert_eq!(call.outcome.replace(Some(outcome)), None, "concluded twice");
    // SAFETY: the wait has no limit, and nobody else knows of it.
    unsafe { (*call.waiter.get()).claim_alone(0) }.resume();
}

/// Two callers at the same time.
fn two_calls(pool: Shared<Pool>) -> [JobOutcome; 2] {
    let other = thread::spawn(move || Pool::call(pool));
    let mine = Pool::call(pool);
    let outcomes = [mine, other.join().unwrap()];
    pool.jobs.close();
    outcomes
}

/// All calls are made, by one thread or by two.
#[test]
fn all_calls_are_made() {
    for most in [1, 2] {
        check(move || {
            let outcomes = two_calls(Pool::new(most, most, false));
            assert_eq!(outcomes, [JobOutcome::Taken; 2]);
        });
    }
}

/// A thread that gives up being idle leaves no job behind.
#[test]
fn threads_that_end_leave_nothing() {
    check(|| {
        let pool = Pool::new(1, usize::MAX, true);
        assert_eq!(two_calls(pool), [JobOutcome::Taken; 2]);
    });
}

/// One thread after the other ends, and is counted out.
#[test]
fn threads_are_counted() {
    check(|| {
        let pool = Pool::new(1, usize::MAX, true);
        for _ in 0..2 {
            assert_eq!(Pool::call(pool), JobOutcome::Taken);
        }
        while pool.jobs.threads() > 0 {
            thread::yield_now();
        }
    });
}

/// If no thread can be started, calls are given back; if one can, it makes all calls that are not.
#[test]
fn calls_without_threads_are_given_back() {
    check(|| {
        assert_eq!(two_calls(Pool::new(2, 0, false)), [JobOutcome::Refused; 2]);
    });
    check(|| {
        let outcomes = two_calls(Pool::new(2, 1, false));
        assert!(outcomes.contains(&JobOutcome::Taken));
    });
}

/// Two calls. Each lasts until both have begun.
fn calls_that_meet() {
    let pool = Pool::new(2, 2, false);
    let meeting = Shared::new(Meeting::new());
    let other = thread::spawn(move || Pool::call_and_meet(pool, Some(meeting)));
    let mine = Pool::call_and_meet(pool, Some(meeting));
    assert_eq!([mine, other.join().unwrap()], [JobOutcome::Taken; 2]);
    pool.jobs.close();
}

/// Calls that go on for long have threads of their own.
#[test]
fn long_calls_have_threads_of_their_own() {
    check(calls_that_meet);
}

/// Planted: while one call lasts, no thread ever serves the other one.
#[test]
fn planted_thread_that_starts_no_other_is_found() {
    finds_planted("jobs: no thread starts another", calls_that_meet);
}

/// Planted: a thread whose time is over does not look whether a caller is about to give it a job.
#[test]
fn planted_thread_that_ends_blindly_is_found() {
    finds_planted("jobs: a thread ends though it is given a job", || {
        two_calls(Pool::new(1, usize::MAX, true));
    });
}

/// Planted: a waiting caller is forgotten when there is no thread.
#[test]
fn planted_forgotten_job_is_found() {
    finds_planted("jobs: only the first job is given back", || {
        two_calls(Pool::new(2, 0, false));
    });
}
