//! What the processors of a cluster share, and how they decide.
//!
//! * `domain`: the state they share;
//! * `placement`: where new fibres go;
//! * `arrivals`: fibres on their way to a processor where they will stay;
//! * `spread`: where new long-lived fibres go;
//! * `activity`: a fibre that is run again and again;
//! * `abandoned`: abandoned activities that have not been told yet;
//! * `steal`: which processors an idle one helps;
//! * `watching`: whether idle processors are to look after busy ones;
//! * `processor_tree`: the processors as a tree, and what thieves and hubs note there;
//! * `control`: what a cluster's handles request of its processors, and how far these have carried
//!   it out;
//! * `queue_counts`: how a reader asks the processors what is queued;
//! * `counts`: what a processor counts, for the domain and for metrics;
//! * `records`: the clusters of the process as a debugger finds them;
//! * `fibre_limit`: how many fibres a cluster may have.

pub(crate) mod abandoned;
pub(crate) mod activity;
pub(crate) mod arrivals;
pub mod control;
pub(crate) mod counts;
pub(crate) mod domain;
pub(crate) mod fibre_limit;
mod placement;
mod processor_tree;
pub mod queue_counts;
pub(crate) mod records;
mod spread;
pub(crate) mod steal;
mod watching;
