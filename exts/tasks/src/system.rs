//! What tasks that live together share: where they run, how they come by permissions, and which of
//! them wait.

use crate::errors::TaskError;
use crate::request::Withdraw;
use fibre_core::Cluster;
use fibre_core::internal::{StopListener, listen_for_stop};
use std::io;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// How a task comes by its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acquisition {
    /// It enters the lines of all its objects at once, and is spawned when its turn has come: fair,
    /// and at no cost while it waits. The default.
    #[default]
    Lines,
    /// As Eve does it: a task that finds a permission missing goes to the end of the queue, and
    /// tries again when it is at its head. It has a stack meanwhile, and keeps its processor busy.
    /// There is no order: a task that wants several objects may be passed for ever by tasks that
    /// want one of them. For comparison.
    Requeue,
}

/// What tasks that live together share.
pub(crate) struct System {
    /// Where tasks run; `None` for the cluster of their spawner.
    pub(crate) cluster: Option<Cluster>,
    /// Whether the cluster was made for the tasks, and is stopped with them.
    pub(crate) owns_cluster: bool,
    pub(crate) acquisition: Acquisition,
    /// The tasks that may be waiting; `None` once the system has been stopped. The lock is a common
    /// one: a change may allocate.
    waiting: Mutex<Option<Vec<Weak<dyn Withdraw>>>>,
}

impl System {
    /// The system of tasks in this cluster. Those that still wait when that has been stopped are
    /// refused.
    pub(crate) fn new(cluster: Cluster, owns_cluster: bool, acquisition: Acquisition) -> Arc<Self> {
        let system = Arc::new(Self {
            cluster: Some(cluster.clone()),
            owns_cluster,
            acquisition,
            waiting: Mutex::new(Some(Vec::new())),
        });
        let stop_listener: Weak<Self> = Arc::downgrade(&system);
        if !listen_for_stop(&cluster, stop_listener) {
            system.withdraw_all();
        }
        system
    }

    /// The system of tasks that were spawned without one.
    pub(crate) fn loose() -> &'static Arc<Self> {
        static LOOSE: LazyLock<Arc<System>> = LazyLock::new(|| {
            Arc::new(System {
                cluster: None,
                owns_cluster: false,
                acquisition: Acquisition::Lines,
                waiting: Mutex::new(Some(Vec::new())),
            })
        });
        &LOOSE
    }

    /// Notes a task that waits. If the system has been stopped, nobody would end it any more.
    pub(crate) fn add_waiting(&self, task: Arc<dyn Withdraw>) {
        // Only what is stopped has to find its tasks.
        if self.cluster.is_none() {
            return;
        }
        {
            let mut waiting = self.lock();
            if let Some(waiting) = &mut *waiting {
                if waiting.len() == waiting.capacity() {
                    waiting.retain(|task| task.strong_count() > 0);
                    // So that it is not looked through again soon.
                    waiting.reserve(waiting.len() + 1);
                }
                waiting.push(Arc::downgrade(&task));
                return;
            }
        }
        task.withdraw(refused());
    }

    /// Takes the lock, which no panic leaves in disorder.
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Weak<dyn Withdraw>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all tasks that wait, and those to come.
    pub(crate) fn withdraw_all(&self) {
        let waiting = self.lock().take();
        for task in waiting
            .into_iter()
            .flatten()
            .filter_map(|task| task.upgrade())
        {
            task.withdraw(refused());
        }
    }
}

impl StopListener for System {
    fn cluster_stops(&self) {}

    fn cluster_has_stopped(&self) {
        self.withdraw_all();
    }
}

/// Why a task does not run after the stop of its system.
fn refused() -> TaskError {
    TaskError::Refused(io::Error::other("the cluster of the task has been stopped"))
}
