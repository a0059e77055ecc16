//! The machine as a scheduler sees it, and how much of it this process may use.
//!
//! * `cpu_set`: sets of CPUs, the kernel's notation for them, the affinity mask;
//! * `machine`: the value [`Topology`], and how near two CPUs are to each other;
//! * `sys`, `text` and, with the feature `hwloc`, `hwloc`: the sources it is read from;
//! * `victims`: the order in which idle processors help others;
//! * `tree`: the processors as leaves of a tree, which thieves climb;
//! * `spread`: processors that are far from each other;
//! * `pinning`, `shares`: which CPUs each processor runs on;
//! * `quota`: how many processors to have.

mod cpu_set;
#[cfg(feature = "hwloc")]
mod hwloc;
mod machine;
mod pinning;
mod quota;
mod shares;
mod spread;
mod sys;
mod text;
mod tree;
mod victims;

#[cfg(test)]
pub(crate) use cpu_set::each;
pub use cpu_set::{CpuSet, ParseCpuSetError};
pub use machine::{Cpu, Node, Proximity, Topology};
pub use pinning::Pinning;
pub(crate) use pinning::Places;
pub(crate) use quota::available;
pub(crate) use shares::Share;
pub use text::ParseTopologyError;
pub(crate) use tree::Tree;
