//! The kernel threads of processors.

use crate::domain::Domain;
use crate::processor::{Processor, in_fibre};
use crate::report;
use crate::stack::AlternateStack;
use crate::topology::CpuSet;
use parking_lot::{Condvar, Mutex};
use rustix::thread::gettid;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// Starts one processor's thread, which waits at the gate.
pub fn start(
    domain: &Arc<Domain>,
    index: usize,
    epoch: Instant,
    name: &str,
    gate: &Arc<Gate>,
) -> io::Result<thread::JoinHandle<()>> {
    let domain = Arc::clone(domain);
    let gate = Arc::clone(gate);
    let quiet = SignalsBlocked::new();
    let thread = thread::Builder::new()
        .name(format!("{name}/{index}"))
        .spawn(move || {
            domain
                .tally(index)
                .set_thread(gettid().as_raw_nonzero().get());
            if gate.pass() {
                run(&domain, index, epoch);
                domain.orders.leave(index);
            }
        });
    drop(quiet);
    thread
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
            "a processor has panicked; this is a bug in fibre or in a `Halt`"
        ));
    }
}

/// Keeps the caller's thread to the CPUs of threads that it starts meanwhile, which
/// inherit this: so even what the C library writes for them lies in the right node.
pub struct Confined {
    /// What to set back.
    before: Option<CpuSet>,
}

impl Confined {
    /// Goes to these CPUs. Without any, threads started by a processor, which may be
    /// pinned, go where the program may.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn new(cpus: Option<&CpuSet>) -> io::Result<Self> {
        let (before, program);
        let cpus = match cpus {
            Some(cpus) => cpus,
            None if in_fibre() => {
                program = CpuSet::of_program()?;
                &program
            }
            None => return Ok(Self { before: None }),
        };
        before = CpuSet::of_thread()?;
        let pinned = cpus.confine_thread();
        pinned.map_err(|error| {
            let words = format!("processors cannot run on the CPUs {cpus}: {error}");
            io::Error::new(error.kind(), words)
        })?;
        Ok(Self {
            before: Some(before),
        })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // It was possible before; if it no longer is, the kernel has moved us itself.
            let _ = before.confine_thread();
        }
    }
}

/// Keeps asynchronous signals away from threads started meanwhile: a handler must
/// not run on a fibre's stack.
struct SignalsBlocked {
    before: libc::sigset_t,
}

impl SignalsBlocked {
    /// Blocks them on this thread.
    fn new() -> Self {
        // SAFETY: plain sets of bits, valid for the calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            for synchronous in [
                libc::SIGSEGV,
                libc::SIGBUS,
                libc::SIGFPE,
                libc::SIGILL,
                libc::SIGTRAP,
                libc::SIGSYS,
                libc::SIGABRT,
                libc::SIGPROF,
            ] {
                libc::sigdelset(&raw mut set, synchronous);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, &raw mut before);
            Self { before }
        }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: the mask that was there.
        unsafe {
            libc::pthread_sigmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            )
        };
    }
}
