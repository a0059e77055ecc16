//! What the benchmarks of primitives share.
//!
//! A loop is run by a *worker*, a fibre or a thread, which reads the clock itself
//! ([`workers`]): neither criterion nor the join from outside is in a figure. Two shapes
//! of more than one worker come up again and again: the *rally* of two who answer each
//! other ([`mod@rally`]), and the *contest* of several who do the same at the same time
//! ([`contest`]), after which it is told how evenly they got on ([`fairness`]).
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

pub use clock::{in_proportion, time, time_batches};
pub use contest::Contest;
pub use fairness::Fairness;
pub use groups::{Group, add, criterion, member};
pub use must::must;
pub use rally::{Players, rally};
pub use workers::{Running, Workers};
