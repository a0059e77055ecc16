//! The cluster that C programs run in, made when first needed, with the environment's settings; and
//! what becomes of fibres when the process ends.
//!
//! It is the default cluster of the process, so plain threads, I/O included, share it. Started
//! fibres move between its processors, as those of the thesis do; `FIBRE_MOVES=never` undoes that.
//!
//! When the process ends by `exit`, or by a return from `main`, an exit handler lets all processors
//! stand still before the destructors of static objects run. If the fibre or thread that ends the
//! process then waits for others (a destructor that joins its workers, say), all go on, as threads
//! would have: [`let_go`]. So they do if it takes long, as it may wait without a call.
//!
//! The end of the process is not the end of the thread that asks for it, so that thread's keys'
//! destructors are not called then. Hence the library notices the ends of plain threads by a key of
//! the system's threads: [`notice_thread_ends`].

use crate::reserve;
use fibre_core::internal::{
    Frozen, caller_id, exit_in_place, freeze, live_fibres, notice_thread_ends_by, start_helper,
    warn,
};
use fibre_core::{Cluster, ClusterBuilder};
use fibre_inspect::begin_with_first_cluster;
use parking_lot::Mutex;
use std::ffi::c_void;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

/// Bytes of a fibre's stack, unless the program or `FIBRE_STACK_SIZE` says otherwise. C programs
/// are used to megabytes; what is not touched costs nothing but addresses.
const STACK_SIZE: usize = 1 << 20;

/// How often it is looked whether fibres are left.
const BETWEEN: Duration = Duration::from_millis(1);

/// How long processors have to stand still at exit, which they do between two fibres.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long they stand still at most.
const STANDSTILL: Duration = Duration::from_secs(1);

/// The cluster of fibres whose creator is no fibre and has chosen none. Blocks the thread while it
/// is started.
///
/// # Errors
///
/// When its threads cannot be started; and in a forked child.
#[inline]
pub fn cluster() -> io::Result<&'static Cluster> {
    /// Whether it is there.
    static STARTED: AtomicBool = AtomicBool::new(false);
    if !STARTED.load(Ordering::Relaxed) && !reserve::system_has_some() {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let cluster = Cluster::default_cluster_or(|| {
        prepare();
        builder()
    })
    .inspect_err(tell_of)?;
    STARTED.store(true, Ordering::Relaxed);
    Ok(cluster)
}

/// Says why there is no cluster where C programs are told no more than an error's number: what is
/// wrong with the environment, or, once, what fibres with thread-locals of their own lack here.
fn tell_of(error: &io::Error) {
    static LACKS: Once = Once::new();
    if fibre_core::internal::is_nonsense(error) {
        fibre_core::internal::complain();
    } else if error.kind() == io::ErrorKind::Unsupported && !fibre_core::is_forked_child() {
        LACKS.call_once(|| warn(format_args!("{error}")));
    }
}

/// Starts that cluster as a builder says. `false`: it has been started.
///
/// # Errors
///
/// As [`cluster`].
pub fn start(builder: ClusterBuilder) -> io::Result<bool> {
    let mut started = false;
    Cluster::default_cluster_or(|| {
        prepare();
        started = true;
        builder
    })
    .inspect_err(tell_of)?;
    Ok(started)
}

/// Starts another cluster.
///
/// # Errors
///
/// When its threads cannot be started; and in a forked child.
pub fn another(builder: ClusterBuilder) -> io::Result<Cluster> {
    prepare();
    builder.build().inspect_err(tell_of)
}

/// What C programs run in, unless they say otherwise.
pub fn builder() -> ClusterBuilder {
    // SAFETY: C programs promise it by using the library, whose header makes `errno` a call and
    // whose documentation says what becomes of thread-locals; nothing of ours is held across a
    // switch.
    unsafe { builder_of_fibres_that_stay().move_started_fibres() }
}

/// The same, with thread-locals of each fibre's own.
pub fn builder_of_threads() -> ClusterBuilder {
    // SAFETY: C programs promise it by asking for it, in the words of docs/c/thread-locals.md;
    // nothing of ours ties memory to a kernel thread.
    unsafe { builder_of_fibres_that_stay().own_thread_locals() }
}

/// The same as [`builder`], but that fibres which have started stay on their processors.
pub fn builder_of_fibres_that_stay() -> ClusterBuilder {
    Cluster::builder().stack_size(stack_size())
}

/// Bytes of the stacks of fibres whose attributes choose no size.
pub fn stack_size() -> usize {
    fibre_core::internal::variable("FIBRE_STACK_SIZE").unwrap_or(STACK_SIZE)
}

/// The next number of a counter by which equal candidates take turns.
pub fn next_turn() -> usize {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    TURN.fetch_add(1, Ordering::Relaxed)
}

/// Waits until no fibre is left. Blocks the thread.
pub fn wait_for_all() {
    while live_fibres() > 0 {
        fibre_core::sleep(BETWEEN);
    }
}

/// Has the ends of plain threads noticed as the system's threads have it.
pub fn notice_thread_ends() {
    // SAFETY: the system calls destructors of keys on the thread whose value it is, once it has
    // left all other frames.
    unsafe { notice_thread_ends_by(at_end_of_thread) };
}

/// Calls a function when this thread ends. Without a key for that, it is not.
fn at_end_of_thread(at_end: fn()) {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place of ours, and a destructor for what is set below.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(thread_has_ended)) };
        (made == 0).then_some(key)
    });
    if let Some(key) = key {
        // SAFETY: the key is never deleted.
        unsafe { libc::pthread_setspecific(key, at_end as *const c_void) };
    }
}

/// See [`at_end_of_thread`].
unsafe extern "C" fn thread_has_ended(at_end: *mut c_void) {
    // SAFETY: the value is such a function.
    let at_end = unsafe { mem::transmute::<*mut c_void, fn()>(at_end) };
    at_end();
}

/// The caller that ends the process, as [`caller_id`] numbers it; zero before.
static EXITING: AtomicU64 = AtomicU64::new(0);

/// The processors that stand still for that.
static FROZEN: Mutex<Option<Frozen>> = Mutex::new(None);

/// Before the first cluster is started: has fibres stand still when the process ends.
fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        // The handlers below rely on it: they look which caller has ended the process.
        exit_in_place();
        begin_with_first_cluster();
        // If there is no memory for that, the process ends as it would without.
        // SAFETY: the handler may be called by any thread, in a fibre, too.
        unsafe { libc::atexit(at_exit) };
    });
}

/// See the module text.
extern "C" fn at_exit() {
    if fibre_core::is_forked_child() {
        return;
    }
    let frozen = freeze(PATIENCE);
    *FROZEN.lock() = Some(frozen);
    EXITING.store(caller_id(), Ordering::Relaxed);
    let later = || {
        std::thread::sleep(STANDSTILL);
        go_on();
    };
    if start_helper("fibre/exit".into(), later).is_err() {
        go_on();
    }
}

/// Before a call that may wait: if the caller ends the process, the others have to go on.
#[inline(always)]
pub fn let_go() {
    if EXITING.load(Ordering::Relaxed) != 0 {
        thaw();
    }
}

/// See [`let_go`].
#[cold]
fn thaw() {
    if EXITING.load(Ordering::Relaxed) == caller_id() {
        go_on();
    }
}

/// Lets all go on.
fn go_on() {
    EXITING.store(0, Ordering::Relaxed);
    let frozen = FROZEN.lock().take();
    drop(frozen);
}
