//! The cluster that C programs run in: made when first needed, as the environment has it; and what becomes of fibres
//! when the process ends.
//!
//! It is the default cluster of the process, so plain threads, I/O included, share it. Started fibres
//! move between its processors, as those of the thesis do; `FIBRE_MOVES=never` undoes that.
//!
//! When the process ends by `exit`, or by a return from `main`, an exit handler lets all processors stand still before
//! the destructors of static objects run. If the one that ends the process then waits for others (a destructor that joins its
//! workers, say), all go on, as they would have with threads: [`let_go`].

use fibre_core::{Cluster, ClusterBuilder, Frozen, caller_id, freeze, live_fibres};
use parking_lot::Mutex;
use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Bytes of a fibre's stack, unless the program or `FIBRE_STACK_SIZE` says otherwise. C programs are used to
/// megabytes; what is not touched costs nothing but addresses.
const STACK_SIZE: usize = 1 << 20;

/// How often it is looked whether fibres are left.
const BETWEEN: Duration = Duration::from_millis(1);

/// How long processors have to stand still at exit, which they do between two fibres.
const PATIENCE: Duration = Duration::from_millis(50);

/// The cluster of fibres whose creator is no fibre and has chosen none. Blocks the thread while it is started.
///
/// # Errors
///
/// When its threads cannot be started; and in a forked child.
#[inline]
pub fn cluster() -> io::Result<&'static Cluster> {
    Cluster::default_cluster_or(|| {
        watch_exit();
        builder()
    })
}

/// Starts that cluster as a builder says. `false`: it has been started.
///
/// # Errors
///
/// As [`cluster`].
pub fn start(builder: ClusterBuilder) -> io::Result<bool> {
    let mut started = false;
    Cluster::default_cluster_or(|| {
        watch_exit();
        started = true;
        builder
    })?;
    Ok(started)
}

/// Starts another cluster.
///
/// # Errors
///
/// When its threads cannot be started; and in a forked child.
pub fn another(builder: ClusterBuilder) -> io::Result<Cluster> {
    watch_exit();
    builder.build()
}

/// What C programs run in, unless they say otherwise.
pub fn builder() -> ClusterBuilder {
    // SAFETY: C programs promise it by using the library, whose header makes `errno` a call and whose
    // documentation says what becomes of thread-locals; nothing of ours is held across a switch.
    unsafe { builder_of_fibres_that_stay().move_started_fibres() }
}

/// The same, but that fibres which have started stay on their processors.
pub fn builder_of_fibres_that_stay() -> ClusterBuilder {
    Cluster::builder().stack_size(stack_size())
}

/// Bytes of the stacks of fibres that nobody has chosen others for.
pub fn stack_size() -> usize {
    fibre_core::variable("FIBRE_STACK_SIZE", "a number of bytes").unwrap_or(STACK_SIZE)
}

/// Takes turns among those who are equal.
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

/// Who ends the process, as [`caller_id`] has it; zero before.
static EXITING: AtomicU64 = AtomicU64::new(0);

/// What stands still for that.
static FROZEN: Mutex<Option<Frozen>> = Mutex::new(None);

/// Has fibres stand still when the process ends.
fn watch_exit() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
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
        EXITING.store(0, Ordering::Relaxed);
        let frozen = FROZEN.lock().take();
        drop(frozen);
    }
}
