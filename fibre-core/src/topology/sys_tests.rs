//! Machines written into a folder as kernels write them into `/sys/devices/system`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::topology::Proximity;
use std::path::PathBuf;

/// A folder that is gone when the test ends.
struct Sys(PathBuf);

impl Sys {
    /// An empty folder; `name` is the test's own.
    fn new(name: &str) -> Self {
        let folder = format!("fibre-sys-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a file, with a newline as kernels do.
    fn file(&self, path: impl AsRef<str>, text: impl AsRef<str>) -> &Self {
        let path = self.0.join(path.as_ref());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{}\n", text.as_ref())).unwrap();
        self
    }

    /// A CPU with its siblings, and those it shares the caches of level 2 and 3 with.
    fn cpu(&self, number: usize, core: &str, l2: &str, l3: &str, package: &str) -> &Self {
        let topology = format!("cpu/cpu{number}/topology");
        self.file(format!("{topology}/core_cpus_list"), core);
        self.file(format!("{topology}/package_cpus_list"), package);
        let caches = [
            (1, "Data", core),
            (1, "Instruction", core),
            (2, "Unified", l2),
        ];
        let caches = caches.into_iter().chain([(3, "Unified", l3)]);
        for (index, (level, kind, shared)) in caches.enumerate() {
            let cache = format!("cpu/cpu{number}/cache/index{index}");
            self.file(format!("{cache}/level"), level.to_string());
            self.file(format!("{cache}/type"), kind);
            self.file(format!("{cache}/shared_cpu_list"), shared);
        }
        self
    }

    /// What the reader makes of it.
    fn read(&self) -> Topology {
        Topology::from_sys(&self.0).unwrap()
    }
}

impl Drop for Sys {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Two packages, SMT siblings numbered as Linux does on servers: n and n + 4.
fn server(name: &str) -> Sys {
    let sys = Sys::new(name);
    sys.file("cpu/online", "0-7");
    for number in 0..8 {
        let core = format!("{},{}", number % 4, number % 4 + 4);
        let package = if number % 4 < 2 { "0-1,4-5" } else { "2-3,6-7" };
        sys.cpu(number, &core, &core, package, package);
    }
    sys.file("node/online", "0-1");
    sys.file("node/node0/cpulist", "0-1,4-5");
    sys.file("node/node0/distance", "10 21");
    sys.file("node/node1/cpulist", "2-3,6-7");
    sys.file("node/node1/distance", "21 10");
    sys
}

#[test]
fn a_server_of_two_packages() {
    let machine = server("server").read();
    assert_eq!(machine.cpu_set().to_string(), "0-7");
    let distances = [4, 1, 5, 2].map(|other| machine.distance(0, other));
    let other_node = Proximity::OtherNode(21);
    let same_l3 = Proximity::SameL3;
    assert_eq!(
        distances,
        [Proximity::SameCore, same_l3, same_l3, other_node]
    );
    assert_eq!(machine.cpu(6).unwrap().package, 2);
    assert_eq!(machine.nodes()[1].cpus.to_string(), "2-3,6-7");
    let single = |cpu: usize| -> CpuSet { [cpu].into_iter().collect() };
    let places: Vec<CpuSet> = (0..8).map(single).collect();
    assert_eq!(*machine.victims(&places)[6], [2, 7, 3, 0, 1, 4, 5]);
}

#[test]
fn offline_cpus_do_not_count() {
    let sys = server("offline");
    sys.file("cpu/online", "1-3,5,7");
    let machine = sys.read();
    assert_eq!(machine.cpu_set().to_string(), "1-3,5,7");
    // Groups go by the smallest that is online.
    assert_eq!(machine.cpu(5).unwrap().package, 1);
    assert_eq!(machine.nodes()[0].cpus.to_string(), "1,5");
    assert_eq!(machine.distance(1, 5), Proximity::SameCore);
    assert_eq!(machine.distance(0, 1), Proximity::OtherNode(u32::MAX));
}

#[test]
fn without_the_list_the_folders_tell() {
    let sys = Sys::new("folders");
    for (path, text) in [
        ("cpu/cpu0/topology/core_id", "0"),
        ("cpu/cpu1/online", "0"),
        ("cpu/cpu2/online", "1"),
        ("cpu/cpu10/online", "1"),
        ("cpu/cpufreq/boost", "1"),
        ("cpu/cpuidle/current_driver", "none"),
    ] {
        sys.file(path, text);
    }
    let machine = sys.read();
    assert_eq!(machine.cpu_set().to_string(), "0,2,10");
    assert_eq!(machine.distance(0, 10), Proximity::SameNode);
    assert_eq!(machine.cpu(10).unwrap().package, 0);
    assert_eq!(machine.nodes().len(), 1);
}

#[test]
fn older_names_serve_as_well() {
    let sys = Sys::new("older");
    sys.file("cpu/online", "0-3");
    for number in 0..4 {
        let siblings = if number < 2 { "0-1" } else { "2-3" };
        let topology = format!("cpu/cpu{number}/topology");
        sys.file(format!("{topology}/thread_siblings_list"), siblings);
        sys.file(format!("{topology}/core_siblings_list"), "0-3");
    }
    let machine = sys.read();
    assert_eq!(machine.distance(2, 3), Proximity::SameCore);
    // No cache is told of, so the group is the core.
    assert_eq!(machine.cpu(3).unwrap().l3, 2);
}

#[test]
fn memory_may_be_alone_and_numbers_may_be_sparse() {
    let sys = server("sparse");
    sys.file("node/online", "0-1,4");
    for (node, distance) in [(0, "10 21 17"), (1, "21 10 28"), (4, "17 28 10")] {
        sys.file(format!("node/node{node}/distance"), distance);
    }
    sys.file("node/node4/cpulist", "");
    sys.file("node/node7/cpulist", "3");
    let machine = sys.read();
    let numbers: Vec<usize> = machine.nodes().iter().map(|node| node.number).collect();
    assert_eq!(numbers, [0, 1, 4]);
    assert!(machine.nodes()[2].cpus.is_empty());
    assert_eq!(machine.cpu(3).unwrap().node, 1);
    assert_eq!(machine.distance(0, 2), Proximity::OtherNode(21));
}

/// What makes no sense says nothing, and never panics.
#[test]
fn nonsense_is_passed_over() {
    let sys = server("nonsense");
    for (path, text) in [
        ("cpu/cpu0/topology/core_cpus_list", "whatever"),
        ("cpu/cpu1/topology/core_cpus_list", "2-3"),
        ("cpu/cpu2/topology/package_cpus_list", "\u{0}"),
        ("cpu/cpu3/cache/index2/level", "two"),
        ("cpu/cpu3/cache/index3/shared_cpu_list", "0-99999999999"),
        ("node/node0/distance", "10 near"),
        ("node/node1/cpulist", "-"),
    ] {
        sys.file(path, text);
    }
    let machine = sys.read();
    assert_eq!(machine.cpu(0).unwrap().core, 0);
    assert_eq!(machine.cpu(1).unwrap().core, 1);
    assert_eq!(machine.cpu(2).unwrap().package, 0);
    let third = machine.cpu(3).unwrap();
    assert_eq!((third.l2, third.l3, third.node), (3, 3, 0));
    assert_eq!(machine.nodes()[0].cpus.to_string(), "0-7");
    assert_eq!(machine.nodes()[0].distances, [10, 20]);
}

#[test]
fn no_cpu_is_no_machine() {
    let sys = Sys::new("none");
    assert!(Topology::from_sys(&sys.0).is_none());
    assert!(Topology::from_sys(&sys.0.join("missing")).is_none());
    sys.file("cpu/online", "nonsense");
    assert!(Topology::from_sys(&sys.0).is_none());
}

#[test]
fn this_machine_has_the_cpus_that_this_thread_runs_on() {
    let machine = Topology::of_machine();
    let allowed = CpuSet::of_thread().unwrap();
    assert!(!allowed.is_empty());
    assert_eq!(machine.cpu_set().intersection(&allowed), allowed);
}

/// A container with files that tell of other CPUs than the affinity mask has: all of the mask's are
/// there, and what is told of the others stays.
#[test]
fn renumbered_cpus_are_still_there() {
    let sys = Sys::new("renumbered");
    sys.file("cpu/online", "0-1");
    sys.cpu(0, "0-1", "0-1", "0-1", "0-1");
    sys.cpu(1, "0-1", "0-1", "0-1", "0-1");
    let machine = sys.read().with(&"1,8-9".parse().unwrap());
    assert_eq!(machine.cpu_set().to_string(), "0-1,8-9");
    assert_eq!(machine.distance(0, 1), Proximity::SameCore);
    assert_eq!(machine.distance(8, 9), Proximity::SameNode);
    let shares = machine.shares(&"8-9".parse().unwrap(), 2);
    assert_eq!(shares.len(), 1);
    assert_eq!((shares[0].cpus.len(), shares[0].processors), (2, 2));
}
