//! A signal that asks the process for work that a handler could not do.
//!
//! The handler notifies a [`Notifier`]. A thread of the process sleeps on that, wakes up, and does
//! the work. A handler could allocate nothing, and the processors may all hang. If another signal
//! comes meanwhile, the thread does the work once more afterwards.
//!
//! A reader of the output cannot block the program. The thread blocks SIGPIPE as all threads of the
//! runtime do. The handler writes nothing, unless earlier work takes long: then it says how far
//! that is, if somebody reads.

use crate::notifier::Notifier;
use crate::output::{can_write, standard_error};
use fibre_core::internal::{has_addresses, start_helper, warn};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// After so many seconds a second signal tells what is waited for.
const LONG: u64 = 3;

/// A signal with its thread.
pub(crate) struct SignalCall {
    /// The signal's number.
    signal: i32,
    /// What it asks for.
    noun: &'static str,
    /// What the thread does one after the other.
    steps: [&'static str; 2],
    /// The notifier of the thread, once the handler is there.
    notifier: AtomicPtr<Notifier>,
    /// The process that has the thread.
    process: AtomicI32,
    /// The second when the thread began what it does; zero: nothing.
    begun: AtomicU64,
    /// The step that it is at.
    step: AtomicUsize,
}

impl SignalCall {
    /// A signal that nothing listens to yet.
    pub(crate) const fn new(signal: i32, noun: &'static str, steps: [&'static str; 2]) -> Self {
        Self {
            signal,
            noun,
            steps,
            notifier: AtomicPtr::new(ptr::null_mut()),
            process: AtomicI32::new(0),
            begun: AtomicU64::new(0),
            step: AtomicUsize::new(0),
        }
    }

    /// What the signal does now: a handler, or one of the kernel's words. Async-signal-safe.
    pub(crate) fn action(&self) -> libc::sighandler_t {
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: room for an action; all zeros is one.
        unsafe {
            libc::sigaction(self.signal, std::ptr::null(), now.as_mut_ptr());
            now.assume_init().sa_sigaction
        }
    }

    /// Whether the program leaves the signal to its default, or ignores it and that is to count as
    /// no choice of its own: shells have some ignored by what they start in the background.
    pub(crate) fn is_unhandled(&self, ignored_too: bool) -> bool {
        let now = self.action();
        now == libc::SIG_DFL || (now == libc::SIG_IGN && ignored_too)
    }

    /// Starts a thread of this name, which does `body`: it sleeps on `notifier`, and answers by
    /// [`answer`](Self::answer). With a `handler`, which calls [`on_signal`](Self::on_signal), the
    /// signal rings that notifier from now on. Without memory for the thread it stays what it is;
    /// returns whether there is a thread.
    pub(crate) fn begin(
        &'static self,
        thread: &str,
        notifier: &'static Notifier,
        handler: Option<extern "C" fn(i32)>,
        body: impl FnOnce() + Send + 'static,
    ) -> bool {
        // What a thread takes it takes now: the program may use up its memory as soon as it has its
        // cluster, and a thread that then finds none would end the process.
        let (begins, begun) = mpsc::channel();
        let body = move || {
            let _ = begins.send(());
            drop(begins);
            body();
        };
        let started = has_addresses() && start_helper(thread.to_owned(), body).is_ok();
        let begun = started && begun.recv().is_ok();
        if begun && let Some(handler) = handler {
            let process = // SAFETY: asks for a number.
                unsafe { libc::getpid() };
            self.process.store(process, Ordering::Relaxed);
            let notifier = ptr::from_ref(notifier).cast_mut();
            self.notifier.store(notifier, Ordering::Release);
            self.install(handler);
        }
        begun
    }

    /// Does what was asked for, on the thread.
    pub(crate) fn answer(&self, answer: impl FnOnce()) {
        self.step.store(0, Ordering::Relaxed);
        self.begun.store(seconds(), Ordering::Relaxed);
        answer();
        self.begun.store(0, Ordering::Relaxed);
    }

    /// Notes the step that the thread is at.
    pub(crate) fn set_step(&self, step: usize) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// Installs the handler.
    fn install(&self, handler: extern "C" fn(i32)) {
        // SAFETY: all zeros is an action; the handler is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handler as *const () as libc::sighandler_t;
            // Not on an alternate stack: when a thread exits the process, std unmaps the one that
            // the main thread has. Processors block the signal: the stacks of their fibres are
            // small.
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(self.signal, &raw const action, std::ptr::null_mut());
        }
    }

    /// Wakes the thread. Async-signal-safe.
    pub(crate) fn on_signal(&self) {
        // SAFETY: the C library's place of this thread's error number, which is set back.
        let errno = unsafe { *libc::__errno_location() };
        // SAFETY: a number. In a forked child it is another one, and there is no thread.
        if unsafe { libc::getpid() } != self.process.load(Ordering::Relaxed) {
            // SAFETY: allowed in a handler; the signal is delivered when this returns.
            unsafe {
                libc::signal(self.signal, libc::SIG_DFL);
                libc::raise(self.signal);
            }
            return;
        }
        let begun = self.begun.load(Ordering::Relaxed);
        if begun != 0 && seconds().saturating_sub(begun) >= LONG {
            self.say_where();
        }
        // SAFETY: it was stored before the handler was installed, and stays.
        if let Some(notifier) = unsafe { self.notifier.load(Ordering::Acquire).as_ref() } {
            notifier.ring();
        }
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }

    /// Says what the thread is at, if standard error can be written to at once. Async-signal-safe.
    fn say_where(&self) {
        if can_write(standard_error(), Duration::ZERO) {
            let step = self.steps[self.step.load(Ordering::Relaxed) % self.steps.len()];
            let noun = self.noun;
            warn(format_args!(
                "the {noun} before this one is still being made: it {step}"
            ));
        }
    }
}

/// The time of a clock that goes on, in seconds. Never zero.
fn seconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() + 1
}
