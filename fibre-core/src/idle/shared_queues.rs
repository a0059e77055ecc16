//! What the processors of a cluster share: the queues that all of them take from (injectors in
//! other runtimes), and how each of them sleeps.
//!
//! * `staging`: new fibres without a chosen processor, fibres that migrate here, and, with work
//!   sharing, all that may move. A processor looks here after its own queue.
//! * `background`: fibres that run only if no other fibre is found. Looked at last.
//!
//! (Thesis, section 3.2.2.) No processor sleeps *in* these queues. A thread that pushes here wakes
//! one processor out of the idle set, if there is one, and a processor that enters the set looks
//! here once more before it sleeps. Both announce first and look then, each with a sequentially
//! consistent read-modify-write, so one of the two sees the other. One fibre wakes only one
//! processor: there is no thundering herd.

use crate::idle::parker::{Driver, Parker};
use crate::idle::set::IdleSet;
use crate::idle::watchers::Watch;
use crate::queue::{MultilevelQueue, Popped, QueueKind, Runnable};
use crate::sync::{AtomicBool, AtomicUsize, Ordering};
use crossbeam_utils::CachePadded;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The shared queues of one cluster.
#[derive(Debug)]
pub struct SharedQueues {
    /// The processors that have nothing to run.
    pub idle: IdleSet,
    /// The sleepers of all processors that may ever be.
    sleepers: Box<[CachePadded<Sleeper>]>,
    /// The queue of fibres that any processor may take.
    staging: MultilevelQueue,
    /// The queue of fibres that run when no other fibre is found.
    background: MultilevelQueue,
    /// The processor that is asked first to come for the next fibre of these queues. A hint.
    next: AtomicUsize,
    /// The processors that watch those that do not come to look at their events.
    pub watch: Watch,
    /// Whether all processors share one driver.
    one_driver: AtomicBool,
}

/// How one processor sleeps, and is woken.
pub struct Sleeper {
    /// The parker of its thread.
    parker: Parker,
    /// Its driver, once a layer above has installed one.
    driver: OnceLock<Arc<dyn Driver>>,
}

impl SharedQueues {
    /// Empty queues of this kind, for at most so many processors, all of them awake.
    #[must_use]
    pub fn new(processors: usize, kind: QueueKind) -> Self {
        Self {
            idle: IdleSet::new(processors),
            sleepers: (0..processors).map(|_| CachePadded::default()).collect(),
            staging: MultilevelQueue::new(kind),
            background: MultilevelQueue::new(kind),
            next: AtomicUsize::new(0),
            watch: Watch::new(),
            one_driver: AtomicBool::new(false),
        }
    }

    /// Gives all processors that may ever be one driver in common. There is one caller at a time.
    pub fn install_one_driver(&self, driver: &Arc<dyn Driver>) {
        self.one_driver.store(true, Ordering::Release);
        for sleeper in &self.sleepers {
            sleeper.install_driver(Arc::clone(driver));
        }
    }

    /// Whether the processors share one driver.
    pub fn has_one_driver(&self) -> bool {
        self.one_driver.load(Ordering::Acquire)
    }

    /// The sleeper of a processor.
    #[inline]
    pub fn sleeper(&self, processor: usize) -> &Sleeper {
        &self.sleepers[processor]
    }

    /// Queues a fibre that any processor may take, and wakes an idle one for it. Any thread
    /// that keeps `self` alive.
    pub fn stage(&self, runnable: Runnable) {
        // No processor sleeps in this queue.
        let _ = self.staging.push(runnable);
        self.wake_next();
    }

    /// Queues a fibre that runs only if no other fibre is found, and wakes an idle processor for
    /// it. Any thread that keeps `self` alive.
    pub fn push_background(&self, runnable: Runnable) {
        // No processor sleeps in this queue.
        let _ = self.background.push(runnable);
        self.wake_next();
    }

    /// Takes a fibre that any processor may take.
    pub fn pop_staged(&self) -> Popped {
        self.staging.pop()
    }

    /// Takes a fibre that is to run when no other fibre is found.
    pub fn pop_background(&self) -> Popped {
        self.background.pop()
    }

    /// Whether nothing is staged.
    #[inline]
    pub fn has_none_staged(&self) -> bool {
        self.staging.is_empty()
    }

    /// Whether there is a fibre in these queues at this moment.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !(self.staging.is_empty() && self.background.is_empty())
    }

    /// How many fibres are in these queues. `None`: that cannot be told, or there are too many. Any
    /// thread, which counts as a consumer.
    #[must_use]
    pub fn count(&self, most: usize) -> Option<usize> {
        let count = self.staging.count(most)? + self.background.count(most)?;
        (count < most).then_some(count)
    }

    /// Wakes a processor that has nothing to run, if there is one. They take turns: where fibres
    /// stay with the processor that starts them, all would else live on the first one.
    pub fn wake_next(&self) {
        if let Some(idle) = self.idle.claim(self.next.load(Ordering::Relaxed)) {
            let next = (idle + 1) % self.sleepers.len();
            self.next.store(next, Ordering::Relaxed);
            self.sleeper(idle).unpark();
        }
    }

    /// Wakes a processor that has nothing to run, if there is one: the first one from `start` on.
    #[inline]
    pub fn wake_one(&self, start: usize) {
        if let Some(idle) = self.idle.claim(start) {
            self.sleeper(idle).unpark();
        }
    }

    /// Wakes a processor that has nothing to run and is `wanted`, if there is one.
    pub fn wake_if(&self, wanted: impl Fn(usize) -> bool) {
        if let Some(idle) = self.idle.claim_if(0, wanted) {
            self.sleeper(idle).unpark();
        }
    }
}

impl Sleeper {
    /// Blocks the owner's thread until there may be work or the deadline passes. See
    /// [`Armed::sleep`](super::armed::Armed::sleep). `true`: another thread has ended the sleep.
    pub(super) fn sleep(&self, deadline: Option<Instant>) -> bool {
        self.parker.sleep(self.driver.get(), deadline)
    }

    /// Blocks the owner's thread until [`unpark`](Self::unpark) or less long, whatever happens
    /// elsewhere.
    pub fn stand(&self) {
        self.parker.sleep(None, None);
    }

    /// Ends the owner's sleep, or its next one. Any thread.
    pub fn unpark(&self) {
        self.parker.unpark(|| self.driver.get());
    }

    /// Whether the owner's next sleep would end at once; for models.
    #[cfg(loom)]
    pub fn is_notified(&self) -> bool {
        self.parker.is_notified()
    }

    /// The driver that a layer above installed.
    #[inline]
    pub fn driver(&self) -> Option<&Arc<dyn Driver>> {
        self.driver.get()
    }

    /// Installs another way to sleep, unless there is one; returns what is there.
    /// Any thread.
    pub fn install_driver(&self, driver: Arc<dyn Driver>) -> &Arc<dyn Driver> {
        let installed = self.driver.get_or_init(|| driver);
        // If the owner sleeps on its futex, it has to move over.
        self.unpark();
        installed
    }
}

impl Default for Sleeper {
    fn default() -> Self {
        Self {
            parker: Parker::new(),
            driver: OnceLock::new(),
        }
    }
}

impl std::fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleeper")
            .field("parker", &self.parker)
            .field("has_driver", &self.driver.get().is_some())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::queue::Link;
    use crate::sync::AtomicU32;
    use std::ptr::NonNull;
    use std::sync::Mutex;
    use std::thread;

    /// A driver that counts its sleeps.
    #[derive(Default)]
    struct Counting {
        /// Sleeps that have begun.
        sleeps: AtomicU32,
        /// Sleeps that are over.
        left: AtomicU32,
        /// Ends a sleep.
        interrupted: Mutex<bool>,
        woken: std::sync::Condvar,
    }

    impl Driver for Counting {
        fn poll(&self) {}

        fn sleep(&self, deadline: Option<Instant>) {
            assert_eq!(deadline, None);
            self.sleeps.fetch_add(1, Ordering::AcqRel);
            let mut interrupted = self.interrupted.lock().unwrap();
            while !std::mem::take(&mut *interrupted) {
                interrupted = self.woken.wait(interrupted).unwrap();
            }
        }

        fn leave(&self) {
            self.left.fetch_add(1, Ordering::AcqRel);
        }

        fn interrupt(&self) {
            *self.interrupted.lock().unwrap() = true;
            self.woken.notify_one();
        }

        fn retire(&self) {}
    }

    /// Sleeps until [`Sleeper::unpark`] has been called.
    fn sleep(sleeper: &Sleeper) {
        let _ = sleeper.sleep(None);
    }

    /// Idle processors are woken in turn, one for each fibre.
    #[test]
    fn those_who_are_idle_take_turns() {
        let shared_queues = SharedQueues::new(3, QueueKind::default());
        let enter = || (0..3).for_each(|processor| shared_queues.idle.enter(processor));
        enter();
        let links = [(); 4].map(|()| Link::new());
        // SAFETY: the links outlive the queues, and each is queued once.
        let of = |index: usize| unsafe { Runnable::new(NonNull::from(&links[index])) };
        let node = |popped: Popped| popped.map(|runnable| runnable.node());
        assert!(shared_queues.has_none_staged() && !shared_queues.has_work());
        for turn in [0, 1, 2, 0] {
            enter();
            shared_queues.stage(of(turn));
            assert!(!shared_queues.has_none_staged() && shared_queues.has_work());
            sleep(shared_queues.sleeper(turn));
            assert_eq!(
                shared_queues.idle.claim(turn),
                Some((turn + 1) % 3),
                "turn {turn}"
            );
            assert_eq!(
                node(shared_queues.pop_staged()),
                Popped::Node(NonNull::from(&links[turn]))
            );
        }
        enter();
        shared_queues.push_background(of(3));
        assert!(shared_queues.has_none_staged() && shared_queues.has_work());
        sleep(shared_queues.sleeper(1));
        assert_eq!(
            node(shared_queues.pop_background()),
            Popped::Node(NonNull::from(&links[3]))
        );
        shared_queues.wake_one(2);
        sleep(shared_queues.sleeper(2));
        shared_queues.wake_one(2);
        sleep(shared_queues.sleeper(0));
        assert!(!shared_queues.idle.is_any() && !shared_queues.has_work());
    }

    /// Waits until a processor's thread is about to sleep on its futex.
    fn await_futex(sleeper: &Sleeper) {
        while !format!("{sleeper:?}").contains("Parker(Futex(1))") {
            thread::yield_now();
        }
    }

    /// A processor that sleeps on its futex moves over to the driver that it is given, and is woken
    /// there.
    #[test]
    fn a_sleeper_moves_to_its_driver() {
        let shared_queues = SharedQueues::new(2, QueueKind::default());
        let sleeper = shared_queues.sleeper(1);
        assert!(!shared_queues.has_one_driver() && sleeper.driver().is_none());
        let driver = Arc::new(Counting::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                while driver.left.load(Ordering::Acquire) == 0 {
                    sleep(sleeper);
                }
            });
            await_futex(sleeper);
            let shared: Arc<dyn Driver> = Arc::clone(&driver) as _;
            shared_queues.install_one_driver(&shared);
            while driver.sleeps.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            sleeper.unpark();
        });
        assert!(shared_queues.has_one_driver());
        assert!(shared_queues.sleeper(0).driver().is_some() && sleeper.driver().is_some());
        assert!(format!("{sleeper:?}").contains("has_driver: true"));
        // A processor that stands aside sleeps on its futex, whatever it has been given.
        let slept = driver.sleeps.load(Ordering::Acquire);
        thread::scope(|scope| {
            scope.spawn(|| {
                // The installation has notified it.
                shared_queues.sleeper(0).stand();
                shared_queues.sleeper(0).stand();
            });
            await_futex(shared_queues.sleeper(0));
            shared_queues.sleeper(0).unpark();
        });
        assert_eq!(driver.sleeps.load(Ordering::Acquire), slept);
    }
}
