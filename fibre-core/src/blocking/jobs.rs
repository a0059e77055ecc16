//! Jobs that wait for a thread, and threads that wait for a job.
//!
//! One lock guards a queue of jobs, first come, first served, and a stack of idle threads. The
//! thread that has worked last works next, so that the others may end. At most one of the two is
//! not empty: a job goes from hand to hand if a thread is idle, and a thread looks at the queue
//! before it idles.
//!
//! The number of threads follows demand:
//!
//! * **It grows** by one when a job has to wait: the caller is told to start a thread. Only one
//!   thread starts at a time. It takes the first job and, if others still wait, starts the next
//!   thread before it begins. So few threads do many short jobs. Many long jobs soon have as many
//!   threads as the pool may have, and the callers that bring jobs do not spend that time.
//! * **It shrinks** when a thread has been idle for as long as it may.
//!
//! If a thread cannot be started, the pool goes on with those that it has. If it has none, it gives
//! all waiting jobs back to their callers, so that no job waits without a thread.
//!
//! Jobs and idle threads lie in the frames of their waiting owners; the lists link them. A thread
//! that takes one out, under the lock, owns it: a job until it is concluded, an idle thread until
//! its word says that it has a job. A thread that has idled long enough takes itself out. If it is
//! no longer in the list, it is about to get a job, and waits for that.
//!
//! # Memory ordering
//!
//! The lock guards everything except the job of an idle thread, which the thread's word releases
//! and acquires.

use crate::sync::{Cell, Futex, Mutex, planted};
use std::ptr::{self, NonNull};
use std::time::Instant;

/// The word of an idle thread that looks at it.
const WAITING: u32 = 0;
/// The word of an idle thread that sleeps on it, or is about to.
const SLEEPING: u32 = 1;
/// The word of an idle thread that has been given something.
const GIVEN: u32 = 2;

/// What becomes of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOutcome {
    /// The job is carried out, here and now.
    Taken,
    /// The job is given back: there is no thread.
    Refused,
}

/// Something to be done once, in the frame of the fibre that waits for it. Comes first in a larger
/// value, which [`Job::new`]'s function knows.
#[derive(Debug)]
pub struct Job {
    /// The function that carries the job out, or gives it back.
    conclude: unsafe fn(NonNull<Self>, JobOutcome),
    /// The job behind it, if any.
    next: Cell<*const Self>,
}

impl Job {
    /// A job that `conclude` carries out, or gives back, as its last touch of it.
    pub fn new(conclude: unsafe fn(NonNull<Self>, JobOutcome)) -> Self {
        Self {
            conclude,
            next: Cell::new(ptr::null()),
        }
    }
}

/// A job that has been taken out, and the duty to see to it.
#[derive(Debug)]
#[must_use = "somebody waits for it"]
pub struct Taken(NonNull<Job>);

impl Taken {
    /// Carries the job out.
    pub fn carry_out(self) {
        self.conclude(JobOutcome::Taken);
    }

    /// Concludes the job in either way.
    fn conclude(self, outcome: JobOutcome) {
        // SAFETY: the job's caller waits until it has been concluded. That happens only here, and
        // once, since the job has been taken out.
        unsafe { (self.0.as_ref().conclude)(self.0, outcome) };
    }
}

/// The duty to start a thread, which has been counted. The thread tells by [`Jobs::begin`] that it
/// runs; or else the caller says by [`Jobs::cannot_start`] that it does not.
#[derive(Debug)]
#[must_use = "who brings jobs waits for this thread"]
pub struct Start(());

/// What a thread does next.
#[derive(Debug)]
pub enum Next {
    /// It carries out a job; and before, it starts another thread, if there is work for that.
    Work(Taken, Option<Start>),
    /// It ends, and is no longer counted.
    End,
}

/// A thread that waits for a job, in its own frame.
#[derive(Debug)]
pub struct Idle {
    /// The word that it looks at, or sleeps on.
    word: Futex,
    /// What it has been given: a job, or null for the end.
    given: Cell<*const Job>,
    /// The thread that has been idle for longer.
    below: Cell<*const Self>,
}

impl Idle {
    /// An idle thread in no list.
    fn new() -> Self {
        Self {
            word: Futex::new(WAITING),
            given: Cell::new(ptr::null()),
            below: Cell::new(ptr::null()),
        }
    }

    /// Whether the thread has been given something.
    pub fn is_given(&self) -> bool {
        self.word.load() == GIVEN
    }

    /// Sleeps until it has been given something (`true`), or the deadline comes. Blocks the thread.
    #[must_use]
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        let _ = self.word.exchange(WAITING, SLEEPING);
        while !self.is_given() {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            self.word.wait(SLEEPING, deadline);
        }
        true
    }

    /// Gives the thread a job, or the end. The thread's frame may end as soon as the word says so.
    ///
    /// # Safety
    ///
    /// The caller has taken it out of the list.
    unsafe fn give(this: *const Self, job: *const Job) {
        // SAFETY: the thread stays where it is until the word has changed, and the futex's address
        // is only a name after that.
        unsafe {
            (*this).given.set(job);
            let word = &raw const (*this).word;
            if (*word).swap(GIVEN) == SLEEPING {
                Futex::wake_one(word);
            }
        }
    }
}

/// What the lock guards.
#[derive(Debug)]
struct State {
    /// The job that has waited for longest, or null.
    first: *const Job,
    /// The job that came last, if there is one.
    last: *const Job,
    /// The thread that has become idle last, or null.
    idle: *const Idle,
    /// How many threads there are, those that are being started included.
    threads: usize,
    /// Whether a thread is being started.
    starting: bool,
    /// Whether threads are to end instead of being idle.
    closed: bool,
}

// SAFETY: the pointers are used under the lock, or by the threads that it has given them to.
unsafe impl Send for State {}

/// The jobs and threads of one pool.
#[derive(Debug)]
pub struct Jobs {
    state: Mutex<State>,
    /// How many threads there may be.
    most: usize,
}

impl Jobs {
    /// No job and no thread; `most` threads at most.
    pub fn new(most: usize) -> Self {
        Self {
            state: Mutex::new(State {
                first: ptr::null(),
                last: ptr::null(),
                idle: ptr::null(),
                threads: 0,
                starting: false,
                closed: false,
            }),
            most,
        }
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.state.lock().threads
    }

    /// Gives a job to an idle thread, or else queues it; then the caller may have to start a
    /// thread.
    ///
    /// # Safety
    ///
    /// The job stays where it is until it has been concluded. The pointer may be used for all that
    /// the job's function uses it for.
    #[must_use]
    pub unsafe fn bring(&self, job: NonNull<Job>) -> Option<Start> {
        let mut state = self.state.lock();
        let Some(idle) = state.pop_idle() else {
            state.push_job(job.as_ptr());
            return state.grow(self.most);
        };
        drop(state);
        // SAFETY: just taken out.
        unsafe { Idle::give(idle, job.as_ptr()) };
        None
    }

    /// The first step of a thread that has just been started; otherwise as [`next`](Self::next).
    pub fn begin(&self, wait: impl FnOnce(&Idle) -> bool) -> Next {
        self.state.lock().starting = false;
        self.next(wait)
    }

    /// The next step of a thread that has done its job. If there is no other job, `wait` blocks the
    /// thread until it is given one, or (`false`) it has waited for long enough.
    pub fn next(&self, wait: impl FnOnce(&Idle) -> bool) -> Next {
        let idle = Idle::new();
        let mut state = self.state.lock();
        if let Some(work) = self.work(&mut state) {
            return work;
        }
        if state.closed {
            return state.end();
        }
        idle.below.set(state.idle);
        state.idle = &raw const idle;
        drop(state);
        if !wait(&idle) {
            let mut state = self.state.lock();
            // No caller queues a job while a thread is idle.
            if state.remove_idle(&idle) || planted("jobs: a thread ends though it is given a job") {
                return state.end();
            }
            drop(state);
            let _ = idle.sleep(None);
        }
        match NonNull::new(idle.given.get().cast_mut()) {
            Some(job) => Next::Work(Taken(job), None),
            None => self.state.lock().end(),
        }
    }

    /// The first job, if there is one, and whether another thread should be started.
    fn work(&self, state: &mut State) -> Option<Next> {
        let job = state.pop_job()?;
        let more = if state.first.is_null() || planted("jobs: no thread starts another") {
            None
        } else {
            state.grow(self.most)
        };
        Some(Next::Work(job, more))
    }

    /// Says that a thread could not be started. If it was the only one, gives back all waiting
    /// jobs, and says so.
    pub fn cannot_start(&self, start: Start) -> bool {
        let Start(()) = start;
        let mut state = self.state.lock();
        state.starting = false;
        state.threads -= 1;
        if state.threads > 0 {
            return false;
        }
        // A caller that comes from now on has a thread started for its job.
        let mut refused = std::iter::from_fn(|| state.pop_job()).collect::<Vec<_>>();
        drop(state);
        if planted("jobs: only the first job is given back") {
            refused.truncate(1);
        }
        refused
            .into_iter()
            .for_each(|job| job.conclude(JobOutcome::Refused));
        true
    }

    /// Ends all threads as soon as they have nothing to do. No caller brings jobs any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        while let Some(idle) = state.pop_idle() {
            // SAFETY: just taken out.
            unsafe { Idle::give(idle, ptr::null()) };
        }
    }
}

impl State {
    /// Appends a job.
    fn push_job(&mut self, job: *const Job) {
        if self.first.is_null() {
            self.first = job;
        } else {
            // SAFETY: the job is in the list, hence alive.
            unsafe { (*self.last).next.set(job) };
        }
        self.last = job;
    }

    /// Takes the first job out.
    fn pop_job(&mut self) -> Option<Taken> {
        let job = NonNull::new(self.first.cast_mut())?;
        // SAFETY: the job is in the list, hence alive.
        self.first = unsafe { job.as_ref() }.next.get();
        Some(Taken(job))
    }

    /// Takes the thread out that has become idle last.
    fn pop_idle(&mut self) -> Option<*const Idle> {
        let idle = self.idle;
        if idle.is_null() {
            return None;
        }
        // SAFETY: the thread is in the list, hence alive.
        self.idle = unsafe { (*idle).below.get() };
        Some(idle)
    }

    /// Takes one idle thread out, and says whether it was in the list.
    fn remove_idle(&mut self, idle: &Idle) -> bool {
        if ptr::eq(self.idle, idle) {
            self.idle = idle.below.get();
            return true;
        }
        let mut above = self.idle;
        // SAFETY: the threads are in the list, hence alive.
        while let Some(other) = unsafe { above.as_ref() } {
            if ptr::eq(other.below.get(), idle) {
                other.below.set(idle.below.get());
                return true;
            }
            above = other.below.get();
        }
        false
    }

    /// Counts a thread that ends.
    fn end(&mut self) -> Next {
        self.threads -= 1;
        Next::End
    }

    /// Whether another thread is to be started, which is then counted.
    fn grow(&mut self, most: usize) -> Option<Start> {
        if self.starting || self.threads >= most {
            return None;
        }
        self.threads += 1;
        self.starting = true;
        Some(Start(()))
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Puts a thread into the list, as [`Jobs::next`] does.
    fn push_idle(state: &mut State, idle: &Idle) {
        idle.below.set(state.idle);
        state.idle = idle;
    }

    /// Takes all idle threads out, and says which of these they are.
    fn pop_all(state: &mut State, idles: &[Idle; 4]) -> Vec<usize> {
        let popped = std::iter::from_fn(|| state.pop_idle());
        let place = |idle| idles.iter().position(|other| ptr::eq(other, idle));
        popped.map(|idle| place(idle).unwrap()).collect()
    }

    #[test]
    fn a_tired_thread_is_found_wherever_it_is() {
        let (jobs, idles) = (Jobs::new(4), [(); 4].map(|()| Idle::new()));
        let mut state = jobs.state.lock();
        for tired in 0..4 {
            idles.iter().for_each(|idle| push_idle(&mut state, idle));
            assert!(state.remove_idle(&idles[tired]));
            assert!(!state.remove_idle(&idles[tired]), "it is out");
            let others: Vec<usize> = (0..4).rev().filter(|&other| other != tired).collect();
            assert_eq!(pop_all(&mut state, &idles), others);
            assert!(!state.remove_idle(&idles[tired]));
        }
    }

    #[test]
    fn a_thread_sleeps_until_it_is_given_something_or_late() {
        let idle = Idle::new();
        assert!(!idle.is_given() && !idle.sleep(Some(Instant::now())));
        let deadline = Instant::now() + Duration::from_millis(5);
        assert!(!idle.sleep(Some(deadline)));
        assert!(Instant::now() >= deadline);
        // SAFETY: it is in no list.
        unsafe { Idle::give(&idle, ptr::null()) };
        assert!(idle.is_given() && idle.sleep(None));
        assert!(idle.sleep(Some(Instant::now())), "late, but it was given");
    }

    /// Concludes a job without a waiting caller.
    unsafe fn forget(_: NonNull<Job>, _: JobOutcome) {}

    #[test]
    fn threads_are_counted() {
        let (jobs, mine) = (Jobs::new(2), [(); 3].map(|()| Job::new(forget)));
        // SAFETY: the jobs stay where they are.
        let bring = |job: &Job| unsafe { jobs.bring(NonNull::from(job)) };
        assert_eq!(jobs.threads(), 0);
        assert!(bring(&mine[0]).is_some());
        assert_eq!(jobs.threads(), 1);
        assert!(bring(&mine[1]).is_none(), "one thread starts at a time");
        let nobody_waits = |_: &Idle| unreachable!("there is a job");
        let Next::Work(first, Some(more)) = jobs.begin(nobody_waits) else {
            unreachable!("there are two");
        };
        assert_eq!(jobs.threads(), 2);
        assert!(!jobs.cannot_start(more), "there is another thread");
        assert_eq!(jobs.threads(), 1);
        first.carry_out();
        let Next::Work(second, None) = jobs.next(nobody_waits) else {
            unreachable!("there is one, for which no other thread is needed");
        };
        second.carry_out();
        assert!(matches!(jobs.next(|_| false), Next::End));
        assert_eq!(jobs.threads(), 0);
    }
}
