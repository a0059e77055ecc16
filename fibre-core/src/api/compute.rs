//! Long computations, run where they delay no other fibre.
//!
//! A fibre that computes keeps its processor, and all fibres that have started there wait. So the
//! closure goes to the compute cluster (`cluster/compute.rs`) as a fibre of its own, and the
//! caller's fibre joins it.
//!
//! **Borrows.** The closure lies in the caller's frame, and so does its result. Nothing else ends
//! the wait, neither cancellation nor a time-out, and the cluster is never stopped. So the frame
//! stays until the closure has returned. A caller that its cluster abandons keeps its stack for
//! ever.

use crate::cluster::Cluster;
use crate::fibre::Attributes;
use crate::park::{cancellation_point, is_cancelled};
use crate::processor::in_fibre;
use crate::spawn::task::launch;
use crate::sync::thread_mutex::Mutex;
use crate::sys::stderr;
use crate::wait::limit::Limit;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;

/// Calls `f`, which computes for long, on a processor that is there for that: the other fibres of
/// the caller's processor go on meanwhile. Blocks the fibre until `f` has returned.
///
/// The processors are those of a [cluster of its own](Cluster::compute_cluster), which is started
/// when it is first needed: as many as the process may use CPUs, and the kernel prefers other
/// threads to theirs. So what serves clients stays quick while all CPUs compute. `f` begins when a
/// processor is free, in the order of the calls, and runs there to its end.
///
/// `f` is called by a fibre of that cluster, so it may also block: it then makes way for the next
/// one. It sees other [fibre-local](macro@crate::fibre_local) and thread-local values than the
/// caller, the caller's [scoped values](crate::ScopedLocal), and may borrow from the caller. For
/// calls that block their kernel thread, there is
/// [`blocking`](crate::blocking()).
///
/// Handing `f` over and taking its result back costs two wake-ups of other threads, some 10 to
/// 50 µs. It pays for work that takes a millisecond or more; shorter work may as well
/// [yield](crate::yield_now) now and then.
///
/// Once `f` is handed over, nothing ends the wait: neither cancellation nor a
/// [`timeout`](crate::timeout()) around it, as `f` may borrow from the caller. See
/// [`compute_within`] for that.
///
/// Where nothing is gained, `f` is called here and now: on a thread that is no fibre, in a fibre of
/// the cluster for such work itself, in a forked child, and if that cluster cannot be started,
/// which standard error is told once.
///
/// ```
/// let text = "no fibre waits for this sum".repeat(1000);
/// let sum = fibre::spawn(move || {
///     fibre::compute(|| text.bytes().map(u64::from).sum::<u64>()) // borrows `text`
/// });
/// assert_eq!(sum.join().unwrap(), 2_561_000);
/// ```
///
/// # Panics
///
/// With the panic of `f`.
#[doc(alias("spawn_blocking", "rayon"))]
pub fn compute<F, R>(f: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    let Some(cluster) = elsewhere() else {
        return f();
    };
    // A closure that cannot be handed over is still the caller's.
    let kept = Mutex::new(Some(f));
    let call = || {
        let f = kept.lock().take();
        // Its panic is the caller's, and no end of the fibre to be reported.
        f.map(|f| catch_unwind(AssertUnwindSafe(f)))
    };
    let launched = cluster.with_place(|place| {
        // SAFETY: the join below does not end before the fibre has, and its result is taken there.
        // Nothing else ends the wait: see the module text.
        unsafe { launch(place, Attributes::default(), None, call) }
    });
    let joined = match launched {
        Ok(Ok(fibre)) => fibre.join_unbounded(),
        Ok(Err(error)) => {
            complain(&error.into());
            Ok(None)
        }
        Err(error) => {
            complain(&error);
            Ok(None)
        }
    };
    match joined {
        Ok(Some(Ok(value))) => value,
        Ok(Some(Err(payload))) => resume_unwind(payload),
        // It has no fibre, or no stack for one.
        Ok(None) => call_here(&kept),
        Err(_) if kept.lock().is_some() => call_here(&kept),
        Err(_) => stderr::abort_with(format_args!("the cluster for `compute` has been stopped")),
    }
}

/// [`compute`], for a closure that may be left to itself: when the [`Limit`] comes, or a
/// [`timeout`](crate::timeout()) around the call is over, or the caller is cancelled, the call
/// ends. If `f` has not begun by then, it never does. Otherwise its fibre is cancelled: `f` goes on
/// until it has returned, and its result is dropped; it may ask
/// [`cancellation_point`] now and then. Blocks the fibre, or the thread
/// if the caller is not a fibre.
///
/// ```
/// use std::time::Duration;
///
/// let endless = || {
///     while fibre::cancellation_point().is_ok() {
///         std::hint::black_box((0..10_000_u64).sum::<u64>());
///     }
/// };
/// let error = fibre::compute_within(Duration::from_millis(2), endless).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
/// assert_eq!(fibre::compute_within(Duration::from_secs(60), || 6 * 7)?, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// `TimedOut`; the error of a cancelled fibre; that of a cluster that cannot be started, or of a
/// fibre that cannot be spawned.
///
/// # Panics
///
/// With the panic of `f`.
pub fn compute_within<F, R>(limit: impl Into<Limit>, f: F) -> io::Result<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    cancellation_point()?;
    let call = || (!is_cancelled()).then(|| catch_unwind(AssertUnwindSafe(f)));
    let fibre = Cluster::compute_cluster()?.try_spawn(Attributes::default(), call)?;
    match fibre.join_within(limit) {
        Ok(Ok(Some(Ok(result)))) => Ok(result),
        Ok(Ok(Some(Err(payload))) | Err(payload)) => resume_unwind(payload),
        // Only this call cancels the fibre.
        Ok(Ok(None)) => Err(io::ErrorKind::TimedOut.into()),
        Err(fibre) => {
            fibre.cancel();
            cancellation_point()?;
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// The cluster that the caller's work should go to; `None`: it is better done here.
fn elsewhere() -> Option<&'static Cluster> {
    if !in_fibre() {
        return None;
    }
    match Cluster::compute_cluster() {
        Ok(cluster) => Some(cluster).filter(|cluster| !cluster.is_callers()),
        Err(error) => {
            complain(&error);
            None
        }
    }
}

/// Calls a closure that has not been handed over.
fn call_here<F, R>(kept: &Mutex<Option<F>>) -> R
where
    F: FnOnce() -> R,
{
    let f = kept.lock().take();
    match f {
        Some(f) => f(),
        None => unreachable!("a closure that was called has a result"),
    }
}

/// Reports, once, that work is done where it was to be handed over.
#[cold]
fn complain(error: &io::Error) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        stderr::warn(format_args!(
            "`compute` now keeps the caller's processor, as the work cannot be handed over: {error}"
        ));
    });
}
