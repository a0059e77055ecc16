//! What becomes of the runtime in a forked child: it is dead there, and says so.
//!
//! `fork` copies the calling thread only. In the child the processors are gone, what they
//! had locked stays locked, and the epoll instances are the parent's. So a child can do
//! one thing with fibres: exec (`std::process::Command` and `posix_spawn` do). Anything
//! else that needs the runtime is refused with an error or ends the child with a word,
//! instead of hanging or, worse, hurting the parent:
//!
//! * spawning, and starting a cluster, fail;
//! * a wait without a deadline aborts: nobody is left who could end it;
//! * the fibre that forked is none in the child: its thread is no processor any more, so
//!   no other fibre can run there, and its return from its root function aborts;
//! * nobody writes to, or takes descriptors out of, what epoll shares with the parent.
//!
//! A process that forks before it starts its first cluster is not concerned, nor is its
//! child. `vfork` and `posix_spawn` run none of this, as their child is about to exec.
//!
//! The handler is async-signal-safe: it stores to memory of its own and sets the thread's
//! signal mask back ([`block_in_children`]), which a program that is executed would else inherit from a
//! processor, deaf to SIGTERM. `posix_spawn` and an `exec` without a fork know no such handlers, so there
//! [`unblock_signals`] or [`with_signals_of_program`] is needed.
//!
//! # Memory ordering
//!
//! The flag is written in the child when it has one thread. Relaxed: there is nobody to
//! order it with.

use crate::current;
use crate::report;
use crate::signal_mask::SignalMask;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is said.
const WORDS: &str =
    "this process was forked from one with running fibres; only exec is possible here";

/// Whether this process is such a child.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The signals that were blocked where the first cluster was started.
static BLOCKED: OnceLock<Blocked> = OnceLock::new();

/// What fibres block in children of theirs, see [`block_in_children`].
static OWN: OnceLock<fn() -> Option<u64>> = OnceLock::new();

/// Signals, in two forms.
struct Blocked {
    /// As the C library has them.
    set: libc::sigset_t,
    /// A bit for each, from signal 1 on.
    bits: u64,
}

impl Blocked {
    /// These.
    fn new(set: libc::sigset_t) -> Self {
        // SAFETY: a set, and numbers of signals.
        let is_in = |signal: &i32| unsafe { libc::sigismember(&raw const set, *signal) } == 1;
        let bits = (1..=64).filter(is_in);
        let bits = bits.fold(0, |bits, signal| bits | 1 << (signal - 1));
        Self { set, bits }
    }
}

/// Has children told, from the first call on.
///
/// # Errors
///
/// The kernel's, when there is no memory; and in a forked child.
pub fn install() -> io::Result<()> {
    /// What `pthread_atfork` has said.
    static INSTALLED: OnceLock<i32> = OnceLock::new();
    refuse_if_forked()?;
    let result = INSTALLED.get_or_init(|| {
        let mut blocked = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: room for a set; the handler is async-signal-safe, see the module text.
        unsafe {
            if libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), blocked.as_mut_ptr()) == 0 {
                let _ = BLOCKED.set(Blocked::new(blocked.assume_init()));
            }
            libc::pthread_atfork(None, None, Some(in_child))
        }
    });
    match result {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(*error)),
    }
}

/// Called in the child before `fork` returns there.
unsafe extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    if !current::is_own() {
        return;
    }
    // While the caller still is the fibre that has forked.
    let own = OWN.get().and_then(|own| own());
    current::set(ptr::null(), ptr::null());
    if let Some(blocked) = own.map(set_of).or(BLOCKED.get().map(|blocked| blocked.set)) {
        // SAFETY: a set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const blocked, ptr::null_mut()) };
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

/// Has a function asked, in the child of a fibre that forks, which signals to block there, a bit for each, from signal 1 on; none: those that
/// were blocked where the first cluster was started. For layers above whose fibres have masks of their own. The first such function stays;
/// it is called as that fibre, when nobody else is there, and is to be async-signal-safe.
///
/// ```
/// const SIGTERM: u32 = 15;
/// fibre_core::block_in_children(|| Some(1 << (SIGTERM - 1)));
/// ```
pub fn block_in_children(own: fn() -> Option<u64>) {
    let _ = OWN.set(own);
}

/// Whether this process was forked from one in which clusters had been started.
///
/// The runtime is dead in such a child: spawning fails, waiting without a deadline aborts,
/// and all that can be done is to exec another program.
///
/// ```
/// fibre_core::spawn(|| ()).join().unwrap();
/// assert!(!fibre_core::is_forked_child());
/// ```
#[inline]
#[must_use]
pub fn is_forked_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Lets the program that `command` will start hear of signals as this program does.
///
/// Processors block all asynchronous signals, and a program inherits what the thread
/// blocks that starts it; std does not undo that. Threads for [`blocking`](crate::blocking())
/// calls do so, too. Not needed by other threads ([`blocks_signals`]), and harmless there. The
/// command is then started by `fork`, which is slower than `posix_spawn` in large processes.
///
/// ```
/// let status = fibre_core::spawn(|| {
///     let mut command = std::process::Command::new("true");
///     fibre_core::unblock_signals(&mut command).status()
/// });
/// assert!(status.join().unwrap().unwrap().success());
/// ```
pub fn unblock_signals(command: &mut Command) -> &mut Command {
    // SAFETY: it does nothing; that it is there makes std call `fork`, which calls the
    // handler above.
    unsafe { command.pre_exec(|| Ok(())) }
}

/// Calls `f`, which starts a program by a call that no handler notices (`posix_spawn`, `exec`), while the caller's thread
/// blocks the signals that were blocked where the first cluster was started: the program inherits these. On a thread that is not
/// the runtime's, just calls `f`.
///
/// `f` must not block its fibre. Handlers of signals may run on the caller's thread meanwhile, so threads for
/// [`blocking`](crate::blocking()) calls suit it.
///
/// ```
/// let status = fibre_core::spawn(|| {
///     let mut command = std::process::Command::new("true");
///     fibre_core::blocking(|| fibre_core::with_signals_of_program(|| command.status()))
/// });
/// assert!(status.join().unwrap().unwrap().success());
/// ```
pub fn with_signals_of_program<R>(f: impl FnOnce() -> R) -> R {
    let blocked = BLOCKED.get().filter(|_| blocks_signals());
    let _until_then = blocked.map(|blocked| SignalMask::set(&blocked.set));
    f()
}

/// The signals that were blocked where the first cluster was started, a bit for each, from signal 1 on: new threads of the program
/// would have inherited these.
///
/// ```
/// fibre_core::spawn(|| ()).join().unwrap();
/// const SIGTERM: u32 = 15;
/// assert_eq!(fibre_core::signals_blocked_by_program() & 1 << (SIGTERM - 1), 0);
/// ```
#[must_use]
pub fn signals_blocked_by_program() -> u64 {
    BLOCKED.get().map_or(0, |blocked| blocked.bits)
}

/// Whether the caller's thread is one of the runtime's, which block all asynchronous signals.
#[must_use]
pub fn blocks_signals() -> bool {
    current::is_own()
}

/// An error in a forked child, with a word.
///
/// # Errors
///
/// `Unsupported` there.
#[inline]
pub fn refuse_if_forked() -> io::Result<()> {
    if is_forked_child() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, WORDS));
    }
    Ok(())
}

/// Ends a forked child that is about to do `what`.
#[inline]
pub fn die_if_forked(what: &str) {
    if is_forked_child() {
        die(what);
    }
}

/// See [`die_if_forked`].
#[cold]
fn die(what: &str) -> ! {
    report::die(format_args!("{what}: {WORDS}"))
}
