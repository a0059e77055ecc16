//! Clusters: processors that share work, and their threads.
//!
//! ```text
//!  running ── stop() or last handle dropped ──► draining ─── no fibre left ───► over
//!                                  stop_within() │             ▲                ▲
//!                                                └► cancelled ─┴─► abandoned ───┘
//! ```
//!
//! A draining cluster finishes what it has; only its own fibres can spawn more. Then
//! the processors end. If that takes too long, all fibres are cancelled, and in the end
//! those that are left are abandoned: they, and all that may be touched by who wakes them,
//! stay where they are for ever.

mod builder;
mod freeze;
mod halts;
mod handle;
mod lazy;
mod migrate;
mod nodes;
mod pause;
mod place;
mod policies;
mod register;
mod running;
mod stop;
mod thread;
mod waits;

pub use builder::ClusterBuilder;
pub use freeze::{Frozen, freeze, live_fibres};
pub use halts::{Bell, Halts, choices_above, with_halts};
pub use handle::Cluster;
pub(crate) use lazy::LazyCluster;
pub use migrate::migrate_to;
pub(crate) use migrate::visit;
pub use pause::{PauseError, Paused};
pub(crate) use place::{caller_place, try_caller_place};
pub use stop::{StopError, StuckProcessor};
pub use thread::start_helper;
pub use waits::{Waiting, waits};
