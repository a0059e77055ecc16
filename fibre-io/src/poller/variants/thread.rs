//! The pollers `thread-loop`, `thread-sleep`, `thread-opportunistic` and `thread-timeout`: one
//! epoll instance per cluster, and a thread that waits in it (thesis, section 3.4.3).
//!
//! They differ in when the thread polls: always; always, with a millisecond of sleep
//! in between; only while a processor has nothing to do; or then and after a millisecond at the
//! latest. Processors sleep on their futexes.
//!
//! Where the thread waits for idle processors, a processor that goes to sleep calls it ([`Calls`]).
//! Busy processors call it, too, after [`TIMEOUT`] services without a poll, since fibres that
//! yield in a loop must not keep events from the others for ever.

use crate::poll_words::poll_request::Calls;
use crate::poller::instance::Instance;
use fibre_core::internal::{Driver, Drivers, IdleWaker, PollCounts, start_helper};
use fibre_core::sync::thread_mutex::Mutex;
use std::any::Any;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// How long `thread-sleep` sleeps, and how long `thread-timeout` waits for a processor.
const PAUSE: Duration = Duration::from_millis(1);

/// Services of busy processors without a poll until one of them calls: about ten milliseconds of
/// one processor's.
const TIMEOUT: u32 = 50;

/// When the thread polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// In an endless loop.
    Loop,
    /// In an endless loop, with a sleep after each poll.
    Sleep,
    /// While a processor is idle.
    Opportunistic,
    /// While a processor is idle, or after `PAUSE` at the latest.
    Timeout,
}

impl Policy {
    /// Whether the thread waits for idle processors.
    fn waits(self) -> bool {
        matches!(self, Self::Opportunistic | Self::Timeout)
    }
}

/// The instance of a cluster, and the thread that waits in it.
#[derive(Debug)]
struct ThreadPoller {
    instance: Instance,
    policy: Policy,
    /// The calls of processors.
    calls: Calls,
    /// Tells whether a processor is idle.
    idle_waker: IdleWaker,
    /// Services since the last poll.
    services: AtomicU32,
    /// Whether the poller has ended.
    over: AtomicBool,
    /// The thread, until it has been joined.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Starts the thread of a cluster that polls in a loop.
///
/// # Errors
///
/// When the thread cannot be started, or the process is out of descriptors.
pub(crate) fn looping(drivers: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
    start(drivers, Policy::Loop)
}

/// Starts a thread that sleeps after each poll.
///
/// # Errors
///
/// As [`looping`].
pub(crate) fn sleeping(drivers: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
    start(drivers, Policy::Sleep)
}

/// Starts a thread that polls while a processor is idle.
///
/// # Errors
///
/// As [`looping`].
pub(crate) fn opportunistic(drivers: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
    start(drivers, Policy::Opportunistic)
}

/// Starts a thread that polls while a processor is idle, or after [`PAUSE`].
///
/// # Errors
///
/// As [`looping`].
pub(crate) fn impatient(drivers: &Drivers<'_>) -> io::Result<Arc<dyn Driver>> {
    start(drivers, Policy::Timeout)
}

/// Starts the thread of a cluster.
fn start(drivers: &Drivers<'_>, policy: Policy) -> io::Result<Arc<dyn Driver>> {
    drivers.common(|| {
        let poller = Arc::new(ThreadPoller {
            instance: Instance::of(drivers)?,
            policy,
            calls: Calls::new(),
            idle_waker: drivers.idle_waker(),
            services: AtomicU32::new(0),
            over: AtomicBool::new(false),
            thread: Mutex::default(),
        });
        let runs = Arc::clone(&poller);
        let name = format!("{}/poll", drivers.name());
        let thread = start_helper(name, move || runs.run())?;
        *poller.thread.lock() = Some(thread);
        Ok(poller)
    })
}

impl ThreadPoller {
    /// The thread's loop.
    fn run(&self) {
        loop {
            if self.policy.waits() {
                self.wait_for_idle();
            }
            if self.over.load(Ordering::Acquire) {
                return;
            }
            self.services.store(0, Ordering::Relaxed);
            self.instance.wait(None);
            if self.policy == Policy::Sleep {
                sleep(PAUSE);
            }
        }
    }

    /// Waits until a processor is idle, or a busy one calls.
    fn wait_for_idle(&self) {
        self.calls.forget();
        if self.idle_waker.is_any_idle() || self.over.load(Ordering::Acquire) {
            return;
        }
        let timeout = self.policy == Policy::Timeout;
        self.calls.wait(timeout.then(|| Instant::now() + PAUSE));
    }
}

impl Driver for ThreadPoller {
    fn of_layer_above(&self) -> &dyn Any {
        &self.instance
    }

    fn poll(&self) {
        if self.policy.waits() {
            let services = self.services.fetch_add(1, Ordering::Relaxed);
            // At every multiple, as one call may come just before the thread forgets calls.
            if services % TIMEOUT == TIMEOUT - 1 {
                self.calls.call();
            }
        }
    }

    fn needs_watch(&self) -> bool {
        false
    }

    fn enter(&self) -> bool {
        if self.policy.waits() {
            self.calls.call();
        }
        false
    }

    fn sleep(&self, _deadline: Option<Instant>) {}

    fn interrupt(&self) {}

    fn traffic(&self) -> PollCounts {
        self.instance.traffic()
    }

    fn retire(&self) {
        self.over.store(true, Ordering::Release);
        self.instance.interrupt();
        self.calls.call();
        if let Some(thread) = self.thread.lock().take() {
            // A panic there has ended the process.
            let _ = thread.join();
        }
        self.instance.abandon();
    }
}
