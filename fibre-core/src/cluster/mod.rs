//! Clusters: processors that share work, and their threads.
//!
//! ```text
//!  running ── stop() or last handle dropped ──► draining ── no fibre left ──► over
//! ```
//!
//! A draining cluster finishes what it has; only its own fibres can spawn more. Then
//! the processors end.

mod builder;
mod halts;
mod handle;
mod lazy;
mod nodes;
mod pause;
mod place;
mod policies;
mod running;
mod thread;

pub use builder::ClusterBuilder;
pub use halts::halt_of_caller;
pub use handle::Cluster;
pub(crate) use lazy::LazyCluster;
pub use pause::{PauseError, Paused};
pub(crate) use place::{caller_place, try_caller_place};
