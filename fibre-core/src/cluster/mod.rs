//! Clusters: processors that share work, and their threads.
//!
//! ```text
//!  running ── stop() or last handle dropped ──► draining ─── no fibre left ───► over
//!                                  stop_within() │             ▲                ▲
//!                                                └► cancelled ─┴─► abandoned ───┘
//! ```
//!
//! A draining cluster finishes what it has; only its own fibres can spawn more. Then the processors
//! end. If that takes too long, the cluster cancels all fibres. In the end it abandons those that
//! are left: they, and everything that their wakers may touch, stay where they are for ever.
//!
//! Files:
//!
//! * `builder`: the settings of a cluster to come;
//! * `policies`: the scheduler's choices, as methods of the builder;
//! * `room`: whether there is enough memory for a cluster, checked before it starts;
//! * `running`: what the handles of a cluster share;
//! * `handle`: the handle that programs hold;
//! * `cluster_threads`: the kernel threads of a cluster, as one value;
//! * `thread`: the kernel thread of one processor;
//! * `register`: all clusters of the process;
//! * `stop_listeners`: who lives in a cluster, and must know when it stops;
//! * `place`: where a fibre goes if its spawner names no cluster;
//! * `lazy`: clusters that start when first needed;
//! * `left`: how an error shows abandoned fibres;
//! * `compute`: the cluster for work that computes;
//! * `nodes`: clusters pinned to CPUs, and one for each NUMA node;
//! * `drivers`: how a layer above replaces the way processors sleep;
//! * `migrate`: moving the calling fibre to another cluster;
//! * `pause`: stopping the world of one cluster;
//! * `stop`: ending a cluster, at its own pace or within limits;
//! * `freeze`: holding all clusters still while the process ends;
//! * `look`: looking at all started fibres of a cluster from outside;
//! * `bookkeeping`: the words that clusters know their fibres by;
//! * `inspect`: everything a dump can show of fibres and processors;
//! * `processor_state`: a processor as layers above see it;
//! * `observe`: processors while they go on, for a layer above;
//! * `computing`: fibres that compute while others wait, for a layer above;
//! * `waits`: what all fibres wait for, seen from outside;
//! * `metrics`: what clusters and processors have counted;
//! * `observers`: functions of layers above that are called when the first cluster starts;
//! * `effective`: the settings that hold, and where each came from;
//! * `monitor`: the thread that notices stuck processors;
//! * `spares`: spare processors: what starts and ends them.

mod bookkeeping;
mod builder;
mod cluster_threads;
mod compute;
mod computing;
mod drivers;
mod effective;
mod freeze;
mod handle;
mod inspect;
mod lazy;
mod left;
mod look;
mod metrics;
mod migrate;
mod monitor;
mod nodes;
mod observe;
mod observers;
mod pause;
mod place;
mod policies;
mod processor_state;
mod register;
mod room;
mod running;
mod spares;
mod stop;
mod stop_listeners;
mod thread;
mod waits;

pub use bookkeeping::{FibreMemory, bookkeeping};
pub use builder::ClusterBuilder;
pub use compute::compute_defaults;
pub use computing::on_computing;
pub use drivers::{Drivers, IdleWaker, io_config, with_drivers};
pub use effective::{Origin, Setting, effective_settings};
pub use freeze::{Frozen, freeze, have_moved, live_fibres};
pub use handle::Cluster;
pub use inspect::{ClusterView, FibreView, FibreVisitor, ProcessorView, inspect};
pub(crate) use lazy::LazyCluster;
pub use metrics::{ClusterMetrics, ProcessMetrics, ProcessorMetrics, metrics};
pub use migrate::migrate_to;
pub(crate) use migrate::visit;
pub use observe::{observe, observe_running, sleep_until_busy};
pub use observers::on_first_cluster;
pub use pause::{PauseError, Paused};
pub(crate) use place::{caller_place, try_caller_place};
pub use processor_state::ProcessorState;
pub use stop::{StopError, StuckProcessor, listen_for_stop, switch_off};
pub use stop_listeners::StopListener;
pub use thread::{aside, start_helper};
pub use waits::{Waiting, waits};
