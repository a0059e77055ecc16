//! Where processors run: how many there are, and their CPUs. Machines with one CPU pass, too,
//! but show less.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::topology::{CpuSet, Pinning, Topology};
use fibre::{Cluster, StealOrder};
use rustix::thread::{CpuSet as Mask, sched_setaffinity};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Barrier;
use support::process::{errors, plays, spawn_child};
use support::watched;

/// The CPUs of each processor of a cluster, as the kernel has them.
fn places(cluster: &Cluster) -> Vec<CpuSet> {
    // With a kernel thread blocked each, all processors take part.
    let all = Arc::new(Barrier::new(cluster.processors()));
    let look = || {
        let all = Arc::clone(&all);
        cluster.spawn(move || {
            all.wait();
            let place = CpuSet::of_thread().unwrap();
            (fibre::processor(), place)
        })
    };
    let fibres: Vec<_> = (0..cluster.processors()).map(|_| look()).collect();
    let mut places: Vec<_> = fibres
        .into_iter()
        .map(|fibre| fibre.join().unwrap())
        .collect();
    places.sort();
    places.into_iter().map(|(_, place)| place).collect()
}

/// Sets of one CPU each.
fn singles(cpus: &CpuSet) -> Vec<CpuSet> {
    cpus.iter().map(|cpu| [cpu].into_iter().collect()).collect()
}

#[test]
fn processors_are_where_they_are_pinned_to() {
    watched(|| {
        let here = CpuSet::of_thread().unwrap();
        let singles = singles(&here);
        let last = singles[singles.len() - 1].clone();
        for (pinning, expected) in [
            (Pinning::None, vec![here.clone(); 3]),
            (last.clone().into(), vec![last.clone(); 3]),
            (
                Pinning::Sets(vec![last.clone(), here.clone()]),
                vec![last.clone(), here.clone(), last],
            ),
        ] {
            let cluster = Cluster::builder()
                .processors(3)
                .pin(pinning)
                .build()
                .unwrap();
            assert_eq!(places(&cluster), expected);
            // Also those that come later.
            cluster.add_processors(1).unwrap();
            assert_eq!(places(&cluster)[3], expected[1]);
            cluster.stop();
        }
        assert_eq!(
            CpuSet::of_thread().unwrap(),
            here,
            "the builder goes where it likes"
        );
    });
}

#[test]
fn each_has_a_cpu_of_its_own() {
    watched(|| {
        let here = CpuSet::of_thread().unwrap();
        let builder = Cluster::builder()
            .pin(Pinning::Each)
            .steal_order(StealOrder::Topology);
        let cluster = builder.processors(here.len()).build().unwrap();
        let mut places = places(&cluster);
        places.sort();
        assert_eq!(places, singles(&here));
        let fibres: Vec<_> = (0..1000).map(|i| cluster.spawn(move || i)).collect();
        let sum: usize = fibres.into_iter().map(|fibre| fibre.join().unwrap()).sum();
        assert_eq!(sum, 499_500);
        cluster.stop();
    });
}

#[test]
fn what_the_kernel_refuses_is_an_error() {
    watched(|| {
        let here = CpuSet::of_thread().unwrap();
        let online = Topology::of_machine().cpu_set();
        let absent = (0..1024).rev().find(|&cpu| !online.contains(cpu)).unwrap();
        let absent: CpuSet = [absent].into_iter().collect();
        let error = Cluster::builder().pin(absent.clone()).build().unwrap_err();
        assert!(error.to_string().contains(&absent.to_string()), "{error}");
        // The first one could have been started.
        let some = Pinning::Sets(vec![here.clone(), absent]);
        let error = Cluster::builder()
            .processors(2)
            .pin(some)
            .build()
            .unwrap_err();
        assert!(error.to_string().contains("cannot run on"), "{error}");
        for pinning in [
            Pinning::Sets(Vec::new()),
            [5000].into_iter().collect::<CpuSet>().into(),
        ] {
            let error = Cluster::builder().pin(pinning).build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
        assert_eq!(CpuSet::of_thread().unwrap(), here);
    });
}

/// Threads that a pinned fibre brings about are not pinned with it.
#[test]
fn pins_are_not_inherited() {
    watched(|| {
        let here = CpuSet::of_thread().unwrap();
        let first = singles(&here)[0].clone();
        let cluster = Cluster::builder()
            .processors(1)
            .pin(first.clone())
            .build()
            .unwrap();
        let inherited = move || {
            assert_eq!(CpuSet::of_thread().unwrap(), first);
            let blocked = fibre::blocking(|| CpuSet::of_thread().unwrap());
            let other = Cluster::builder().processors(1).build().unwrap();
            let seen = other.spawn(|| CpuSet::of_thread().unwrap()).join().unwrap();
            assert_eq!(CpuSet::of_thread().unwrap(), first);
            (blocked, seen, fibre::default_processors())
        };
        let (blocked, other, processors) = cluster.spawn(inherited).join().unwrap();
        assert_eq!((&blocked, &other), (&here, &here));
        assert_eq!(processors, fibre::default_processors());
        cluster.stop();
    });
}

#[test]
fn each_node_has_its_cluster() {
    watched(|| {
        let allowed = CpuSet::of_thread().unwrap();
        let mut seen = Vec::new();
        let clusters = Cluster::per_node(|builder, node| {
            seen.push(node.cpus.intersection(&allowed));
            builder.stack_size(64 * 1024)
        });
        let clusters = clusters.unwrap();
        assert_eq!(clusters.len(), seen.len());
        let processors: usize = clusters.iter().map(Cluster::processors).sum();
        assert_eq!(processors, fibre::default_processors());
        for (cluster, cpus) in clusters.iter().zip(seen) {
            assert_eq!(places(cluster), vec![cpus; cluster.processors()]);
        }
        clusters.into_iter().for_each(Cluster::stop);
    });
}

#[test]
fn the_environment_pins() {
    let here = CpuSet::of_thread().unwrap();
    if plays("pinned") {
        watched(|| {
            let wanted: CpuSet = std::env::var("WANTED").unwrap().parse().unwrap();
            let cluster = Cluster::builder().processors(1).build().unwrap();
            assert_eq!(places(&cluster), [wanted]);
            assert_eq!(fibre::blocking(|| CpuSet::of_thread().unwrap()), here);
        });
        return;
    }
    let last = singles(&here).pop().unwrap().to_string();
    let first = singles(&here)[0].to_string();
    let (all, both) = (here.to_string(), format!("{last};{first}"));
    for (pin, wanted) in [
        ("none", &all),
        (&all, &all),
        (&last, &last),
        (&both, &last),
        ("each", &first),
    ] {
        let output = spawn_child("pinned", &[("FIBRE_PIN", pin), ("WANTED", wanted)]);
        assert!(output.status.success(), "{pin}: {}", errors(&output));
    }
    let output = spawn_child("pinned", &[("FIBRE_PIN", "somewhere"), ("WANTED", &all)]);
    assert!(
        errors(&output).contains("FIBRE_PIN must be none, each, or"),
        "{}",
        errors(&output)
    );
    assert!(!output.status.success());
}

/// As many processors as the affinity mask has CPUs, and no more, whatever the machine has.
#[test]
fn the_affinity_mask_limits_the_processors() {
    if plays("confined") {
        let first = CpuSet::of_thread().unwrap().first().unwrap();
        let mut mask = Mask::new();
        mask.set(first);
        sched_setaffinity(None, &mask).unwrap();
        assert_eq!(fibre::default_processors(), 1);
        watched(|| {
            let cluster = Cluster::builder().build().unwrap();
            assert_eq!(cluster.processors(), 1);
            assert_eq!(places(&cluster), [[first].into_iter().collect::<CpuSet>()]);
            let clusters = Cluster::per_node(|builder, _| builder).unwrap();
            assert_eq!(clusters.len(), 1);
        });
        return;
    }
    let output = spawn_child("confined", &[]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(fibre::default_processors() <= CpuSet::of_thread().unwrap().len());
}

/// A control group that allows a fifth of one CPU's time, with this process in it; its folder.
/// `None` where it may not be made.
fn enter_small_group() -> Option<PathBuf> {
    let (older, newer) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
    let (root, quota) = if older.join("cpu.shares").exists() {
        (older, ("cpu.cfs_quota_us", "20000"))
    } else {
        (newer, ("cpu.max", "20000 100000"))
    };
    let group = root.join(format!("fibre-test-{}", std::process::id()));
    fs::create_dir(&group).ok()?;
    let entered = fs::write(group.join(quota.0), quota.1)
        .and_then(|()| fs::write(group.join("cgroup.procs"), std::process::id().to_string()));
    if entered.is_err() {
        fs::remove_dir(&group).unwrap();
    }
    entered.ok().map(|()| group)
}

/// As many processors as the control group has CPUs' worth of time; they do their work in it.
#[test]
fn the_quota_limits_the_processors() {
    if plays("small") {
        let Some(group) = enter_small_group() else {
            println!("no control group may be made here: nothing is tested");
            return;
        };
        let processors = fibre::default_processors();
        watched(|| {
            let cluster = Cluster::builder().processors(16).build().unwrap();
            let fibres: Vec<_> = (0..1000).map(|i| cluster.spawn(move || i)).collect();
            let sum: usize = fibres.into_iter().map(|fibre| fibre.join().unwrap()).sum();
            assert_eq!(sum, 499_500);
            cluster.stop();
        });
        let root = group.parent().unwrap().join("cgroup.procs");
        fs::write(root, std::process::id().to_string()).unwrap();
        fs::remove_dir(group).unwrap();
        assert_eq!(processors, 1);
        return;
    }
    let output = spawn_child("small", &[]);
    assert!(output.status.success(), "{}", errors(&output));
}
