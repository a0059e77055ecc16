//! What a process's processors have done so far: as a value, as lines, and over HTTP.
//!
//! Programs call [`metrics`]. Environment variables switch on everything else, in any program:
//! `FIBRE_STATS`, `FIBRE_SCHEDTRACE` and `FIBRE_METRICS`. The core counts, at detours only; no
//! fibre runs through this code.
//!
//! [`text`] shows the value to people, [`exposition`](mod@exposition) writes it as OpenMetrics
//! text, and [`plain_text`] converts that to Prometheus's older format. [`request`] parses an HTTP
//! client's request, [`fork`] has the sockets that a forked child closes, [`connection`] serves one
//! client, which may be slow or hostile, [`server`] is the thread behind `FIBRE_METRICS`, and
//! [`pages`] makes its pages for people.
//! [`schedtrace`] writes the lines of `FIBRE_SCHEDTRACE`, and [`start`] starts what the environment
//! asks for. Without the feature `metrics`, [`server`] only says that there is none, and what it
//! needs is left out, with what that needs of other crates.

#[cfg(feature = "metrics")]
mod connection;
#[cfg(feature = "metrics")]
mod exposition;
#[cfg(feature = "metrics")]
mod fork;
#[cfg(feature = "metrics")]
mod pages;
#[cfg(feature = "metrics")]
mod plain_text;
#[cfg(feature = "metrics")]
mod request;
mod schedtrace;
#[cfg_attr(not(feature = "metrics"), path = "no_server.rs")]
mod server;
pub(crate) mod start;
mod text;

#[cfg(feature = "metrics")]
pub use self::exposition::{add_exposition, exposition};

use crate::sample::stuck::StuckCounts;
use fibre_core::internal::{self, ProcessMetrics, blocking_metrics};
use fibre_core::{BlockingMetrics, ClusterMetrics, Counters, StackCounts, ThreadBlockCounts};
use std::time::Duration;

/// What a process's processors have done so far. See [`metrics`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// The time since the first cluster was started; zero: there has been none.
    pub uptime: Duration,
    /// The clusters, including those that have been stopped and are still ending.
    pub clusters: Vec<ClusterMetrics>,
    /// The counts of ended clusters.
    pub gone: Counters,
    /// Fibres that have been cancelled.
    pub cancelled: u64,
    /// Failures of fibres that nobody has learned of by joining them; see `on_detached_failure`.
    pub detached_failures: u64,
    /// The searches for stuck fibres; see [`stuck`](crate::stuck()).
    pub stuck: StuckCounts,
    /// The stacks of fibres.
    pub stacks: StackCounts,
    /// The thread blocks of fibres with thread-locals of their own.
    pub thread_blocks: ThreadBlockCounts,
    /// The calls that fibres have made on threads of their own.
    pub blocking: BlockingMetrics,
}

impl Metrics {
    /// The counts of all clusters, including ended ones.
    #[must_use]
    pub fn totals(&self) -> Counters {
        let all = self.clusters.iter().map(ClusterMetrics::totals);
        all.fold(self.gone, |sum, one| sum + one)
    }

    /// Fibres that have been spawned and have not ended, in all clusters.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.clusters.iter().map(|cluster| cluster.live).sum()
    }

    /// The counters alone: no processor is asked what is queued, and nothing is waited for.
    pub(crate) fn counters() -> Self {
        Self::read(false)
    }

    /// Reads what there is.
    fn read(asks: bool) -> Self {
        let ProcessMetrics {
            uptime,
            clusters,
            gone,
            cancelled,
            detached_failures,
            stacks,
            thread_blocks,
            ..
        } = internal::metrics(asks);
        Self {
            uptime,
            clusters,
            gone,
            cancelled,
            detached_failures,
            stuck: StuckCounts::read(),
            stacks,
            thread_blocks,
            blocking: blocking_metrics(),
        }
    }
}

/// What the processors of this process have done so far: switches, spawns, steals, sleeps, polls,
/// deadlines, and how many fibres live, run or wait. `to_string` makes text for people of it.
///
/// Reads the counters as they are, without stopping anything; those of a processor are up to 256
/// switches, or some 200 µs, old. Each processor counts its queued fibres when asked, so this
/// blocks the fibre, or the thread if the caller is not a fibre, for some 200 µs. If a fibre keeps
/// a processor, the call takes 10 ms, and that processor's queue stays unknown. In a forked child
/// it asks none.
///
/// ```
/// let before = fibre::metrics().totals();
/// let fibres: Vec<_> = (0..10).map(|_| fibre::spawn(fibre::yield_now)).collect();
/// fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
/// let metrics = fibre::metrics();
/// assert_eq!(metrics.totals().spawned - before.spawned, 10);
/// println!("{metrics}");
/// ```
#[must_use]
pub fn metrics() -> Metrics {
    Metrics::read(true)
}
