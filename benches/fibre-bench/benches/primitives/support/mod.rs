//! What the benchmarks of primitives share.
//!
//! A loop is run by a *worker*, a fibre or a thread, which reads the clock itself ([`workers`]):
//! neither criterion nor the join from outside is in a figure. Two shapes of more than one worker
//! come up again and again: the *rally* of two who answer each other ([`mod@rally`]), and the
//! *contest* of several who do the same at the same time ([`contest`]). Afterwards it is told how
//! evenly they got on ([`fairness`]).
//!
//! Every group is named after a primitive and has a member `fibre`, ours, and others named
//! after what it is compared with. "On 1" and "on 2" say how many processors the fibres
//! have, and to how many cores the threads are pinned.

mod clock;
mod contest;
mod fairness;
mod gate;
mod groups;
mod must;
mod rally;
mod workers;

pub(crate) use clock::{in_proportion, time, time_batches};
pub(crate) use contest::Contest;
pub(crate) use fairness::Fairness;
pub(crate) use groups::{Group, add, criterion, member};
pub(crate) use must::must;
pub(crate) use rally::{Players, rally};
pub(crate) use workers::{Running, Workers};
