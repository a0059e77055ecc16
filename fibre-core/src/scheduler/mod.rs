//! What the processors of a cluster share, and how they decide.
//!
//! * `domain`: the state they share;
//! * `placement`: where new fibres go;
//! * `arrivals`: fibres on their way to where they will stay;
//! * `spread`: where new fibres go that will stay for long;
//! * `activity`: a fibre that is run again and again;
//! * `abandoned`: the activities that a cluster has left behind;
//! * `steal`: which processors an idle one helps;
//! * `watching`: whether idle processors are to look after busy ones;
//! * `hierarchy`: the processors as a tree, and what thieves and hubs note there;
//! * `control`: what a cluster's handles ask of its processors, and how far these have obeyed;
//! * `census`: how a reader asks the processors what is queued;
//! * `counts`: what a processor counts for metrics;
//! * `records`: the clusters of the process as a debugger finds them;
//! * `fibre_limit`: how many fibres a cluster may have.

#[cfg(not(loom))]
pub(crate) mod abandoned;
#[cfg(not(loom))]
pub(crate) mod activity;
#[cfg(not(loom))]
pub(crate) mod arrivals;
pub mod census;
pub mod control;
#[cfg(not(loom))]
pub(crate) mod counts;
#[cfg(not(loom))]
pub(crate) mod domain;
#[cfg(not(loom))]
pub(crate) mod fibre_limit;
#[cfg(not(loom))]
mod hierarchy;
#[cfg(not(loom))]
mod placement;
#[cfg(not(loom))]
pub(crate) mod records;
#[cfg(not(loom))]
mod spread;
#[cfg(not(loom))]
pub(crate) mod steal;
#[cfg(not(loom))]
mod watching;
