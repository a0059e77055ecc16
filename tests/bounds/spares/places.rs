//! On which CPUs spare processors and the monitor run. Machines with one CPU pass, too, but show
//! nothing.

use super::whole_process::run_child;
use super::{Count, builder, keep_all, meet};
use crate::support::eventually;
use fibre::Cluster;
use fibre::topology::CpuSet;
use rustix::thread::{CpuSet as Mask, Pid, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::time::{Duration, Instant};

/// The kernel's numbers of the threads of this process that have this name.
fn threads_named(name: &str) -> Vec<i32> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let named = tasks.filter_map(|task| {
        let task = task.ok()?;
        let comm = fs::read_to_string(task.path().join("comm")).ok()?;
        (comm.trim_end() == name).then(|| task.file_name().to_str()?.parse().ok())?
    });
    named.collect()
}

/// The CPUs of the thread of this name.
fn cpus_of(name: &str) -> CpuSet {
    let [thread] = threads_named(name)[..] else {
        panic!("not one thread is called {name}")
    };
    let mask = sched_getaffinity(Pid::from_raw(thread)).unwrap();
    (0..Mask::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect()
}

/// Confines a thread; `None` is this one.
fn confine(thread: Option<i32>, cpus: &CpuSet) {
    let mut mask = Mask::new();
    cpus.iter().for_each(|cpu| mask.set(cpu));
    sched_setaffinity(thread.and_then(Pid::from_raw), &mask).unwrap();
}

/// A cluster that a thread has built which is confined to this CPU.
fn built_on(name: &str, cpu: usize) -> (Cluster, CpuSet) {
    let cpus: CpuSet = [cpu].into_iter().collect();
    let build = || {
        confine(None, &cpus);
        builder(1, true).name(name).build().unwrap()
    };
    let cluster = std::thread::scope(|scope| scope.spawn(build).join().unwrap());
    (cluster, cpus)
}

/// The lowest and the highest CPU that this thread may run on, and all of them.
fn ends() -> (usize, usize, CpuSet) {
    let here = CpuSet::of_thread().unwrap();
    let (first, last) = (here.iter().next().unwrap(), here.iter().last().unwrap());
    (first, last, here)
}

/// Whoever has built the first cluster of the process.
#[test]
fn spare_processors_run_where_their_own_cluster_does() {
    run_child("places", || {
        let (first, last, _) = ends();
        for (name, cpu) in [("one", first), ("two", last)] {
            let (cluster, cpus) = built_on(name, cpu);
            meet(&cluster, 3);
            for number in 0..3 {
                assert_eq!(
                    cpus_of(&format!("{name}/{number}")),
                    cpus,
                    "{name}/{number}"
                );
            }
        }
    });
}

/// Also if the program has chosen that itself.
#[test]
fn spare_processors_run_wherever_a_regular_one_does() {
    run_child("moved", || {
        let (first, last, _) = ends();
        let cluster = builder(2, true).name("moved").build().unwrap();
        let place = |cpu| [cpu].into_iter().collect::<CpuSet>();
        let [one, other] = cluster.thread_ids()[..] else {
            panic!("there are two")
        };
        confine(Some(one), &place(first));
        confine(Some(other), &place(last));
        meet(&cluster, 3);
        let both: CpuSet = [first, last].into_iter().collect();
        assert_eq!(cpus_of("moved/2"), both);
    });
}

/// A monitor that shared a CPU with a busy thread only would come late.
#[test]
fn the_monitor_runs_wherever_the_program_may() {
    run_child("monitor", || {
        let (first, last, here) = ends();
        let (cluster, _) = built_on("narrow", first);
        let go = Count::default();
        let keepers = keep_all(&cluster, &go);
        eventually(|| cpus_of("fibre-monitor") == here);
        // No main thread's CPU, but one of a cluster.
        confine(None, &[first].into_iter().collect());
        let main = std::process::id() as i32;
        confine(Some(main), &[first].into_iter().collect());
        let narrow = built_on("other", last);
        let both: CpuSet = [first, last].into_iter().collect();
        eventually(|| cpus_of("fibre-monitor") == both);
        go.up();
        keepers.into_iter().for_each(|fibre| fibre.join().unwrap());
        drop(narrow);
    });
}

/// A fibre that spawns others all the time calls a spare processor so often only that the calls
/// cost little: on one CPU, two threads switch for each of them.
#[test]
fn who_spawns_all_the_time_calls_a_spare_processor_now_and_then() {
    let name = "spawning";
    let (cluster, _) = built_on(name, ends().0);
    let ended = Count::default();
    let spawner = cluster.clone();
    let counts = ended.clone();
    let spawns = move || {
        // Few are outstanding at a time, so the spare processor has soon run what it finds.
        let mut spawned: usize = 0;
        let mut spawn_until = |is_enough: &dyn Fn() -> bool| {
            while !is_enough() {
                let ended = counts.clone();
                drop(spawner.spawn(move || ended.up()));
                spawned += 1;
                counts.spin_for(spawned.saturating_sub(100));
            }
        };
        spawn_until(&|| counts.get() >= 10_000);
        let (begun, calls) = (Instant::now(), calls_of_spare(name));
        spawn_until(&|| begun.elapsed() >= Duration::from_millis(300));
        (begun.elapsed(), calls_of_spare(name) - calls, spawned)
    };
    let (time, calls, spawned) = cluster.spawn(spawns).join().unwrap();
    ended.wait_for(spawned);
    let windows = time.as_millis() + 2;
    let most = u64::try_from(windows).unwrap() * 7;
    assert!(calls <= most, "{calls} calls in {windows} windows");
}

/// How often others have ended a sleep of the spare processor.
fn calls_of_spare(cluster: &str) -> u64 {
    let clusters = fibre::metrics().clusters;
    let cluster = clusters.iter().find(|it| it.name == cluster).unwrap();
    let spare = cluster.processors.iter().find(|it| it.spare).unwrap();
    spare.counters.wakes
}
