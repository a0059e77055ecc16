//! Clusters: processors that share work, and their threads.
//!
//! ```text
//!  running ── stop() or last handle dropped ──► stopping ── no fibre left ──► over
//! ```
//!
//! A stopping cluster finishes what it has; fibres may still be spawned by its
//! fibres, and by others as long as some fibre is left. Then the processors end.

mod builder;
mod halts;
mod handle;
mod lazy;
mod place;
mod policies;
mod running;
mod thread;

pub use builder::ClusterBuilder;
pub use halts::halt_of_caller;
pub use handle::Cluster;
pub(crate) use lazy::LazyCluster;
pub(crate) use place::{caller_place, try_caller_place};
