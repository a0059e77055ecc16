//! Reads the topology from the kernel's files, `/sys/devices/system/{cpu,node}`.
//!
//! Containers hide some of these files, kernels do not all have the same ones, and virtual machines
//! put odd things into them. So each piece of information has a fallback of its own, and nothing is
//! an error: the reader ignores a missing or invalid file, and a list that leaves out its own CPU.
//! Only online CPUs count, and those of the caller's affinity mask, as containers that renumber
//! their CPUs in these files do not renumber them in the mask. Nothing is known about CPUs that
//! only the mask has.
//!
//! | what | file | else |
//! |---|---|---|
//! | CPUs | `cpu/online` | the folders `cpu/cpuN`; else the affinity mask |
//! | core | `cpuN/topology/core_cpus_list`, `thread_siblings_list` | the CPU alone |
//! | cache | `cpuN/cache/indexM/{level,type,shared_cpu_list}` | the next smaller group |
//! | package | `cpuN/topology/package_cpus_list`, `core_siblings_list` | all CPUs |
//! | nodes | the folders `node/nodeN` with `cpulist` and `distance` | one with all CPUs |

use super::cpu_set::CpuSet;
use super::machine::{Cpu, Node, Topology};
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// The folder where the kernel describes the machine.
const ROOT: &str = "/sys/devices/system";

impl Topology {
    /// This machine, as the files in `/sys/devices/system` describe it. Blocks the
    /// thread while it reads some files per CPU.
    ///
    /// ```
    /// let machine = fibre::topology::Topology::of_machine();
    /// assert!(!machine.cpus().is_empty());
    /// ```
    #[must_use]
    pub fn of_machine() -> Self {
        let allowed = CpuSet::of_thread().unwrap_or_default();
        match Self::from_sys(Path::new(ROOT)) {
            Some(machine) => machine.with(&allowed),
            None if allowed.is_empty() => Self::flat(&[0].into_iter().collect()),
            None => Self::flat(&allowed),
        }
    }

    /// The machine that a copy of that folder describes; `None` if no CPU is found in it.
    ///
    /// ```
    /// let folder = std::path::Path::new("/sys/devices/system");
    /// if let Some(machine) = fibre::topology::Topology::from_sys(folder) {
    ///     assert!(machine.nodes().len() >= 1);
    /// }
    /// ```
    #[must_use]
    pub fn from_sys(folder: &Path) -> Option<Self> {
        let online = online(&folder.join("cpu"));
        if online.is_empty() {
            return None;
        }
        let read = |number| cpu(&folder.join(format!("cpu/cpu{number}")), number, &online);
        let cpus = online.iter().map(read).collect();
        Some(Self::new(cpus, nodes(&folder.join("node"))))
    }
}

/// The content of a file, if there is any.
fn value<T: FromStr>(file: &Path) -> Option<T> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The numbers N of the entries `prefixN` of a folder, ascending.
fn numbered(folder: &Path, prefix: &str) -> CpuSet {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_prefix(prefix)?
                .parse()
                .ok()
        })
        .collect()
}

/// The CPUs that are online.
fn online(folder: &Path) -> CpuSet {
    if let Some(online) = value::<CpuSet>(&folder.join("online")).filter(|set| !set.is_empty()) {
        return online;
    }
    // The first CPU of many machines cannot be switched off, and has no such file.
    let is_on = |cpu: &usize| value(&folder.join(format!("cpu{cpu}/online"))) != Some(0);
    let present = numbered(folder, "cpu");
    present.iter().filter(is_on).collect()
}

/// One CPU, from its folder.
fn cpu(folder: &Path, number: usize, online: &CpuSet) -> Cpu {
    let topology = folder.join("topology");
    let named = |names: [&str; 2]| {
        let mut files = names.iter().map(|name| topology.join(name));
        files.find_map(|file| group(&file, number, online))
    };
    let core = named(["core_cpus_list", "thread_siblings_list"]).unwrap_or(number);
    let l2 = cache(folder, 2, number, online).unwrap_or(core);
    Cpu {
        core,
        l2,
        l3: cache(folder, 3, number, online).unwrap_or(l2),
        package: named(["package_cpus_list", "core_siblings_list"])
            .or_else(|| online.first())
            .unwrap_or(number),
        ..Cpu::alone(number)
    }
}

/// The name of the group in a file, if this CPU is in it.
fn group(file: &Path, member: usize, online: &CpuSet) -> Option<usize> {
    let group: CpuSet = value(file)?;
    let group = group.intersection(online);
    group.first().filter(|_| group.contains(member))
}

/// The group that shares the CPU's cache of this level, if it has one.
fn cache(folder: &Path, level: u32, member: usize, online: &CpuSet) -> Option<usize> {
    let caches = folder.join("cache");
    numbered(&caches, "index").iter().find_map(|index| {
        let cache = caches.join(format!("index{index}"));
        let instructions = value::<String>(&cache.join("type")).is_some_and(|t| t == "Instruction");
        if instructions || value(&cache.join("level")) != Some(level) {
            return None;
        }
        group(&cache.join("shared_cpu_list"), member, online)
    })
}

/// The NUMA nodes that exist; their CPUs may include some that are not online.
fn nodes(folder: &Path) -> Vec<Node> {
    let numbers = match value::<CpuSet>(&folder.join("online")) {
        Some(online) => online.intersection(&numbered(folder, "node")),
        None => numbered(folder, "node"),
    };
    let read = |number| {
        let node = folder.join(format!("node{number}"));
        let distances = fs::read_to_string(node.join("distance")).unwrap_or_default();
        Node {
            number,
            cpus: value(&node.join("cpulist")).unwrap_or_default(),
            distances: distances
                .split_whitespace()
                .map_while(|distance| distance.parse().ok())
                .collect(),
        }
    };
    numbers.iter().map(read).collect()
}

#[cfg(test)]
#[path = "sys_tests.rs"]
mod tests;
