//! Stopping the world of one cluster for a while.

use super::handle::Cluster;
use crate::scheduler::control::ProcessorPhase;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::Instant;

/// While this exists, no fibre of the cluster runs. See [`Cluster::pause`].
#[derive(Debug)]
#[must_use = "the cluster goes on when this is dropped"]
pub struct Paused {
    /// Keeps the cluster alive, too.
    cluster: Cluster,
}

/// Why a cluster could not be paused. The cluster goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseError {
    /// The caller is one of its own fibres, which would wait for itself.
    Inside,
    /// The deadline passed first: fibres of these processors have not switched.
    TimedOut {
        /// The processors, as [`processor`](crate::processor()) numbers them.
        processors: Vec<usize>,
    },
}

impl fmt::Display for PauseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inside => f.write_str("a cluster cannot be paused by one of its own fibres"),
            Self::TimedOut { processors } => {
                write!(f, "the fibres of processors {processors:?} do not switch")
            }
        }
    }
}

impl Error for PauseError {}

impl From<PauseError> for io::Error {
    fn from(error: PauseError) -> Self {
        let kind = match error {
            PauseError::Inside => io::ErrorKind::Deadlock,
            PauseError::TimedOut { .. } => io::ErrorKind::TimedOut,
        };
        Self::new(kind, error)
    }
}

impl Cluster {
    /// Stops all processors, each between two fibres; returns when all of them stand still. Until
    /// the result is dropped nothing of this cluster runs: woken fibres wait, and so do those that
    /// events are for. Several pauses may overlap; the last to end counts. Blocks the fibre (of
    /// another cluster), or the thread if the caller is not a fibre.
    ///
    /// A processor sees the wish when its fibre switches, a few hundred microseconds later at most.
    /// A processor cannot be stopped while its fibre computes without ever blocking or yielding:
    /// see [`pause_until`](Self::pause_until). Clusters wait for ever if their fibres pause each
    /// other's.
    ///
    /// ```
    /// let cluster = fibre::Cluster::builder().processors(2).build()?;
    /// let paused = cluster.pause()?;
    /// let fibre = cluster.spawn(|| ()); // has to wait
    /// assert!(!fibre.is_finished());
    /// drop(paused);
    /// fibre.join().unwrap();
    /// cluster.stop();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PauseError::Inside`].
    pub fn pause(&self) -> Result<Paused, PauseError> {
        self.pause_before(None)
    }

    /// [`pause`](Self::pause) that gives up at `deadline`, and then lets all processors go on.
    ///
    /// # Errors
    ///
    /// [`PauseError::Inside`] and [`PauseError::TimedOut`].
    pub fn pause_until(&self, deadline: Instant) -> Result<Paused, PauseError> {
        self.pause_before(Some(deadline))
    }

    /// [`pause_until`](Self::pause_until), if there is a deadline.
    fn pause_before(&self, deadline: Option<Instant>) -> Result<Paused, PauseError> {
        if self.0.is_callers() {
            return Err(PauseError::Inside);
        }
        let domain = &self.0.domain;
        // Takes the wish back when dropped, also in case of an error.
        let paused = Paused::begin(self.clone());
        if self.0.wait_for(ProcessorPhase::Still, deadline) {
            return Ok(paused);
        }
        let processors = domain.control.not_at(ProcessorPhase::Still);
        if processors.is_empty() {
            // The last processor stood still just as the deadline passed.
            return Ok(paused);
        }
        Err(PauseError::TimedOut { processors })
    }
}

impl Paused {
    /// Wishes for a standstill, without waiting for it.
    pub(super) fn begin(cluster: Cluster) -> Self {
        cluster.0.domain.control.want_pause();
        cluster.0.domain.unpark_all();
        Self { cluster }
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let domain = &self.cluster.0.domain;
        if domain.control.end_pause() {
            domain.unpark_all();
        }
    }
}
