//! The topology as the library hwloc sees it, with the cargo feature `hwloc`.
//!
//! It knows more sources than the kernel's files (device trees, the CPUs themselves, a
//! machine described in XML by `HWLOC_XMLFILE`), and corrects what some kernels say.

use super::cpu_set::CpuSet;
use super::machine::{Cpu, Node, Topology};
use crate::sys::environment;
use hwlocality::Topology as Hwloc;
use hwlocality::object::TopologyObject;
use hwlocality::object::distance::DistancesKind;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::BuildFlags;
use std::io;

impl Topology {
    /// This machine as hwloc describes it. Needs the cargo feature `hwloc`. Blocks the
    /// thread for some milliseconds.
    ///
    /// ```
    /// let machine = fibre::topology::Topology::from_hwloc().unwrap();
    /// assert!(!machine.cpus().is_empty());
    /// ```
    ///
    /// # Errors
    ///
    /// When hwloc finds no CPU, or fails; in a program with more rights than its caller, who could
    /// have hwloc load code by its environment variables.
    pub fn from_hwloc() -> io::Result<Self> {
        if environment::is_foreign() {
            let words = "the environment is not to be trusted, and hwloc trusts it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
        }
        // Also CPUs that the control group does not allow: as the kernel's files do.
        let builder = Hwloc::builder().with_flags(BuildFlags::INCLUDE_DISALLOWED);
        let hwloc = builder.map_err(io::Error::other)?.build();
        let hwloc = hwloc.map_err(io::Error::other)?;
        let mut cpus: Vec<Cpu> = hwloc
            .objects_with_type(ObjectType::PU)
            .filter_map(cpu)
            .collect();
        cpus.sort_by_key(|cpu| cpu.number);
        if cpus.is_empty() {
            return Err(io::Error::other("hwloc finds no CPU"));
        }
        Ok(Self::new(cpus, nodes(&hwloc)?))
    }
}

/// The CPUs of an object.
fn cpu_set(object: &TopologyObject) -> CpuSet {
    let set = object.cpuset();
    set.iter()
        .flat_map(|set| set.iter_set())
        .map(usize::from)
        .collect()
}

/// One CPU.
fn cpu(unit: &TopologyObject) -> Option<Cpu> {
    let number = unit.os_index()?;
    let group = |kind| cpu_set(unit.first_ancestor_with_type(kind)?).first();
    let core = group(ObjectType::Core).unwrap_or(number);
    let l2 = group(ObjectType::L2Cache).unwrap_or(core);
    Some(Cpu {
        core,
        l2,
        l3: group(ObjectType::L3Cache).unwrap_or(l2),
        package: group(ObjectType::Package).unwrap_or(0),
        ..Cpu::alone(number)
    })
}

/// The NUMA nodes, and the distances that the system reports.
fn nodes(hwloc: &Hwloc) -> io::Result<Vec<Node>> {
    let kind = Some(DistancesKind::FROM_OS | DistancesKind::MEANS_LATENCY);
    let told = hwloc.distances_with_type(kind, ObjectType::NUMANode);
    let told = told.map_err(io::Error::other)?;
    let mut objects: Vec<&TopologyObject> = hwloc.objects_with_type(ObjectType::NUMANode).collect();
    objects.sort_by_key(|object| object.os_index());
    let node = |from: &TopologyObject| {
        let distances = objects.iter().map(|to| {
            let (there, _back) = told.first()?.object_pair_distance((from, to))?;
            u32::try_from(there).ok()
        });
        Some(Node {
            number: from.os_index()?,
            cpus: cpu_set(from),
            distances: distances.collect::<Option<_>>().unwrap_or_default(),
        })
    };
    Ok(objects.iter().filter_map(|from| node(from)).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Both readers describe this machine alike.
    #[test]
    fn agrees_with_the_kernels_files() {
        assert_eq!(Topology::from_hwloc().unwrap(), Topology::of_machine());
    }
}
