//! Clusters while they run, stand still, grow, and end.
//!
//! | file        | what it is about                                               |
//! |-------------|----------------------------------------------------------------|
//! | `growing`   | processors that are added to a running cluster                 |
//! | `pausing`   | stopping the world of a cluster, and letting it go on          |
//! | `stopping`  | the end of clusters, at their own pace and within limits       |
//! | `unwinding` | fibres that such an end unwinds                                |
//! | `firm`      | what it does not unwind, and loops of short time-outs          |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod firm;
mod growing;
mod pausing;
mod stopping;
mod unwinding;

use fibre::Cluster;

/// A cluster with this many processors.
fn cluster(processors: usize) -> Cluster {
    Cluster::builder().processors(processors).build().unwrap()
}
