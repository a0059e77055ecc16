//! What tasks that live together share: where they run, how they come by permissions, and which of
//! them wait.

use crate::errors::TaskError;
use crate::request::Withdraw;
use fibre_core::Cluster;
use fibre_core::internal::ShortLock;
use std::io;
use std::sync::{Arc, LazyLock, Weak};

/// How a task comes by its permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acquisition {
    /// It enters the lines of all its objects at once, and is spawned when its turn has come: fair,
    /// and at no cost while it waits. The default.
    #[default]
    Lines,
    /// As Eve does it: a task that finds a permission missing goes to the end of the queue, and
    /// tries again when it is at its head. It has a stack meanwhile, keeps its processor busy, and
    /// may be passed by others again and again. For comparison.
    Requeue,
}

/// See the module text.
pub(crate) struct System {
    /// Where tasks run; `None` for the cluster of their spawner.
    pub(crate) cluster: Option<Cluster>,
    /// Whether the cluster was made for the tasks, and is stopped with them.
    pub(crate) owns_cluster: bool,
    pub(crate) acquisition: Acquisition,
    /// The tasks that may be waiting; `None` once the system has been stopped.
    waiting: ShortLock<Option<Vec<Weak<dyn Withdraw>>>>,
}

impl System {
    /// The system of tasks in this cluster.
    pub(crate) fn new(cluster: Cluster, owns_cluster: bool, acquisition: Acquisition) -> Self {
        Self {
            cluster: Some(cluster),
            owns_cluster,
            acquisition,
            waiting: ShortLock::new(Some(Vec::new())),
        }
    }

    /// The system of tasks that were spawned without one.
    pub(crate) fn loose() -> &'static Arc<Self> {
        static LOOSE: LazyLock<Arc<System>> = LazyLock::new(|| {
            Arc::new(System {
                cluster: None,
                owns_cluster: false,
                acquisition: Acquisition::Lines,
                waiting: ShortLock::new(Some(Vec::new())),
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
            let mut waiting = self.waiting.lock();
            if let Some(waiting) = &mut *waiting {
                if waiting.len() == waiting.capacity() {
                    waiting.retain(|task| task.strong_count() > 0);
                }
                waiting.push(Arc::downgrade(&task));
                return;
            }
        }
        task.withdraw(refused());
    }

    /// Ends all tasks that wait, and those to come.
    pub(crate) fn withdraw_all(&self) {
        let waiting = self.waiting.lock().take();
        for task in waiting
            .into_iter()
            .flatten()
            .filter_map(|task| task.upgrade())
        {
            task.withdraw(refused());
        }
    }
}

/// Why a task does not run whose system has been stopped.
fn refused() -> TaskError {
    TaskError::Refused(io::Error::other("the cluster of the task has been stopped"))
}
