//! Clusters, processes and forked children that end while work goes on.

use crate::support::process::{end_after, errors, no_core_file, plays, spawn_child};
use crate::support::{eventually, kernel_thread, until_waiting, watched};
use fibre::{Cluster, JoinHandle, WaitKind, compute};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The longest that a child may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Computes for ever.
fn endless() {
    loop {
        std::hint::spin_loop();
    }
}

/// A cluster that is stopped while a fibre of it waits for work leaves the fibre behind; the work
/// ends on its own, and wakes nobody.
#[test]
fn a_cluster_stops_while_its_fibre_waits_for_work() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let (tell, told) = channel::<()>();
        let (end, ended) = channel();
        let caller = cluster.spawn(move || {
            let text = String::from("in the caller's frame");
            let text = &text;
            compute(move || {
                told.recv().unwrap();
                end.send(text.len()).unwrap();
            });
        });
        until_waiting(WaitKind::Join, &[caller.id()]);
        let brief = Duration::from_millis(5);
        let left = cluster.stop_within(brief, brief).unwrap_err();
        assert!(left.to_string().contains('1'), "{left}");
        assert!(caller.join().is_err(), "it was left behind");
        tell.send(()).unwrap();
        assert_eq!(ended.recv().unwrap(), 21, "what it borrows is still there");
        let compute_cluster = Cluster::compute_cluster().unwrap();
        eventually(|| compute_cluster.live() == 0);
    });
}

/// A cluster that is stopped without a limit waits for the work.
#[test]
fn a_stop_waits_for_work() {
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let caller = cluster.spawn(|| compute(|| (0..1_000_000_u64).sum::<u64>()));
        cluster.stop();
        assert_eq!(caller.join().unwrap(), 499_999_500_000);
    });
}

/// The cluster for work is never stopped: its callers borrow.
#[test]
fn the_cluster_for_work_cannot_be_stopped() {
    watched(|| {
        let stops = || Cluster::compute_cluster().unwrap().clone().stop();
        assert!(std::panic::catch_unwind(stops).is_err());
        assert_eq!(fibre::spawn(|| compute(|| 2)).join().unwrap(), 2);
    });
}

/// A process exits while work goes on that never ends: by `exit` of a thread, of a fibre, of the
/// work itself, and by the return of `main`.
#[test]
fn processes_end_while_work_goes_on() {
    let starts = || {
        no_core_file();
        end_after(LIMIT);
        let callers = [(); 3].map(|()| fibre::spawn(|| compute(endless)));
        until_waiting(WaitKind::Join, &callers.each_ref().map(JoinHandle::id));
    };
    if plays("thread") {
        starts();
        std::process::exit(7);
    }
    if plays("fibre") {
        starts();
        let _ = fibre::spawn(|| std::process::exit(7)).join();
    }
    if plays("work") {
        no_core_file();
        end_after(LIMIT);
        let _ = fibre::spawn(|| compute(|| std::process::exit(7))).join();
    }
    if plays("main") {
        return starts();
    }
    for (role, code) in [("thread", 7), ("fibre", 7), ("work", 7), ("main", 0)] {
        let output = spawn_child(role, &[]);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{role}: {}",
            errors(&output)
        );
    }
}

/// In a forked child the work is done by the caller, whether the cluster for it had been started
/// or not.
#[test]
fn forked_children_compute_where_they_are() {
    for role in ["before", "after"] {
        if plays(role) {
            no_core_file();
            end_after(LIMIT);
            let fibre = fibre::spawn(move || {
                if role == "after" {
                    compute(|| ());
                }
                // SAFETY: the child does what the runtime allows in it, and leaves.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let same = compute(|| 6) == 6 && compute(kernel_thread) == kernel_thread();
                    // SAFETY: the end of the child.
                    unsafe { libc::_exit(if same { 3 } else { 4 }) }
                }
                let mut status = 0;
                // SAFETY: writes the status of a child of ours.
                fibre::blocking(|| unsafe { libc::waitpid(child, &raw mut status, 0) });
                assert_eq!(compute(|| 5), 5, "the parent does not notice");
                libc::WEXITSTATUS(status)
            });
            assert_eq!(fibre.join().unwrap(), 3);
            return;
        }
    }
    for role in ["before", "after"] {
        let output = spawn_child(role, &[]);
        assert!(output.status.success(), "{role}: {}", errors(&output));
    }
}
