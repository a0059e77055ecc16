//! The kernel threads of processors.

use crate::awaited::Awaited;
use crate::completion::Completion;
use crate::domain::Domain;
use crate::fibre::ControlBlock;
use crate::own_thread;
use crate::park::park;
use crate::processor::Processor;
use crate::report;
use crate::stack::AlternateStack;
use crate::topology::CpuSet;
use parking_lot::{Condvar, Mutex};
use rustix::thread::gettid;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// Starts one processor's thread, on these CPUs, which waits at the gate.
pub fn start(
    domain: &Arc<Domain>,
    index: usize,
    epoch: Instant,
    cpus: Option<&CpuSet>,
    gate: &Arc<Gate>,
) -> io::Result<thread::JoinHandle<()>> {
    let name = &domain.settings.name;
    let domain = Arc::clone(domain);
    let gate = Arc::clone(gate);
    own_thread::start(format!("{name}/{index}"), cpus, move || {
        domain
            .tally(index)
            .set_thread(gettid().as_raw_nonzero().get());
        if gate.pass() {
            run(&domain, index, epoch);
            domain.orders.leave(index);
        }
    })
}

/// What a processor's thread does.
fn run(domain: &Arc<Domain>, index: usize, epoch: Instant) {
    // Without it an overflow is still caught by the guard, only not reported.
    let alternate_stack = AlternateStack::install();
    // Timers are to be as exact as the clock, not as the default slack of 50 µs.
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let processor = Box::new(Processor::new(Arc::clone(domain), index, epoch));
    let alive = AbortOnUnwind;
    if !processor.run() {
        Box::leak(processor);
    }
    std::mem::forget(alive);
    drop(alternate_stack);
}

/// Starts a thread of the runtime that is no processor: without signals, on the CPUs of the
/// program, and if it panics, the process aborts. For layers above.
///
/// # Errors
///
/// When the thread cannot be started.
pub fn start_helper(
    name: String,
    f: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    own_thread::start(name, None, move || {
        let alive = AbortOnUnwind;
        f();
        std::mem::forget(alive);
    })
}

/// Calls `f` on a thread of its own and waits for it, for `awaited` as others see it. Blocks the
/// fibre, but not its processor. `None`: no thread can be started.
pub fn aside<R: Send + 'static>(
    name: &str,
    awaited: Awaited,
    f: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    let shared = Arc::new((Mutex::new(None), Completion::new()));
    let finisher = Arc::clone(&shared);
    let body = move || {
        let result = f();
        *finisher.0.lock() = Some(result);
        let _ = finisher.1.finish::<ControlBlock>();
    };
    start_helper(name.to_owned(), body).ok()?;
    // SAFETY: a completion takes its waiter out before it claims it.
    let _ = unsafe { park(awaited, |waiter| shared.1.publish(waiter)) };
    let mut result = shared.0.lock();
    result.take()
}

/// Where threads wait until all of those have been started that are to begin together.
#[derive(Debug)]
pub struct Gate {
    /// Whether they are to begin, once that is known.
    decision: Mutex<Option<bool>>,
    decided: Condvar,
}

impl Gate {
    /// Shut.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            decision: Mutex::new(None),
            decided: Condvar::new(),
        })
    }

    /// Lets all threads begin, or else end.
    pub fn decide(&self, begin: bool) {
        *self.decision.lock() = Some(begin);
        self.decided.notify_all();
    }

    /// Waits for the decision. Blocks the thread.
    fn pass(&self) -> bool {
        let mut decision = self.decision.lock();
        loop {
            match *decision {
                Some(begin) => return begin,
                None => self.decided.wait(&mut decision),
            }
        }
    }
}

/// Aborts if a processor unwinds: half a runtime would only hang.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        report::die(format_args!(
            "a processor or a poller has panicked; this is a bug in fibre or in a `Halt`"
        ));
    }
}
