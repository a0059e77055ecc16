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
//! Modules, lowest first: `work` (a unit of computing), `fairness` and `memory` (what is read
//! beside the times), `calibrate` (how long a repetition becomes), `protocol` (arguments,
//! answers, exit codes), `blocking` (the traits), `workloads`, [`library`] (programs over actors
//! for libraries of others), `ask`, `rest`, `actors` (ours), `events` and `tasks` (over these),
//! [`served`] (servers that are programs of their own), one module for each runtime.

mod actors;
mod ask;
mod blocking;
mod calibrate;
pub mod corosensei;
pub mod crossbeam;
mod events;
mod fairness;
pub mod fibre;
pub mod flume;
pub mod library;
pub mod may;
mod memory;
mod pipes;
mod protocol;
pub mod rayon;
mod rest;
pub mod served;
mod tasks;
pub mod thread;
pub mod tokio;
mod wires;
mod work;
mod workloads;

pub use protocol::{Workload, main};
