//! The peer programs: what each runtime calls spawn, yield, semaphore, …, and
//! the workloads they are measured with.
//!
//! A *peer* is a program for one runtime. It speaks the peer protocol
//! ([`main`]): it names its workloads, and runs one repetition of the one it is
//! asked for. A *workload* is written once for all runtimes in blocking style,
//! over the traits of `blocking`, so that no two of them can differ by
//! accident. tokio's tasks are futures, so [`tokio`] writes the same workloads
//! out in async form, line by line beside the blocking one; [`corosensei`] has
//! no scheduler and offers what there is without one.
//!
//! Modules, lowest first: `work` (a unit of computing), `fairness` and
//! `memory` (what is read beside the times), `calibrate` (how long a
//! repetition becomes), `protocol` (arguments, answers, exit codes),
//! `blocking` (the traits), `workloads`, `actors` (the same for programs over actors), one module
//! for each runtime.

mod actors;
mod blocking;
mod calibrate;
pub mod corosensei;
pub mod crossbeam;
mod fairness;
pub mod fibre;
pub mod flume;
pub mod may;
mod memory;
mod pipes;
mod protocol;
pub mod thread;
pub mod tokio;
mod wires;
mod work;
mod workloads;

pub use protocol::{Workload, main};
