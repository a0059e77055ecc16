//! [`threads()`].

use crate::entry::make_fibres;
use crate::start::install;
use fibre_core::Cluster;
#[cfg(not(target_feature = "crt-static"))]
use fibre_core::internal::block_in_children;
use fibre_core::internal::{abort_with, warn};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the program's first thread makes its threads fibres. Relaxed: the caller that finds it
/// set, and takes that back, relies on nothing else.
static WHEN_CREATED: AtomicBool = AtomicBool::new(false);

/// Whether the program's threads are, or will be, fibres. Relaxed as well.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Makes the threads that the program starts from now on fibres: those of `std::thread`, of its
/// crates, and of C libraries that come to the names of the executable. To be called in `main`.
/// Calls [`install`](crate::install()), and starts the default cluster, with thread-locals of each
/// fibre's own ([`own_thread_locals`](fibre_core::ClusterBuilder::own_thread_locals)). Blocks the
/// thread for a moment.
///
/// ```no_run
/// use fibre_libc as _;
///
/// fn main() -> std::io::Result<()> {
///     // SAFETY: nothing in this program ties memory to a kernel thread by a system call.
///     unsafe { fibre_libc::threads() }?;
///     let threads: Vec<_> = (0..10_000)
///         .map(|number| std::thread::spawn(move || number))
///         .collect();
///     let sum: usize = threads.into_iter().map(|one| one.join().unwrap()).sum();
///     assert_eq!(sum, 49_995_000);
///     Ok(())
/// }
/// ```
///
/// Kernel threads stay: the one of `main`, those that were there before, those of the runtime, and
/// what is started within [`plainly`](crate::plainly). A thread with attributes of C that ask for a
/// scheduling policy, for CPUs, or for memory of the program as its stack is one, too; the first
/// of each kind is reported on standard error.
///
/// A thread that is a fibre has a guarded stack of the size that it asks for, and a signal mask of
/// its own, which what it starts inherits; no signal is handled there. If there is no memory for
/// its stack when it begins, the process ends with a word.
///
/// # Errors
///
/// [`Unsupported`](io::ErrorKind::Unsupported) where fibres cannot have thread-locals of their own,
/// with the reason; [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the default cluster runs
/// already with fibres that share theirs; when its threads cannot be started.
///
/// # Panics
///
/// As [`install`](crate::install()).
///
/// # Safety
///
/// As for [`install`](crate::install()) and for
/// [`own_thread_locals`](fibre_core::ClusterBuilder::own_thread_locals), for all threads that the
/// program and its libraries start: none ties memory to its kernel thread by a system call, as an
/// alternate signal stack in a thread-local is. And `pthread_cancel` ends no thread with frames of
/// Rust that have something to drop, as on kernel threads.
pub unsafe fn threads() -> io::Result<()> {
    WANTED.store(true, Ordering::Relaxed);
    // SAFETY: passed on.
    unsafe { install() };
    // Before there are threads of the runtime that would hear what only `main` is to hear.
    #[cfg(not(target_feature = "crt-static"))]
    block_in_children(super::mask::in_child);
    // SAFETY: passed on.
    let cluster =
        Cluster::default_cluster_or(|| unsafe { Cluster::builder().own_thread_locals() })?;
    if !cluster.has_own_thread_locals() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "threads cannot be fibres: the default cluster has been started, and its fibres share \
             the thread-locals of their kernel threads",
        ));
    }
    make_fibres();
    Ok(())
}

/// Makes the first call of `pthread_create` call [`threads()`], so that a program may fork before
/// that, as daemons do. If fibres cannot be threads on this machine, a line on standard error says
/// why, and threads are the kernel's; if the runtime cannot be started, the process ends with a
/// word. For `fibre-threads`, which calls it before `main`. Blocks nothing.
///
/// # Safety
///
/// As for [`threads()`].
pub unsafe fn threads_when_created() {
    WANTED.store(true, Ordering::Relaxed);
    WHEN_CREATED.store(true, Ordering::Relaxed);
}

/// Whether the program's threads are, or will be, fibres.
#[cfg_attr(
    target_feature = "crt-static",
    allow(dead_code, reason = "such a program has no `pthread_create` of ours")
)]
pub(crate) fn wants_fibres() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Calls [`threads()`] if this is the call to do that. What that creates itself is plain.
#[inline]
#[cfg_attr(
    target_feature = "crt-static",
    allow(dead_code, reason = "such a program has no `pthread_create` of ours")
)]
pub(super) fn begin_when_created() {
    if WHEN_CREATED.load(Ordering::Relaxed) && WHEN_CREATED.swap(false, Ordering::Relaxed) {
        begin();
    }
}

/// The rest of that.
#[cold]
#[cfg_attr(
    target_feature = "crt-static",
    allow(dead_code, reason = "such a program has no `pthread_create` of ours")
)]
fn begin() {
    // SAFETY: promised to `threads_when_created`.
    match unsafe { threads() } {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            WANTED.store(false, Ordering::Relaxed);
            warn(format_args!(
                "the threads of this program are the kernel's, as fibres cannot be threads here: \
                 {error}"
            ));
        }
        Err(error) => abort_with(format_args!(
            "the threads of this program cannot be fibres: {error}"
        )),
    }
}
