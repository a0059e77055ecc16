//! Clusters while they run, stand still, grow, and end.
//!
//! | file        | what it is about                                               |
//! |-------------|----------------------------------------------------------------|
//! | `growing`   | processors that are added to a running cluster                 |
//! | `pausing`   | stopping the world of a cluster, and letting it go on          |
//! | `stopping`  | the end of clusters, at their own pace and within limits       |
//! | `unwinding` | fibres that such an end unwinds                                |
//! | `grown`     | the same where processors have been added meanwhile            |
//! | `firm`      | what it does not unwind, and loops of short time-outs          |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod firm;
mod growing;
mod grown;
mod pausing;
mod stopping;
mod unwinding;

use crate::support::processor_counts;
use fibre::Cluster;

/// A cluster with this many processors.
fn cluster(processors: usize) -> Cluster {
    Cluster::builder().processors(processors).build().unwrap()
}

/// What becomes of the started fibres of a cluster.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// They stay with their processor.
    Stay,
    /// They may move.
    Move,
    /// They move at every turn.
    Forced,
    /// They do so, and have thread-locals of their own.
    Own,
}

impl Kind {
    /// A cluster of this kind.
    fn cluster(self, processors: usize) -> Cluster {
        let builder = Cluster::builder().processors(processors);
        // SAFETY: the fibres of these tests keep nothing across a wait that belongs to a kernel
        // thread.
        let builder = unsafe {
            match self {
                Self::Stay => builder,
                Self::Move => builder.move_started_fibres(),
                Self::Forced => builder.force_migration(),
                Self::Own => builder.own_thread_locals().force_migration(),
            }
        };
        builder.build().unwrap()
    }
}

/// Each kind with each number of processors.
fn kinds() -> Vec<(Kind, usize)> {
    let kinds = [Kind::Stay, Kind::Move, Kind::Forced, Kind::Own];
    let with_counts = |kind| {
        processor_counts()
            .into_iter()
            .map(move |count| (kind, count))
    };
    kinds.into_iter().flat_map(with_counts).collect()
}
