//! What a process' processors have done so far: as a value, as lines, and over HTTP.
//!
//! Programs call [`metrics`]. The rest is switched on by environment variables, in programs that
//! know nothing of it: `FIBRE_STATS`, `FIBRE_SCHEDTRACE` and `FIBRE_METRICS`. The core counts, at
//! detours only; no fibre runs through this code.
//!
//! [`text`] is the value for people, [`exposition`](mod@exposition) the value as OpenMetrics text,
//! and [`plain_text`] that in Prometheus' older format. [`request`] is what an HTTP client asks,
//! [`fork`] the sockets that a forked child closes, [`connection`] one client, which may be slow or
//! hostile, and [`server`] the thread behind `FIBRE_METRICS`. [`schedtrace`] writes the lines of
//! `FIBRE_SCHEDTRACE`, and [`start`] begins what the environment asks for.

mod connection;
mod exposition;
mod fork;
mod plain_text;
mod request;
mod schedtrace;
mod server;
pub(crate) mod start;
mod text;

pub use self::exposition::exposition;

use fibre_core::internal::{self, ProcessMetrics, blocking_metrics};
use fibre_core::{BlockingMetrics, ClusterMetrics, Counters, StackCounts};
use std::time::Duration;

/// What a process' processors have done so far. See [`metrics`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// The time since the first cluster was started; zero: there has been none.
    pub uptime: Duration,
    /// The clusters, those included that have been stopped and still end.
    pub clusters: Vec<ClusterMetrics>,
    /// What the clusters had counted that are gone.
    pub gone: Counters,
    /// Fibres that have been cancelled.
    pub cancelled: u64,
    /// The stacks of fibres.
    pub stacks: StackCounts,
    /// The calls that fibres have made on threads of their own.
    pub blocking: BlockingMetrics,
}

impl Metrics {
    /// What all clusters have counted, those included that are gone.
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
            stacks,
            ..
        } = internal::metrics(asks);
        Self {
            uptime,
            clusters,
            gone,
            cancelled,
            stacks,
            blocking: blocking_metrics(),
        }
    }
}

/// What the processors of this process have done so far: switches, spawns, steals, sleeps, polls,
/// deadlines, and how many fibres live, run or wait. `to_string` makes text for people of it.
///
/// Counters are read as they are, without stopping anything; those of a processor are up to 256
/// switches, or some 200 µs, old. What is queued each processor counts when it is asked, so this
/// blocks the fibre, or the thread if the caller is not a fibre, for some 200 µs. If a fibre keeps
/// a processor, it takes 10 ms, and what is queued there is not known. In a forked child none is
/// asked.
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
