//! The settings of the cluster for work.

use crate::support::process::{errors, plays, spawn_child};
use crate::support::{kernel_thread, text_of, watched};
use fibre::{Cluster, compute};
use rustix::process::{Resource, Rlimit, getpriority_process, getrlimit, setrlimit};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Plays a role in processes with this environment, which must end well; returns what they have
/// said.
fn said(role: &str, environment: &[(&str, &str)]) -> String {
    let output = spawn_child(role, environment);
    assert!(output.status.success(), "{}", errors(&output));
    errors(&output)
}

/// By how much the nice value of the work's thread is above that of this one.
fn nice() -> i32 {
    let own = getpriority_process(None).unwrap();
    let there = fibre::spawn(|| compute(|| getpriority_process(None).unwrap()));
    there.join().unwrap() - own
}

#[test]
fn the_environment_chooses() {
    if plays("told") {
        return watched(|| {
            let cluster = Cluster::compute_cluster().unwrap();
            assert_eq!((cluster.processors(), cluster.name()), (3, "fibre-compute"));
            assert_eq!(nice(), 4);
        });
    }
    let told = [
        ("FIBRE_COMPUTE_PROCESSORS", "3"),
        ("FIBRE_COMPUTE_NICE", "4"),
    ];
    said("told", &told);
}

/// By default there are as many processors as the process may use CPUs, whatever other clusters
/// have, and the kernel prefers other threads.
#[test]
fn the_defaults() {
    if plays("untold") {
        return watched(|| {
            let cpus = std::thread::available_parallelism().unwrap().get();
            let cluster = Cluster::compute_cluster().unwrap();
            assert_eq!(cluster.processors(), cpus);
            assert_eq!(nice(), 10);
        });
    }
    said("untold", &[("FIBRE_PROCESSORS", "5")]);
}

/// The program's choice comes before the environment's, and the first one counts.
#[test]
fn the_program_chooses() {
    if plays("choosing") {
        return watched(|| {
            let choose = || Cluster::compute_cluster_or(|it| it.processors(1).nice(0).name("sums"));
            assert_eq!(choose().unwrap().processors(), 1);
            let late = Cluster::compute_cluster_or(|it| it.processors(7)).unwrap();
            assert_eq!((late.processors(), late.name()), (1, "sums"));
            assert_eq!(nice(), 0);
        });
    }
    said("choosing", &[("FIBRE_COMPUTE_PROCESSORS", "3")]);
}

/// Calls a closure that needs what it is to choose, and is told so; later calls are well.
fn told(again: impl FnOnce() + Send + 'static, later: impl FnOnce() + Send + 'static) {
    let told = catch_unwind(AssertUnwindSafe(again)).unwrap_err();
    let text = text_of(&*told).to_owned();
    assert!(text.ends_with("needs that cluster"), "{text}");
    later();
}

/// A closure that chooses cannot ask for what it is to choose, on a thread or a fibre.
#[test]
fn a_choice_does_not_need_what_is_chosen() {
    let asks = || {
        let _ = Cluster::compute_cluster_or(|builder| {
            let _ = Cluster::compute_cluster();
            builder
        });
    };
    let computes = || {
        let _ = Cluster::compute_cluster_or(|it| it.processors(fibre::compute(|| 1)));
    };
    let later = || assert!(Cluster::compute_cluster().is_ok());
    let spawns = || {
        let _ = Cluster::default_cluster_or(|| {
            fibre::spawn(|| ()).join().unwrap();
            Cluster::builder()
        });
    };
    if plays("asks") {
        return watched(|| told(asks, later));
    }
    if plays("computes") {
        let other = Cluster::builder().processors(1).build().unwrap();
        let fibre = other.spawn(move || told(computes, later));
        return watched(|| fibre.join().unwrap());
    }
    if plays("spawns") {
        return watched(|| told(spawns, || fibre::spawn(|| ()).join().unwrap()));
    }
    for role in ["asks", "computes", "spawns"] {
        said(role, &[]);
    }
}

/// A closure that chooses may wait, also for a fibre that needs the same cluster: that one starts
/// it.
#[test]
fn a_choice_may_wait() {
    if plays("waiting") {
        return watched(|| {
            let other = Cluster::builder().processors(1).build().unwrap();
            let chooses = other.spawn(|| {
                let chosen = Cluster::compute_cluster_or(|builder| {
                    let needs = fibre::spawn(|| fibre::compute(|| 7));
                    assert_eq!(needs.join().unwrap(), 7);
                    builder.name("too late")
                });
                chosen.unwrap().name().to_owned()
            });
            assert_eq!(chooses.join().unwrap(), "fibre-compute");
        });
    }
    said("waiting", &[]);
}

/// Any cluster may have threads to which the kernel prefers others; more than the kernel knows
/// counts as the most.
#[test]
fn any_cluster_may_be_nice() {
    watched(|| {
        let own = getpriority_process(None).unwrap();
        for (asked, got) in [(0, 0), (3, 3), (200, 19)] {
            let cluster = Cluster::builder()
                .processors(1)
                .nice(asked)
                .build()
                .unwrap();
            let there = cluster.spawn(|| getpriority_process(None).unwrap());
            assert_eq!(there.join().unwrap(), (own + got).min(19));
            cluster.stop();
        }
        assert_eq!(
            getpriority_process(None).unwrap(),
            own,
            "the starter's own stays"
        );
    });
}

#[test]
fn nonsense_is_an_error() {
    if plays("nonsense") {
        return watched(|| {
            let error = Cluster::compute_cluster().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            eprintln!("{error}");
        });
    }
    for (variable, value, words) in [
        ("FIBRE_COMPUTE_NICE", "20", "a number from 0 to 19"),
        ("FIBRE_COMPUTE_NICE", "-1", "a number from 0 to 19"),
        ("FIBRE_COMPUTE_PROCESSORS", "0", "a number from 1 to 65534"),
    ] {
        let said = said("nonsense", &[(variable, value)]);
        assert!(said.contains(variable) && said.contains(words), "{said}");
    }
}

/// Where its threads cannot be started, work is done where the caller is, and that is said once;
/// later they may be.
#[cfg(not(feature = "sanitizer"))]
#[test]
fn without_threads() {
    if plays("poor") {
        return watched(|| {
            let cluster = Cluster::builder().processors(1).build().unwrap();
            let calls = cluster.spawn(|| {
                let here = kernel_thread();
                // No room for the stack of a thread.
                let status = std::fs::read_to_string("/proc/self/statm").unwrap();
                let pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
                let before = getrlimit(Resource::As);
                let poor = Rlimit {
                    current: Some((pages << 12) + (1 << 20)),
                    maximum: before.maximum,
                };
                setrlimit(Resource::As, poor).unwrap();
                let there: Vec<_> = (0..3).map(|_| compute(kernel_thread)).collect();
                setrlimit(Resource::As, before).unwrap();
                assert_eq!(there, [here; 3]);
                assert_ne!(compute(kernel_thread), here);
            });
            calls.join().unwrap();
        });
    }
    let said = said("poor", &[]);
    assert_eq!(
        said.matches("now keeps the caller's processor").count(),
        1,
        "{said}"
    );
}
