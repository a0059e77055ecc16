//! What the processors of a cluster have in common: the queues that all of them take from,
//! and how each of them sleeps.
//!
//! * `staging`: new fibres that nobody has been chosen for, fibres that migrate here, and,
//!   with work sharing, all that may move. Looked at after a processor's own queue.
//! * `background`: fibres that run only if nothing else is found. Looked at last.
//!
//! (Thesis, section 3.2.2.) Nobody sleeps *in* these queues: whoever pushes here wakes one
//! processor out of the idle set, if there is one, and a processor that enters the set looks
//! here once more before it sleeps. Both announce first and look then, each by a
//! sequentially consistent read-modify-write, so that one of the two sees the other. Only
//! one is woken for one fibre: there is no herd.

use crate::idle::IdleSet;
use crate::parker::{Halt, Parker};
use crate::queue::{Link, LogicalQueue, Popped, QueueKind};
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use crate::watch::Watch;
use crossbeam_utils::CachePadded;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// See the module text.
#[derive(Debug)]
pub struct Commons {
    /// Who has nothing to do.
    pub idle: IdleSet,
    /// How each processor that may ever be sleeps.
    sleepers: Box<[CachePadded<Sleeper>]>,
    /// See the module text.
    staging: LogicalQueue,
    /// See the module text.
    background: LogicalQueue,
    /// Who is asked first to come for the next fibre of these queues. A hint.
    next: AtomicUsize,
    /// Who looks after those that do not come to look at their events.
    pub watch: Watch,
    /// Whether the processors' other ways to sleep are one and the same.
    one_halt: AtomicBool,
}

/// How one processor sleeps, and is woken.
pub struct Sleeper {
    /// Its thread's own way.
    parker: Parker,
    /// Its other way, once a layer above has installed one.
    halt: OnceLock<Arc<dyn Halt>>,
}

impl Commons {
    /// Empty queues of this kind, for at most so many processors, all of them awake.
    #[must_use]
    pub fn new(processors: usize, kind: QueueKind) -> Self {
        Self {
            idle: IdleSet::new(processors),
            sleepers: (0..processors).map(|_| CachePadded::default()).collect(),
            staging: LogicalQueue::new(kind),
            background: LogicalQueue::new(kind),
            next: AtomicUsize::new(0),
            watch: Watch::new(),
            one_halt: AtomicBool::new(false),
        }
    }

    /// Gives all processors that may ever be one other way to sleep in common. Nobody else
    /// gives them any meanwhile.
    pub fn install_one_halt(&self, halt: &Arc<dyn Halt>) {
        self.one_halt.store(true, Ordering::Release);
        for sleeper in &self.sleepers {
            sleeper.install_halt(Arc::clone(halt));
        }
    }

    /// Whether they have been given one in common.
    pub fn has_one_halt(&self) -> bool {
        self.one_halt.load(Ordering::Acquire)
    }

    /// How a processor sleeps.
    #[inline]
    pub fn sleeper(&self, processor: usize) -> &Sleeper {
        &self.sleepers[processor]
    }

    /// Queues a fibre that any processor may take, and wakes an idle one for it. Any thread
    /// that keeps `self` alive.
    ///
    /// # Safety
    ///
    /// `node` is in no queue and is the caller's to queue.
    pub unsafe fn stage(&self, node: NonNull<Link>) {
        // SAFETY: passed on. Nobody sleeps in this queue.
        let _ = unsafe { self.staging.push(node) };
        self.wake_next();
    }

    /// The same for a fibre that runs only if nothing else is found.
    ///
    /// # Safety
    ///
    /// As for [`stage`](Self::stage).
    pub unsafe fn push_background(&self, node: NonNull<Link>) {
        // SAFETY: passed on. Nobody sleeps in this queue.
        let _ = unsafe { self.background.push(node) };
        self.wake_next();
    }

    /// Takes a fibre that any processor may take.
    pub fn pop_staged(&self) -> Popped {
        self.staging.pop()
    }

    /// Takes a fibre that is to run when nothing else is found.
    pub fn pop_background(&self) -> Popped {
        self.background.pop()
    }

    /// Whether nothing is staged.
    #[inline]
    pub fn has_none_staged(&self) -> bool {
        self.staging.is_empty()
    }

    /// Whether there is something in these queues at this moment.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !(self.staging.is_empty() && self.background.is_empty())
    }

    /// Wakes one of those who have nothing to do, if there are any, in turn: where fibres
    /// stay with the processor that starts them, they would else all live on the first one.
    pub fn wake_next(&self) {
        if let Some(idle) = self.idle.claim(self.next.load(Ordering::Relaxed)) {
            let next = (idle + 1) % self.sleepers.len();
            self.next.store(next, Ordering::Relaxed);
            self.sleeper(idle).unpark();
        }
    }

    /// Wakes one of those who have nothing to do, if there are any; the first one from
    /// `start` on.
    #[inline]
    pub fn wake_one(&self, start: usize) {
        if let Some(idle) = self.idle.claim(start) {
            self.sleeper(idle).unpark();
        }
    }
}

impl Sleeper {
    /// Blocks the owner's thread until there may be work or the deadline passes.
    pub fn sleep(&self, deadline: Option<Instant>) {
        self.parker.sleep(self.halt.get(), deadline);
    }

    /// Blocks the owner's thread until [`unpark`](Self::unpark), whatever happens elsewhere,
    /// or not so long.
    pub fn stand(&self) {
        self.parker.sleep(None, None);
    }

    /// Ends the owner's sleep, or its next one. Any thread.
    pub fn unpark(&self) {
        self.parker.unpark(|| self.halt.get());
    }

    /// Whether the owner's next sleep would end at once; for models.
    #[cfg(loom)]
    pub fn is_notified(&self) -> bool {
        self.parker.is_notified()
    }

    /// What a layer above installed.
    #[inline]
    pub fn halt(&self) -> Option<&Arc<dyn Halt>> {
        self.halt.get()
    }

    /// Installs another way to sleep, unless there is one; returns what is there.
    /// Any thread.
    pub fn install_halt(&self, halt: Arc<dyn Halt>) -> &Arc<dyn Halt> {
        let installed = self.halt.get_or_init(|| halt);
        // If the owner sleeps on its futex, it has to move over.
        self.unpark();
        installed
    }
}

impl Default for Sleeper {
    fn default() -> Self {
        Self {
            parker: Parker::new(),
            halt: OnceLock::new(),
        }
    }
}

impl std::fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleeper")
            .field("parker", &self.parker)
            .field("has_halt", &self.halt.get().is_some())
            .finish()
    }
}
