//! Threads that make system calls for fibres: calls that wait for others, in this process or in
//! another one.
//!
//! A [`Worker`] is a kernel thread that one fibre has for itself as long as it keeps it. So
//! whatever belongs to the thread belongs to the fibre: a system lock that knows its owner knows
//! this thread. A free worker waits for the next fibre, and ends after a while.
//!
//! A call lies in the frame of the waiting fibre. Even a fibre that is cancelled meanwhile only
//! interrupts the call, and goes on when it has returned. So a call may borrow, and nothing that it
//! has taken (a permit, a message) is lost.
//!
//! A forked child, or a plain thread, makes its calls itself: [`is_own_thread`].
//!
//! The system may have no thread left. A fibre then looks again and again for a thread that another
//! fibre has given back, and meanwhile does what it can without waiting (`take_or`). It never
//! blocks its processor, as the fibres that could end the wait may run there.

use crate::posix::interrupt::{interrupt, interruptible};
use fibre_core::internal::start_helper;
use fibre_core::sync::thread_mutex::{Condvar, Mutex};
use fibre_core::{blocking, in_fibre, is_forked_child};
use fibre_sync::raw::{Error, Semaphore, Wait};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a free thread stays.
const IDLE: Duration = Duration::from_secs(10);

/// After how long a call is interrupted again that has not returned, at first and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));

/// Free workers; the last one was given back last.
static FREE: Mutex<Vec<Worker>> = Mutex::new(Vec::new());

/// A thread that works for whoever has this.
#[derive(Debug)]
pub struct Worker(Arc<Shared>);

/// What the thread shares with the one that has it.
#[derive(Debug)]
struct Shared {
    /// What it is to do next.
    desk: Mutex<Desk>,
    /// Notified when that changes.
    brought: Condvar,
    /// Its number in the kernel.
    thread: AtomicI32,
    /// The signal that ends the call that it makes; zero if none does.
    signal: AtomicI32,
    /// The handle to wait for its end by.
    handle: Mutex<Option<JoinHandle<()>>>,
}

/// What a thread is to do.
#[derive(Debug, Default)]
struct Desk {
    /// The next call.
    task: Option<Taken>,
    /// Whether it is to end.
    over: bool,
}

/// A call, in the frame of the fibre that waits for it.
struct Task<'a> {
    /// Makes the call.
    body: &'a mut (dyn FnMut(&Stop) + 'a),
    /// Whether it is to end.
    stop: Stop,
    /// "It has returned": the last that the thread touches of it.
    done: Semaphore,
}

/// Whether a call is to end, for one that is made in turns.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Whether it is.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A task on its way to the thread.
#[derive(Debug)]
struct Taken(*mut Task<'static>);

// SAFETY: the fibre waits until the thread is done with it, and touches only its atomics meanwhile;
// what the call uses is shared with the thread as the program's pointers are.
unsafe impl Send for Taken {}

/// Whether the calling thread is the caller's own, so that it may wait there.
pub fn is_own_thread() -> bool {
    !in_fibre() || is_forked_child()
}

/// Makes a call on some thread, or here if there is none to be had: for calls that end soon. Blocks
/// the fibre.
pub fn elsewhere<R>(call: impl FnOnce() -> R) -> R {
    if is_own_thread() {
        return call();
    }
    match Worker::take() {
        Ok(worker) => worker.run_once(call),
        Err(_) => call(),
    }
}

/// Makes a call on some thread that waits for what others do. As long as there is none, `attempt`
/// tries to do without. Blocks the fibre.
pub fn elsewhere_or<R>(call: impl FnOnce() -> R, attempt: impl FnMut() -> Option<R>) -> R {
    if is_own_thread() {
        return call();
    }
    match take_or(attempt, |pause| pause) {
        Some(Taker::Worker(worker)) => worker.run_once(call),
        Some(Taker::Done(result)) => result,
        None => unreachable!("a wait that is not cancellable is not cancelled"),
    }
}

/// Makes a system call that signals interrupt, again and again until it ends otherwise or the fibre
/// is cancelled: then `None`. Blocks the fibre. The call says `None` if it was interrupted. As long
/// as there is no thread for it, `attempt` tries to do without.
pub fn until_cancelled<R>(
    mut call: impl FnMut() -> Option<R>,
    attempt: impl FnMut() -> Option<R>,
) -> Option<R> {
    if is_own_thread() {
        return Some(until_done(call));
    }
    let worker = match take_or(attempt, Wait::cancellable)? {
        Taker::Worker(worker) => worker,
        Taker::Done(result) => return Some(result),
    };
    let shared = &*worker.0;
    let body = |stop: &Stop| {
        loop {
            if stop.is_asked() {
                return None;
            }
            let publish = |signal| shared.signal.store(signal, Ordering::Release);
            if let Some(result) = interruptible(publish, &mut call) {
                return Some(result);
            }
        }
    };
    let result = worker.run_cancellable(body, || worker.interrupt());
    worker.give_back();
    result
}

/// Makes a call until it is not interrupted.
fn until_done<R>(mut call: impl FnMut() -> Option<R>) -> R {
    loop {
        if let Some(result) = call() {
            return result;
        }
    }
}

/// What came first for a fibre that wanted a worker.
enum Taker<R> {
    /// It has one.
    Worker(Worker),
    /// It needs none any more.
    Done(R),
}

/// A worker, or what `attempt` has come to while there was none; `None` if the fibre is cancelled,
/// and its wait notices that.
fn take_or<R>(
    mut attempt: impl FnMut() -> Option<R>,
    as_wait: impl Fn(Wait) -> Wait,
) -> Option<Taker<R>> {
    let (mut pause, longest) = AGAIN;
    loop {
        if let Ok(worker) = Worker::take() {
            return Some(Taker::Worker(worker));
        }
        if let Some(result) = attempt() {
            return Some(Taker::Done(result));
        }
        // No caller posts it: the wait ends by its limit or by cancellation.
        let nothing = Semaphore::default();
        let waited = nothing.wait(as_wait(Wait::until(Instant::now() + pause)));
        if waited == Err(Error::Cancelled) {
            return None;
        }
        pause = (pause * 2).min(longest);
    }
}

impl Worker {
    /// A worker.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn take() -> io::Result<Self> {
        if let Some(free) = FREE.lock().pop() {
            return Ok(free);
        }
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(Shared {
            desk: Mutex::new(Desk::default()),
            brought: Condvar::new(),
            thread: AtomicI32::new(0),
            signal: AtomicI32::new(0),
            handle: Mutex::new(None),
        });
        let its = Arc::clone(&shared);
        let handle = start_helper(format!("fibre-wait/{number}"), move || its.work())?;
        *shared.handle.lock() = Some(handle);
        Ok(Self(shared))
    }

    /// Leaves it to the next one. Nothing of the system's belongs to its thread.
    pub fn give_back(self) {
        FREE.lock().push(self);
    }

    /// Ends its thread, and waits for that. Blocks the fibre.
    pub fn end(self) {
        self.0.desk.lock().over = true;
        self.0.brought.notify_one();
        let handle = self.0.handle.lock().take();
        blocking(move || handle.map(JoinHandle::join));
    }

    /// Makes a call on the thread. Blocks the fibre until it has returned.
    pub fn run<R>(&self, call: impl FnOnce() -> R) -> R {
        let wait = |task: &Task<'_>| {
            // It is never destroyed, so this ends with the post.
            let _ = task.done.wait(Wait::FOREVER);
        };
        self.perform(|_| call(), wait)
    }

    /// Makes a call on the thread, and leaves that to the next one.
    fn run_once<R>(self, call: impl FnOnce() -> R) -> R {
        let result = self.run(call);
        self.give_back();
        result
    }

    /// Makes a call on the thread, which looks at its [`Stop`] before it waits. If the fibre is
    /// cancelled, `interrupt` is called until the call has returned, once at least. Blocks the
    /// fibre until then.
    pub fn run_cancellable<R>(&self, call: impl FnOnce(&Stop) -> R, interrupt: impl Fn()) -> R {
        let wait = |task: &Task<'_>| {
            if task.done.wait(Wait::FOREVER.cancellable()) != Err(Error::Cancelled) {
                return;
            }
            task.stop.0.store(true, Ordering::Release);
            let (mut pause, longest) = AGAIN;
            loop {
                interrupt();
                if task.done.wait(Wait::until(Instant::now() + pause)).is_ok() {
                    return;
                }
                pause = (pause * 2).min(longest);
            }
        };
        self.perform(call, wait)
    }

    /// The common part. `wait` returns when the call has.
    fn perform<R>(&self, call: impl FnOnce(&Stop) -> R, wait: impl FnOnce(&Task<'_>)) -> R {
        let mut call = Some(call);
        let mut result = None;
        let mut body = |stop: &Stop| result = call.take().map(|call| call(stop));
        let mut task = Task {
            body: &mut body,
            stop: Stop::default(),
            done: Semaphore::default(),
        };
        let place = &raw mut task;
        self.0.desk.lock().task = Some(Taken(place.cast()));
        self.0.brought.notify_one();
        // SAFETY: the thread changes what is behind `body` only, which nobody else touches before
        // it is done.
        wait(unsafe { &*place });
        match result {
            Some(result) => result,
            None => unreachable!("a call that has returned has a result"),
        }
    }

    /// Ends the system call that the thread is in, if it can be interrupted.
    pub fn interrupt(&self) {
        let signal = self.0.signal.load(Ordering::Acquire);
        if signal != 0 {
            interrupt(self.0.thread.load(Ordering::Acquire), signal);
        }
    }
}

impl Shared {
    /// What the thread does.
    fn work(self: Arc<Self>) {
        // SAFETY: the call only returns a number.
        let thread = unsafe { libc::gettid() };
        self.thread.store(thread, Ordering::Release);
        let mut desk = self.desk.lock();
        loop {
            if let Some(task) = desk.task.take() {
                drop(desk);
                task.carry_out();
                desk = self.desk.lock();
            } else if desk.over {
                return;
            } else if self.brought.wait_for(&mut desk, IDLE).timed_out()
                && desk.task.is_none()
                && !desk.over
            {
                drop(desk);
                if self.retire() {
                    return;
                }
                desk = self.desk.lock();
            }
        }
    }

    /// Takes the thread's worker away from the free ones, and says whether it was one.
    fn retire(self: &Arc<Self>) -> bool {
        let mut free = FREE.lock();
        let place = free.iter().position(|worker| Arc::ptr_eq(&worker.0, self));
        let worker = place.map(|place| free.remove(place));
        drop(free);
        worker.is_some()
    }
}

impl Taken {
    /// Makes the call, and says so.
    fn carry_out(self) {
        let task = self.0;
        // SAFETY: the fibre waits for the post, which is the last touch.
        unsafe {
            ((*task).body)(&(*task).stop);
            let _ = (*task).done.post();
        }
    }
}
