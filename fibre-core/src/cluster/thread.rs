//! The kernel threads of processors.

use crate::fibre::{ControlBlock, ThreadMemory};
use crate::park::{Wait, Waiter};
use crate::processor::os_thread;
use crate::processor::{ExitState, Processor};
use crate::scheduler::domain::Domain;
use crate::stack::AlternateStack;
use crate::sync::thread_mutex::{Condvar, Mutex};
use crate::sys::numbers::kernel_thread;
use crate::sys::stderr;
use crate::topology::CpuSet;
use crate::wait::completion::Completion;
use crate::wait::wait_object::WaitObject;
use std::alloc::{Layout, alloc};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// Starts one processor's thread, on these CPUs. The thread waits at the gate, and keeps a value
/// until its processor ends.
pub(super) fn start(
    domain: &Arc<Domain>,
    index: usize,
    epoch: Instant,
    cpus: Option<&CpuSet>,
    gate: &Arc<Gate>,
    kept: impl Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    let name = &domain.settings.name;
    let domain = Arc::clone(domain);
    let gate = Arc::clone(gate);
    os_thread::start(format!("{name}/{index}"), cpus, move || {
        os_thread::be_nice(domain.settings.nice);
        let thread = kernel_thread();
        domain.stats(index).set_thread(thread);
        domain.record.set_thread(index, thread);
        let Some(seat) = gate.pass(Seat::new(&domain, index, epoch)) else {
            return;
        };
        let stays = seat.run() == ExitState::Started;
        if stays {
            domain.stats(index).set_stays();
        }
        domain.control.leave(index);
        if stays {
            stay();
        }
        drop(kept);
    })
}

/// Blocks the thread until the process ends: see [`ExitState::Started`].
fn stay() -> ! {
    loop {
        thread::park();
    }
}

/// A processor that has not begun, on its thread. It has all that it takes to begin, so what the
/// program does with its memory from now on does no harm.
struct Seat {
    processor: Box<Processor>,
    /// The stack that the thread uses to report the overflow of a fibre's stack.
    alternate_stack: AlternateStack,
}

impl Seat {
    /// Takes the memory of a processor, on its thread.
    ///
    /// # Errors
    ///
    /// When there is none.
    fn new(domain: &Arc<Domain>, index: usize, epoch: Instant) -> io::Result<Self> {
        let alternate_stack = AlternateStack::install(domain.settings.own_thread_locals)?;
        // `Box::new` would abort without memory.
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc(Layout::new::<Processor>()) });
        let memory = memory.ok_or(io::ErrorKind::OutOfMemory)?.cast();
        // SAFETY: each index has one thread, which is this one.
        let processor = unsafe { Processor::new(Arc::clone(domain), index, epoch) };
        // SAFETY: fresh memory of a box's layout, which is written before the box exists.
        let processor = unsafe {
            memory.write(processor);
            Box::from_raw(memory.as_ptr())
        };
        Ok(Self {
            processor,
            alternate_stack,
        })
    }

    /// Runs the processor; returns what it has left behind. Blocks the thread.
    fn run(self) -> ExitState {
        // Timers are to be as exact as the clock, and not to have the default slack of 50 µs.
        // SAFETY: plain numbers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
        let alive = AbortOnUnwind;
        let exit_state = self.processor.run(ThreadMemory {
            frame: (&raw const alive).addr(),
            signals: self.alternate_stack.addresses(),
        });
        self.processor.domain().left_behind.activities.tell_late();
        if exit_state != ExitState::Nothing {
            Box::leak(self.processor);
        }
        std::mem::forget(alive);
        drop(self.alternate_stack);
        exit_state
    }
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
    os_thread::start(name, None, move || {
        let alive = AbortOnUnwind;
        f();
        std::mem::forget(alive);
    })
}

/// Calls `f` on a thread of its own and waits for it; reports show that the caller waits for
/// `awaited`. Blocks the fibre, but not its processor. `None`: no thread can be started.
pub fn aside<R: Send + 'static>(
    name: &str,
    awaited: WaitObject,
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
    let publish = |waiter: &Waiter, _| shared.1.publish(waiter);
    // SAFETY: a completion takes its waiter out before it claims it.
    let _ = unsafe { Wait::closed(awaited).park(publish, |_| {}) };
    let mut result = shared.0.lock();
    result.take()
}

/// A gate that threads wait at until all of those that are to begin together have been started.
///
/// Their starter waits here, too: a thread that has come has what std and the C library take for
/// it, and these end the process if they get nothing. It brings what the runtime takes for it, or
/// the error if it got nothing. So a program may use up its memory as soon as it has its cluster.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

/// The state of a gate.
#[derive(Debug, Default)]
struct GateState {
    /// How many threads have come.
    come: usize,
    /// The last error that one of them has brought.
    error: Option<io::Error>,
    /// Whether the threads are to begin, once that is decided.
    decision: Option<bool>,
}

impl Gate {
    /// A shut gate.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Waits until so many threads have come. Blocks the thread.
    ///
    /// # Errors
    ///
    /// The last one that a thread has brought.
    pub(super) fn wait_for(&self, threads: usize) -> io::Result<()> {
        let mut state = self.state.lock();
        while state.come < threads {
            self.changed.wait(&mut state);
        }
        state.error.take().map_or(Ok(()), Err)
    }

    /// Lets all threads begin, or else end.
    pub(super) fn decide(&self, begin: bool) {
        self.state.lock().decision = Some(begin);
        self.changed.notify_all();
    }

    /// Comes to the gate, with what the thread takes to begin, and waits for the decision. Returns
    /// what it brought if it is to begin. Blocks the thread.
    pub(super) fn pass<T>(&self, brought: io::Result<T>) -> Option<T> {
        let mut state = self.state.lock();
        state.come += 1;
        self.changed.notify_all();
        let brought = match brought {
            Ok(brought) => Some(brought),
            Err(error) => {
                state.error = Some(error);
                None
            }
        };
        loop {
            match state.decision {
                Some(begin) => return brought.filter(|_| begin),
                None => self.changed.wait(&mut state),
            }
        }
    }
}

/// Aborts if a processor unwinds: half a runtime would only hang.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        stderr::abort_with(format_args!(
            "a processor or a poller has panicked; this is a bug in fibre or in a `Driver`"
        ));
    }
}
