//! The runtime in a forked child: it is dead there, and says so.
//!
//! `fork` copies the calling thread only. In the child the processors are gone, their locks stay
//! locked, and the epoll instances are the parent's. So a child of a process with fibres can do one
//! thing: exec (`std::process::Command` and `posix_spawn` do). Anything else that needs the runtime
//! fails with an error or ends the child with a message, instead of hanging or, worse, hurting the
//! parent:
//!
//! * spawning, and starting a cluster, fail;
//! * a wait without a deadline aborts, since no thread is left that could end it;
//! * the fibre that forked is no longer a fibre in the child: its thread is not a processor any
//!   more, so no other fibre can run there, and a return from the root function aborts;
//! * the child changes nothing that epoll shares with the parent, and takes nothing out of it.
//!
//! This does not concern a process that forks before it starts its first cluster, nor its child.
//! `vfork` and `posix_spawn` run none of this, as their child is about to exec.
//!
//! The handler is async-signal-safe: it stores to memory of its own and sets the thread's signal
//! mask back ([`block_in_children`]). Otherwise an executed program would inherit a processor's
//! mask, which blocks SIGTERM. `posix_spawn` and an `exec` without a fork call no such handlers, so
//! they need [`unblock_signals`] or [`with_signals_of_program`]. The former cannot know whether an
//! `exec` fails; the processor blocks signals again when it next looks at the clock.
//!
//! # Memory ordering
//!
//! The child writes the flag when it has one thread. Relaxed: there is no other thread to order it
//! with.

use crate::sys::current;
use crate::sys::plain_thread::PlainThread;
use crate::sys::signal_mask::{self, SignalMask};
use crate::sys::stderr;
use crate::sys::unusual;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The message.
const WORDS: &str =
    "this process was forked from one with running fibres; only exec is possible here";

/// Whether this process is such a child.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The signals that were blocked where the first cluster was started.
static BLOCKED: OnceLock<Blocked> = OnceLock::new();

/// The function that says what fibres block in their children, see [`block_in_children`].
static OWN: OnceLock<fn() -> Option<u64>> = OnceLock::new();

/// A set of signals, in two forms.
struct Blocked {
    /// The set in the C library's form.
    set: libc::sigset_t,
    /// A bit for each, from signal 1 on.
    bits: u64,
}

impl Blocked {
    /// Both forms of this set.
    fn new(set: libc::sigset_t) -> Self {
        // SAFETY: a set, and numbers of signals.
        let is_in = |signal: &i32| unsafe { libc::sigismember(&raw const set, *signal) } == 1;
        let bits = (1..=64).filter(is_in);
        let bits = bits.fold(0, |bits, signal| bits | 1 << (signal - 1));
        Self { set, bits }
    }
}

/// Has forked children learn that they are, from the first call on.
///
/// # Errors
///
/// The kernel's, when there is no memory; and in a forked child.
pub(crate) fn install() -> io::Result<()> {
    /// The result of `pthread_atfork`.
    static INSTALLED: OnceLock<i32> = OnceLock::new();
    refuse_if_forked()?;
    let result = INSTALLED.get_or_init(|| {
        let _ = BLOCKED.set(Blocked::new(signal_mask::blocked()));
        // SAFETY: the handler is async-signal-safe, see the module text.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) }
    });
    match result {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(*error)),
    }
}

/// Called in the child before `fork` returns there.
unsafe extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    unusual::note();
    if !current::is_own() {
        return;
    }
    // While the caller still is the fibre that has forked.
    let own = OWN.get().and_then(|own| own());
    current::set(ptr::null(), ptr::null());
    if let Some(blocked) = own.map(set_of).or(BLOCKED.get().map(|blocked| blocked.set)) {
        signal_mask::block(&blocked);
    }
}

/// The set of these signals.
fn set_of(bits: u64) -> libc::sigset_t {
    // SAFETY: all zeros is a set, which begins with these bits.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        (&raw mut set).cast::<u64>().write(bits);
        set
    }
}

/// Sets a function that says, in the child of a fibre that forks, which signals to block there, a
/// bit for each, from signal 1 on; `None`: those that were blocked where the first cluster was
/// started. For layers above with fibres that have masks of their own. The first such function
/// stays. It is called as that fibre, in a process of one thread, and must be async-signal-safe.
///
/// ```
/// const SIGTERM: u32 = 15;
/// fibre_core::internal::block_in_children(|| Some(1 << (SIGTERM - 1)));
/// ```
pub fn block_in_children(own: fn() -> Option<u64>) {
    let _ = OWN.set(own);
}

/// Whether this process was forked from one that had started clusters.
///
/// The runtime is dead in such a child: spawning fails, waiting without a deadline aborts,
/// and all that can be done is to exec another program.
///
/// ```
/// fibre::spawn(|| ()).join().unwrap();
/// assert!(!fibre::is_forked_child());
/// ```
#[inline]
#[must_use]
pub fn is_forked_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Lets the program that `command` will start get signals as this program does.
///
/// Processors block all asynchronous signals, and a program inherits what its starting thread
/// blocks; std does not undo that. Other threads do not need this call, and it is harmless there.
/// The command is then started by `fork`, which is slower than `posix_spawn` in large processes.
///
/// `exec` of such a command replaces this program by one that gets signals as this one does. If
/// that fails, handlers of signals may run on the processor's thread, on a fibre's stack, for some
/// 200 µs after the fibre lets others run.
///
/// ```
/// let status = fibre::spawn(|| {
///     let mut command = std::process::Command::new("true");
///     fibre::unblock_signals(&mut command).status()
/// });
/// assert!(status.join().unwrap().unwrap().success());
/// ```
pub fn unblock_signals(command: &mut Command) -> &mut Command {
    // SAFETY: the closure is async-signal-safe. Its presence makes std call `fork`, which calls the
    // handler above.
    unsafe {
        command.pre_exec(|| {
            hear_until_exec();
            Ok(())
        })
    }
}

/// Makes the calling thread block what the program that a fibre is about to exec shall block. Only
/// where no fork has done that already.
fn hear_until_exec() {
    if is_forked_child() || !blocks_signals() {
        return;
    }
    let own = OWN.get().and_then(|own| own());
    if let Some(blocked) = own.map(set_of).or(BLOCKED.get().map(|blocked| blocked.set)) {
        current::set_hears(true);
        signal_mask::block(&blocked);
    }
}

/// Makes the calling processor's thread block signals again, after an exec that has failed.
#[inline]
pub(crate) fn hear_no_more() {
    if current::set_hears(false) {
        std::mem::forget(SignalMask::asynchronous());
    }
}

/// Calls `f`, which starts a program by a call that no handler notices (`posix_spawn`, `exec`).
/// Meanwhile the caller's thread blocks the signals that were blocked where the first cluster was
/// started: the program inherits these. On a thread that is not the runtime's, just calls `f`.
///
/// `f` must not block its fibre. Handlers of signals may run on the caller's thread meanwhile, so
/// threads for [`blocking`](crate::blocking()) calls suit it.
///
/// ```
/// let status = fibre::spawn(|| {
///     let mut command = std::process::Command::new("true");
///     fibre::blocking(|| fibre_core::internal::with_signals_of_program(|| command.status()))
/// });
/// assert!(status.join().unwrap().unwrap().success());
/// ```
pub fn with_signals_of_program<R>(f: impl FnOnce() -> R) -> R {
    let blocked = BLOCKED.get().filter(|_| blocks_signals());
    let _until_then = blocked.map(|blocked| SignalMask::set(&blocked.set));
    f()
}

/// Makes the calling thread block, for good, the signals that were blocked where the first cluster
/// was started. For threads that a fibre has started by `std::thread`: they inherit what the
/// processor blocks, and are deaf to SIGTERM otherwise. [`spawn_thread`] does so by itself, and
/// threads that a [`blocking`](crate::blocking()) closure starts do not need it. Not to be called
/// by a fibre, as handlers would then run on its processor: there it does nothing.
///
/// ```
/// fibre::spawn(|| {
///     std::thread::scope(|scope| {
///         scope.spawn(|| {
///             fibre::take_signals_of_program();
///             // what the thread is for
///         });
///     });
/// })
/// .join()
/// .unwrap();
/// ```
pub fn take_signals_of_program() {
    if let Some(blocked) = BLOCKED.get().filter(|_| !blocks_signals()) {
        signal_mask::block(&blocked.set);
    }
}

/// [`take_signals_of_program`] for a thread of the runtime that runs no fibre but closures of the
/// program. Not where a layer above keeps masks of its own: the program blocks signals by these,
/// and its threads must not get them then.
pub(crate) fn hear_signals_of_program() {
    if let Some(blocked) = BLOCKED.get().filter(|_| OWN.get().is_none()) {
        signal_mask::block(&blocked.set);
    }
}

/// Starts a kernel thread that gets signals as the program does, wherever it is started: see
/// [`take_signals_of_program`]. Blocks the thread for as long as std takes for that.
///
/// ```
/// let answer = fibre::spawn(|| {
///     let builder = std::thread::Builder::new().name("helper".into());
///     let thread = fibre::spawn_thread(builder, || 6 * 7).unwrap();
///     fibre::blocking(|| thread.join().unwrap())
/// });
/// assert_eq!(answer.join().unwrap(), 42);
/// ```
///
/// # Errors
///
/// When the thread cannot be started.
pub fn spawn_thread<F, T>(builder: thread::Builder, f: F) -> io::Result<thread::JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let _plain = PlainThread::begin();
    builder.spawn(|| {
        take_signals_of_program();
        f()
    })
}

/// The signals that were blocked where the first cluster was started, a bit for each, from signal 1
/// on: new threads of the program would have inherited these.
///
/// ```
/// fibre::spawn(|| ()).join().unwrap();
/// const SIGTERM: u32 = 15;
/// assert_eq!(fibre_core::internal::signals_blocked_by_program() & 1 << (SIGTERM - 1), 0);
/// ```
#[must_use]
pub fn signals_blocked_by_program() -> u64 {
    BLOCKED.get().map_or(0, |blocked| blocked.bits)
}

/// Whether the caller's thread belongs to the runtime. Such threads block all asynchronous signals.
#[must_use]
pub fn blocks_signals() -> bool {
    current::is_own()
}

/// Fails in a forked child, and says so.
///
/// # Errors
///
/// `Unsupported` in a forked child.
#[inline]
pub fn refuse_if_forked() -> io::Result<()> {
    if is_forked_child() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, WORDS));
    }
    Ok(())
}

/// Ends a forked child that is about to do `what`.
#[inline]
pub(crate) fn die_if_forked(what: &str) {
    if is_forked_child() {
        die(what);
    }
}

/// The end of a forked child, see [`die_if_forked`].
#[cold]
fn die(what: &str) -> ! {
    stderr::abort_with(format_args!("{what}: {WORDS}"))
}
