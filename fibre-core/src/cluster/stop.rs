//! The end of a cluster: at its own pace, or within limits.

use super::handle::Cluster;
use super::monitor;
use super::running::Running;
use super::stop_listeners::StopListener;
use crate::fibre::Attributes;
use crate::park::{Shield, sleep};
use crate::queue::Runnable;
use crate::scheduler::control::ProcessorPhase;
use crate::scheduler::domain::LeftFibre;
use crate::sys::fork;
use crate::sys::stderr;
use crate::wait::limit_scope::Unwinding;
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long processors have to leave their loops once all limits have passed: much longer than a
/// processor takes whose fibre switches now and then, also where its thread has to wait for a CPU.
const GRACE: Duration = Duration::from_secs(1);

/// The part of the second limit after which nobody is spared, and fibres are unwound: one of so
/// many. Until then those that notice their cancellation have time to end, and others may wait for
/// them.
const UNWINDS_AFTER: u32 = 2;

/// The longest wait for fibres that another thread is half-way through queueing.
const HALFWAY: Duration = Duration::from_millis(50);

/// What a cluster that was stopped within limits has left behind. See [`Cluster::stop_within`].
///
/// It is shown, in both forms, with fibres that are alike in a group, so that thousands of them
/// take a line or two; `left` has each of them.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopError {
    /// Fibres that will never run again.
    pub left: Vec<LeftFibre>,
    /// Further fibres that were not found: those of stuck processors, and those that were spawned
    /// too late.
    pub unseen: usize,
    /// Processors whose fibres do not switch, and still run.
    pub stuck: Vec<StuckProcessor>,
}

/// A processor whose fibre does not switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StuckProcessor {
    /// Its number, as [`processor`](crate::processor()) gives it.
    pub index: usize,
    /// The kernel's number of its thread.
    pub thread: i32,
}

impl fmt::Display for StuckProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "processor {} (thread {})", self.index, self.thread)
    }
}

impl Error for StopError {}

impl From<StopError> for io::Error {
    fn from(error: StopError) -> Self {
        Self::new(io::ErrorKind::TimedOut, error)
    }
}

impl Cluster {
    /// Waits until all fibres have ended, and ends the processors. From now on only fibres
    /// of this cluster can spawn here. Blocks the fibre (of another cluster), or the thread
    /// if the caller is not a fibre.
    ///
    /// # Panics
    ///
    /// If called by a fibre of this cluster: it would wait for itself. And if this is the default
    /// cluster, on which others rely.
    pub fn stop(self) {
        self.0.refuse_to_stop();
        self.tell_stop_listeners();
        self.0.close();
        self.0.wait_for(ProcessorPhase::Gone, None);
        self.0.end();
        self.0.stop_listeners.tell_of_end();
    }

    /// Stops the cluster step by step, come what may. It *drains* the cluster for a while, as
    /// [`stop`](Self::stop) does; then it *cancels* all fibres, also those that begin later, and
    /// waits for another while; when half of that has passed, it *unwinds* those that wait in calls
    /// which cannot fail; then it *abandons* what is left. Blocks the fibre (of another cluster),
    /// or the thread if the caller is not a fibre, for little more than a second longer than the
    /// two at most.
    ///
    /// Fibres in a [`graceful`](crate::graceful()) stretch that has begun before are cancelled when
    /// that ends, and at the latest when half of `cancel` has passed.
    ///
    /// Cancelled fibres are expected to end by themselves: see [`CancelToken`](crate::CancelToken).
    /// Those that wait in calls that cannot fail (`recv`, `sleep`, `lock`, `select!`, `join`) do
    /// not notice, unless they do so in [`cancellable`](crate::cancellable), which unwinds them at
    /// once. If they are still there when half of `cancel` has passed, these calls, and all such
    /// calls that would have to wait later, do not return: the stack is unwound as by a panic, up
    /// to a `cancellable` or the fibre's root. No hook runs, nothing is said, and destructors run.
    /// A join returns [`Cancelled`](crate::Cancelled) as the payload. A wait that has been given
    /// something before returns it: no value, permit or lock is lost. A `catch_unwind` of the
    /// program's catches the payload; the next such call unwinds again.
    ///
    /// These are not unwound: what is in a [`shield`](crate::shield()); the end of a
    /// [`scope`](crate::scope()), of [`compute`](crate::compute()) and
    /// [`blocking`](crate::blocking()); initialisers; a destructor while its stack unwinds; a fibre
    /// that does not switch; calls and fibres of the C library; anything in a program that is built
    /// with `panic = "abort"`; anything if `cancel` is zero. A fibre must not be unwound through
    /// functions of C: let C call back within a shield.
    ///
    /// An abandoned fibre never runs again. It is not dropped and not unwound, keeps its memory,
    /// its descriptors and its locks, and is reported here and on standard error. The kernel thread
    /// of its processor stays, too, and sleeps: the fibre may have lent a thread-local value of it.
    /// Waking the fibre is legal and has no effect. So if it stands in a line with fibres of other
    /// clusters, what it is given there is lost to them: a permit, a signal, a value, or its turn
    /// at a lock. That happens only in calls that are not unwound either; for what is shared
    /// with others use forms with a time-out or a [`Limit`](crate::Limit), which have left the line
    /// by then. A join returns [`Abandoned`](crate::Abandoned), unless it is a scope's. A processor
    /// whose fibre never switches keeps running it.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let cluster = fibre::Cluster::builder().processors(1).build()?;
    /// let waiting = cluster.spawn(|| fibre::sleep_within(Duration::from_secs(3600)));
    /// cluster.stop_within(Duration::from_millis(1), Duration::from_secs(60))?;
    /// assert!(waiting.join().unwrap().is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StopError`], with what was left behind.
    ///
    /// # Panics
    ///
    /// As [`stop`](Self::stop).
    #[doc(alias("shutdown_timeout", "shutdown"))]
    pub fn stop_within(self, drain: Duration, cancel: Duration) -> Result<(), StopError> {
        self.stop_by(drain, cancel / UNWINDS_AFTER, cancel)
    }

    /// The common part of both forms with limits. After `spare` of the time for the cancelled ones,
    /// fibres are unwound.
    fn stop_by(self, drain: Duration, spare: Duration, cancel: Duration) -> Result<(), StopError> {
        let running = &self.0;
        running.refuse_to_stop();
        self.tell_stop_listeners();
        running.close();
        let domain = &running.domain;
        if !running.ends_within(drain) && !running.ends_cancelled(spare, cancel) {
            running.abandon();
            let _ = running.ends_within(GRACE);
        }
        running.end();
        let left = running.left();
        domain.left_behind.activities.tell_all();
        running.stop_listeners.tell_of_end();
        match left {
            None => Ok(()),
            Some(error) => {
                let remark = match cfg!(panic = "abort") {
                    true => {
                        " (no call was unwound, as the program is built with `panic = \"abort\"`)"
                    }
                    false => "",
                };
                stderr::warn(format_args!(
                    "cluster {:?}: {error}{remark}",
                    running.domain.settings.name
                ));
                Err(error)
            }
        }
    }
}

/// [`Cluster::stop_within`] without a drain, and without a while for cancelled fibres before those
/// that wait in calls which cannot fail are unwound. `limit` is how long all of them may take.
///
/// # Errors
///
/// As [`Cluster::stop_within`].
///
/// # Panics
///
/// As [`Cluster::stop`].
pub fn switch_off(cluster: Cluster, limit: Duration) -> Result<(), StopError> {
    cluster.stop_by(Duration::ZERO, Duration::ZERO, limit)
}

/// Has a stop listener told when the cluster is stopped. `false`: that has begun. Blocks nothing.
pub fn listen_for_stop(cluster: &Cluster, stop_listener: Weak<dyn StopListener>) -> bool {
    cluster.0.stop_listeners.add(stop_listener)
}

impl Cluster {
    /// Tells those that live here that the cluster is about to be stopped.
    fn tell_stop_listeners(&self) {
        let spawn = |tell| self.try_spawn(Attributes::default(), tell).is_ok();
        self.0.stop_listeners.tell_of_stop(spawn);
    }
}

impl Running {
    /// Panics if the cluster cannot be stopped, or not by the caller.
    fn refuse_to_stop(&self) {
        assert!(
            !self.is_callers(),
            "a cluster cannot be stopped by one of its own fibres"
        );
        assert!(
            !self.permanent.load(Ordering::Relaxed),
            "the default cluster cannot be stopped"
        );
        fork::die_if_forked("stopping a cluster");
    }

    /// Takes the last step: the monitor forgets the cluster, and the threads of processors that
    /// have ended end. Blocks the fibre (or thread).
    fn end(&self) {
        monitor::forget(&self.cluster_threads);
        self.cluster_threads.join_threads();
    }

    /// Waits until all processors have ended, for `limit` at most. Blocks the fibre (or thread).
    fn ends_within(&self, limit: Duration) -> bool {
        // A limit beyond the clock's range never comes.
        self.wait_for(ProcessorPhase::Gone, Instant::now().checked_add(limit))
    }

    /// Cancels all fibres, after `spare` also those in a stretch, and waits until all processors
    /// have ended; unwinds fibres then. Blocks the fibre (or thread).
    fn ends_cancelled(&self, spare: Duration, limit: Duration) -> bool {
        let control = &self.domain.control;
        // A limit beyond the clock's range never comes.
        control.cancel(Instant::now().checked_add(spare));
        if spare.is_zero() {
            control.spare_nobody();
        }
        self.domain.unpark_all();
        if self.ends_within(spare) {
            return true;
        }
        control.spare_nobody();
        let unwinds = !cfg!(panic = "abort") && !limit.is_zero();
        let _unwinding = unwinds.then(|| {
            let unwinding = Unwinding::begin();
            control.unwind();
            unwinding
        });
        self.domain.unpark_all();
        self.ends_within(limit - spare)
    }

    /// What was left behind, if anything was.
    fn left(&self) -> Option<StopError> {
        let domain = &self.domain;
        let stuck = domain.control.not_at(ProcessorPhase::Gone);
        let live = self.domain.live();
        if live == 0 && stuck.is_empty() {
            return None;
        }
        // The caller's own cluster may unwind what waits: not before those left behind are told.
        let _shield = Shield::raise();
        // Stuck processors may still use what they were not told to leave.
        std::mem::forget(Arc::clone(domain));
        let live = usize::try_from(live).unwrap_or(usize::MAX);
        let timeout = Instant::now() + HALFWAY;
        let left = loop {
            self.leave_unstarted(&stuck);
            let mut left = self.leave_started(stuck.is_empty());
            let mut told = domain.left_behind.fibres.lock();
            let all = left.len() + told.len() >= live;
            if all || !stuck.is_empty() || Instant::now() >= timeout {
                left.append(&mut told);
                break left;
            }
            drop(told);
            sleep(Duration::from_micros(50));
        };
        let thread = |index| domain.stats(index).thread().unwrap_or_default();
        let stuck = stuck.into_iter().map(|index| StuckProcessor {
            index,
            thread: thread(index),
        });
        Some(StopError {
            unseen: live.saturating_sub(left.len()),
            left,
            stuck: stuck.collect(),
        })
    }

    /// Notes the started fibres that may move, which the processors leave to us. With `for_good`,
    /// no processor is left that could run them, and those that wait for them are told.
    fn leave_started(&self, for_good: bool) -> Vec<LeftFibre> {
        let mut left = Vec::new();
        if let Some(fibre_list) = &self.domain.fibre_lists.shared {
            let fibre_list = fibre_list.lock();
            if for_good {
                // The sender of a fibre that is still on its way here abandons it.
                fibre_list.leave();
            }
            fibre_list.for_each_fibre(|fibre, block| {
                left.push(LeftFibre::new(block, true));
                if for_good {
                    // SAFETY: no processor is left that could run it.
                    unsafe { (block.body().abandon)(fibre) };
                }
            });
        }
        left
    }

    /// Notes the fibres that have not begun and that no processor has found: those that were being
    /// stolen or queued when it left, or have been queued since.
    fn leave_unstarted(&self, stuck: &[usize]) {
        let domain = &self.domain;
        // Held meanwhile: one at a time looks.
        let mut told = domain.left_behind.fibres.lock();
        let gone = (0..domain.processors()).filter(|index| !stuck.contains(index));
        // SAFETY: these processors have ended, as the orders have said.
        let found = gone.flat_map(|index| unsafe { domain.take_unstarted(index) });
        let found: Vec<_> = found.collect();
        let describe = |fibre: &Runnable| LeftFibre::new(fibre.block(), false);
        told.extend(found.iter().map(describe));
        drop(told);
        for fibre in found {
            // SAFETY: it never runs.
            unsafe { (fibre.block().body().abandon)(fibre.fibre()) };
        }
    }
}
