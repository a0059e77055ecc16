//! How many threads the program has that have not ended: once `main` has left by `pthread_exit`,
//! the last of them ends the process. The C library does not, as the runtime's threads stay.
//!
//! A thread of the kernel's has a value of a key, so that its end is noticed however it comes; so
//! has a fibre that ends after `main`. The value's destructor lets those of the program go first.

use fibre_io::posix::signal_set;
use libc::pthread_key_t;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What a thread of C runs.
pub(super) type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// How many of these threads have been made, and have not ended.
static LIVING: AtomicUsize = AtomicUsize::new(0);

/// Whether `main` has left, and the last thread is to end the process.
static MAIN_HAS_LEFT: AtomicBool = AtomicBool::new(false);

/// For how many rounds the C library calls destructors.
const ROUNDS: usize = 4;

/// Counts a thread that is about to be made.
pub(super) fn count_new() {
    LIVING.fetch_add(1, Ordering::Relaxed);
}

/// Counts one that has ended, or was not made. If it is the last one and `main` has left, the
/// process ends.
pub(super) fn count_ended() {
    // Sequentially consistent, as the caller that leaves: one of the two sees the other.
    if LIVING.fetch_sub(1, Ordering::SeqCst) == 1 {
        end_process();
    }
}

/// Counts a fibre that has run its work, and goes on to its destructors.
pub(super) fn count_done() {
    if !MAIN_HAS_LEFT.load(Ordering::Relaxed) || !set(1) {
        count_ended();
    }
}

/// Notes that `main` leaves, and ends the process if there are no threads.
pub(super) fn main_leaves() {
    MAIN_HAS_LEFT.store(true, Ordering::SeqCst);
    if LIVING.load(Ordering::SeqCst) == 0 {
        end_process();
    }
}

/// Ends the process after its last thread, once `main` has left.
fn end_process() {
    if MAIN_HAS_LEFT.load(Ordering::SeqCst) && MAIN_HAS_LEFT.swap(false, Ordering::SeqCst) {
        // SAFETY: nobody else is there, or does so.
        unsafe { libc::exit(0) };
    }
}

/// What a thread of the kernel's is to run.
struct Work {
    start: Routine,
    argument: *mut c_void,
    /// The signals that it blocks, if not those of the kernel thread that makes it.
    blocked: Option<u64>,
}

/// Makes a thread of the kernel's by `create`, and counts it. Returns an error number.
pub(super) fn counted(
    start: Routine,
    argument: *mut c_void,
    blocked: Option<u64>,
    create: impl FnOnce(Routine, *mut c_void) -> c_int,
) -> c_int {
    let work = Box::into_raw(Box::new(Work {
        start,
        argument,
        blocked,
    }));
    count_new();
    let error = create(run, work.cast());
    if error != 0 {
        // SAFETY: there is no thread, and nobody else knows of it.
        drop(unsafe { Box::from_raw(work) });
        count_ended();
    }
    error
}

/// Runs the work of such a thread.
unsafe extern "C-unwind" fn run(work: *mut c_void) -> *mut c_void {
    // SAFETY: made by `counted`, for this call.
    let work = *unsafe { Box::from_raw(work.cast::<Work>()) };
    let Work {
        start, argument, ..
    } = work;
    if let Some(blocked) = work.blocked {
        signal_set::block(blocked);
    }
    if !set(1) {
        count_ended();
    }
    // SAFETY: the creator has asked for the call. No variable here needs an end, so the stack may
    // unwind.
    unsafe { start(argument) }
}

/// Gives the calling thread a value, so that [`end_of_round`] is called in the next round of
/// destructors. `false`: there is no key left, or no memory.
fn set(round: usize) -> bool {
    static KEY: OnceLock<Option<pthread_key_t>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place of ours.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(end_of_round)) };
        (made == 0).then_some(key)
    });
    let value = ptr::without_provenance(round);
    // SAFETY: the key is ours.
    key.is_some_and(|key| unsafe { libc::pthread_setspecific(key, value) } == 0)
}

/// The destructor: counts in the last round.
unsafe extern "C" fn end_of_round(round: *mut c_void) {
    let round = round.addr();
    if round == ROUNDS || !set(round + 1) {
        count_ended();
    }
}
