//! Jobs that wait for a thread, and threads that wait for a job.
//!
//! One lock guards a queue of jobs, first come, first served, and a stack of idle threads, of which the
//! one that has worked last works next, so that the others may end. At most one of the two is not empty:
//! a job goes from hand to hand if a thread is idle, and a thread looks at the queue before it idles.
//!
//! The number of threads follows demand:
//!
//! * **It grows** by one when a job has to wait, by a thread that the caller is told to start. Only one
//!   thread starts at a time; it takes the first job, and if others still wait, starts the next thread before it
//!   begins. So many short jobs at once are done by few threads, and many long ones have as many as
//!   there may be, within a moment that those who bring jobs do not have to spend.
//! * **It shrinks** when a thread has been idle for as long as it may.
//!
//! A thread that cannot be started is done without, if there is another one. If there is none, all jobs
//! that wait are given back to those who brought them, and none is left without somebody who sees to it.
//!
//! Jobs and idle threads lie in the frames of those who wait for them; the lists link them. A job is
//! reached by whoever took it out; an idle thread only under the lock, and its waiter is claimed there.
//!
//! # Memory ordering
//!
//! Everything is guarded by the lock, or handed over by the claim of the idle thread's waiter.

use crate::awaited::{Awaited, WaitKind};
use crate::sync::{Cell, Mutex, planted};
use crate::waiter::{Limit, Outcome};
use std::ptr::{self, NonNull};

#[cfg(not(loom))]
use crate::park::{Waiter, park_until};
#[cfg(loom)]
use crate::park_model::{Waiter, park_until};

/// What becomes of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is carried out, here and now.
    Taken,
    /// It is not: there is no thread.
    Refused,
}

/// Something to be done once, in the frame of one who waits for it. Comes first in
/// something larger, which [`Job::new`]'s function knows.
#[derive(Debug)]
pub struct Job {
    /// What to do with it.
    conclude: unsafe fn(NonNull<Self>, Verdict),
    /// The job behind it, if any.
    next: Cell<*const Self>,
}

impl Job {
    /// A job that `conclude` carries out, or gives back, as its last touch of it.
    pub fn new(conclude: unsafe fn(NonNull<Self>, Verdict)) -> Self {
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
    /// Carries it out.
    pub fn carry_out(self) {
        self.conclude(Verdict::Taken);
    }

    /// The common part.
    fn conclude(self, verdict: Verdict) {
        // SAFETY: whoever brought it waits until it has been concluded, which happens only here,
        // once, since it has been taken out.
        unsafe { (self.0.as_ref().conclude)(self.0, verdict) };
    }
}

/// The duty to start a thread, which has been counted, and tells by [`Jobs::begin`] that it
/// runs; or else to say so by [`Jobs::cannot_start`].
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
struct Idle {
    /// Its wait.
    waiter: Cell<*const Waiter>,
    /// What it has been given: a job, or null for the end.
    given: Cell<*const Job>,
    /// The thread that has been idle for longer.
    below: Cell<*const Self>,
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

// SAFETY: the pointers are used under the lock, or by those whom it has given them to.
unsafe impl Send for State {}

/// See the module text.
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

    /// Gives a job to an idle thread, or else queues it; then the caller may have to start a thread.
    ///
    /// # Safety
    ///
    /// The job stays where it is until it has been concluded.
    #[must_use]
    pub unsafe fn bring(&self, job: &Job) -> Option<Start> {
        let mut state = self.state.lock();
        while let Some(idle) = state.pop_idle() {
            // SAFETY: it has been in the list, and leaves its frame only after it has had the lock.
            let idle = unsafe { &*idle };
            idle.given.set(job);
            // SAFETY: the waiter is in that frame, too.
            let resume = unsafe { (*idle.waiter.get()).claim(0) };
            if let Some(resume) = resume {
                drop(state);
                resume.resume();
                return None;
            }
        }
        state.push_job(job);
        state.grow(self.most)
    }

    /// What a thread does that has just been started; as [`next`](Self::next).
    pub fn begin(&self, limit: Limit) -> Next {
        self.state.lock().starting = false;
        self.next(limit)
    }

    /// What a thread does that has done its job: it waits for another one, until `limit`. Blocks the
    /// thread.
    pub fn next(&self, limit: Limit) -> Next {
        let idle = Idle {
            waiter: Cell::new(ptr::null()),
            given: Cell::new(ptr::null()),
            below: Cell::new(ptr::null()),
        };
        let mut found = None;
        // SAFETY: the waiter is claimed under the lock, by one who takes it out of the list before; else
        // it is taken out when the limit comes.
        let outcome = unsafe {
            park_until(
                Awaited::placeless(WaitKind::Other),
                limit,
                |waiter| {
                    let mut state = self.state.lock();
                    found = self.work(&mut state);
                    if found.is_some() || state.closed {
                        return false;
                    }
                    idle.waiter.set(waiter);
                    idle.below.set(state.idle);
                    state.idle = &raw const idle;
                    true
                },
                |_| self.state.lock().remove_idle(&idle),
            )
        };
        match (found, outcome) {
            (Some(work), _) => work,
            (None, Outcome::Woken(_)) => match NonNull::new(idle.given.get().cast_mut()) {
                Some(job) => Next::Work(Taken(job), None),
                None => self.end(),
            },
            (None, _) => self.end(),
        }
    }

    /// Ends a thread, unless there is work after all.
    fn end(&self) -> Next {
        let mut state = self.state.lock();
        if !planted("jobs: a thread ends without a last look")
            && let Some(work) = self.work(&mut state)
        {
            return work;
        }
        state.threads -= 1;
        Next::End
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

    /// Says that a thread could not be started. If it was the only one, gives all jobs back that
    /// wait, and says so.
    pub fn cannot_start(&self, start: Start) -> bool {
        let Start(()) = start;
        let mut state = self.state.lock();
        state.starting = false;
        state.threads -= 1;
        if state.threads > 0 {
            return false;
        }
        // Whoever comes from now on has a thread started for its job.
        let mut refused = std::iter::from_fn(|| state.pop_job()).collect::<Vec<_>>();
        drop(state);
        if planted("jobs: only the first job is given back") {
            refused.truncate(1);
        }
        refused
            .into_iter()
            .for_each(|job| job.conclude(Verdict::Refused));
        true
    }

    /// Ends all threads as soon as they have nothing to do. Nobody brings jobs any more.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let mut woken = Vec::with_capacity(state.threads);
        while let Some(idle) = state.pop_idle() {
            // SAFETY: as in `bring`.
            woken.extend(unsafe { (*(*idle).waiter.get()).claim(0) });
        }
        drop(state);
        woken.into_iter().for_each(|resume| resume.resume());
    }
}

impl State {
    /// Appends a job.
    fn push_job(&mut self, job: *const Job) {
        if self.first.is_null() {
            self.first = job;
        } else {
            // SAFETY: it is in the list, so it is there.
            unsafe { (*self.last).next.set(job) };
        }
        self.last = job;
    }

    /// Takes the first job out.
    fn pop_job(&mut self) -> Option<Taken> {
        let job = NonNull::new(self.first.cast_mut())?;
        // SAFETY: it is in the list, so it is there.
        self.first = unsafe { job.as_ref() }.next.get();
        Some(Taken(job))
    }

    /// Takes the thread out that has become idle last.
    fn pop_idle(&mut self) -> Option<*const Idle> {
        let idle = self.idle;
        if idle.is_null() {
            return None;
        }
        // SAFETY: it is in the list, so it is there.
        self.idle = unsafe { (*idle).below.get() };
        Some(idle)
    }

    /// Takes one idle thread out, if it is in the list.
    fn remove_idle(&mut self, idle: &Idle) {
        if ptr::eq(self.idle, idle) {
            self.idle = idle.below.get();
            return;
        }
        let mut above = self.idle;
        // SAFETY: threads that are in the list, so they are there.
        while let Some(other) = unsafe { above.as_ref() } {
            if ptr::eq(other.below.get(), idle) {
                return other.below.set(idle.below.get());
            }
            above = other.below.get();
        }
    }

    /// Whether another thread is to be started, which is counted then.
    fn grow(&mut self, most: usize) -> Option<Start> {
        if self.starting || self.threads >= most {
            return None;
        }
        self.threads += 1;
        self.starting = true;
        Some(Start(()))
    }
}
