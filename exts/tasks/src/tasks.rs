//! Tasks that are stopped together.

use crate::system::{Acquisition, System};
use crate::task::{Task, spawn_in};
use crate::wants::Wants;
use fibre_core::{Cluster, Placement, QueueKind, StopError};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Tasks that run in one cluster and are stopped together. A counted handle.
///
/// ```
/// use fibre_tasks::{Shared, Tasks, task};
///
/// let tasks = Tasks::builder().processors(2).build()?;
/// let sum = Shared::new(0);
/// for number in 1..=10 {
///     drop(task!(tasks, [+sum, =number] { *sum += number }));
/// }
/// tasks.stop();
/// assert_eq!(sum.into_inner().unwrap(), 55);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Tasks(Arc<System>);

/// How [`Tasks`] are to be.
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is made before `build`"]
pub struct TasksBuilder {
    processors: Option<usize>,
    order: Order,
    acquisition: Acquisition,
}

/// Which of the tasks that can run a processor takes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The oldest: for servers. The default.
    #[default]
    Arrival,
    /// The newest of its own, and the oldest of another's, as Cilk and Eve do: for work that
    /// divides itself. It goes into depth, and so has few tasks at a time that have begun. Source:
    /// Frigo, Leiserson and Randall, "The implementation of the Cilk-5 multithreaded language"
    /// (1998).
    Newest,
}

impl TasksBuilder {
    /// Sets the number of processors. Default: that of the [default
    /// cluster](fibre_core::default_processors).
    pub fn processors(mut self, count: usize) -> Self {
        self.processors = Some(count);
        self
    }

    /// Sets which tasks run first. Default: [`Order::Arrival`].
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Sets how tasks come by their permissions. Default: [`Acquisition::Lines`].
    pub fn acquisition(mut self, acquisition: Acquisition) -> Self {
        self.acquisition = acquisition;
        self
    }

    /// Starts a cluster for the tasks.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started, or there is no memory.
    pub fn build(self) -> io::Result<Tasks> {
        let cluster = Cluster::builder().name("tasks");
        let cluster = match self.processors {
            Some(count) => cluster.processors(count),
            None => cluster,
        };
        let cluster = match self.order {
            Order::Arrival => cluster,
            Order::Newest => cluster
                .queue(QueueKind::TwoEnded)
                .placement(Placement::Head),
        };
        Ok(Tasks::of(cluster.build()?, true, self.acquisition))
    }

    /// Uses a cluster that others use, too: it is not stopped with the tasks. A number of
    /// processors and an order have no effect. Tasks that wait when the cluster has been stopped
    /// are [refused](crate::TaskError::Refused).
    #[must_use]
    pub fn in_cluster(self, cluster: &Cluster) -> Tasks {
        Tasks::of(cluster.clone(), false, self.acquisition)
    }
}

impl Tasks {
    /// Settings for tasks, with a cluster of their own, or in another's.
    pub fn builder() -> TasksBuilder {
        TasksBuilder::default()
    }

    /// Tasks in this cluster.
    fn of(cluster: Cluster, owns_cluster: bool, acquisition: Acquisition) -> Self {
        Self(System::new(cluster, owns_cluster, acquisition))
    }

    /// Spawns a task, as [`spawn`](crate::spawn) does, in the cluster of these. Blocks nothing.
    ///
    /// # Panics
    ///
    /// If the same object is wanted twice.
    pub fn task<W, F, R>(&self, wants: W, closure: F) -> Task<R>
    where
        W: Wants<'static>,
        F: FnOnce(W::Guards) -> R + Send + 'static,
        R: Send + 'static,
    {
        spawn_in(&self.0, wants, closure)
    }

    /// The cluster that they run in.
    #[must_use]
    pub fn cluster(&self) -> Option<&Cluster> {
        self.0.cluster.as_ref()
    }

    /// Ends all. Tasks that run, and those that these admit, run to their end; then the cluster
    /// ends, if it is of the tasks' own, and those that still wait for others are
    /// [refused](crate::TaskError::Refused), as all later ones. Blocks the thread, or the fibre,
    /// which is of another cluster.
    ///
    /// In a cluster that is not their own only waiting ones end.
    pub fn stop(self) {
        if let Some(cluster) = self.0.cluster.as_ref().filter(|_| self.0.owns_cluster) {
            cluster.clone().stop();
        }
        self.0.withdraw_all();
    }

    /// [`stop`](Self::stop), which waits so long for fibres to end by themselves, then cancels them
    /// and waits so long again; in the middle of that it unwinds what waits (see
    /// [`Cluster::stop_within`]). Fibres that have not ended by then are left behind, with the
    /// permissions that they have.
    ///
    /// # Errors
    ///
    /// Which fibres were left behind, and where processors are stuck.
    pub fn stop_within(self, drain: Duration, cancel: Duration) -> Result<(), StopError> {
        let owned = self.0.cluster.as_ref().filter(|_| self.0.owns_cluster);
        let stopped = owned.map_or(Ok(()), |cluster| cluster.clone().stop_within(drain, cancel));
        self.0.withdraw_all();
        stopped
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("cluster", &self.0.cluster)
            .field("acquisition", &self.0.acquisition)
            .finish_non_exhaustive()
    }
}
