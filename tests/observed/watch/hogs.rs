//! Fibres that keep their processors, beside the ways of `tests/observed/hangs`: a line names the
//! fibre and the place.

use crate::support::process::{end_after, errors, no_core_file, plays, spawn_child};
use crate::support::program::{program, watched};
use fibre::{Builder, JoinHandle, sleep};
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Spawns a fibre with a name.
fn spawn(name: &str, f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new().name(name).spawn(f).unwrap()
}

static SPINNING: AtomicBool = AtomicBool::new(true);

#[inline(never)]
fn spins() {
    while SPINNING.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Another one: the compiler makes one function of equal ones.
#[inline(never)]
fn spins_elsewhere() {
    while SPINNING.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
}

/// A place is told once for a while, though fibres come there again and again; another place is
/// told all the same.
#[test]
fn a_place_is_told_once() {
    #[inline(never)]
    fn computes_for_a_while() {
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(300) {
            std::hint::spin_loop();
        }
    }
    let program = watched(1, || {
        drop(spawn("hogs", || {
            for _ in 0..5 {
                computes_for_a_while();
                sleep(Duration::from_millis(1));
            }
            drop(spawn("last", spins));
        }));
    });
    program.line_with(&["has not switched for ", "\"last\""]);
    let told = program.errors();
    assert!(told.matches("\"hogs\"").count() <= 1, "{told}");
}

/// Clusters other than the default one are told by their names; spare processors or none, and
/// started fibres that move or stay.
#[test]
fn other_clusters_are_watched() {
    let mut program = watched(1, || {
        let builder = || fibre::Cluster::builder().processors(1).name("others");
        // SAFETY: nothing here belongs to a kernel thread.
        let moving = unsafe { builder().move_started_fibres() };
        let staying = builder().max_spare_processors(0);
        // Places that differ, as each place is told once.
        let [first, second]: [fn(); 2] = [spins, spins_elsewhere];
        for (name, builder, hog) in [("staying", staying, first), ("moving", moving, second)] {
            let cluster = builder.build().unwrap();
            let fibre = Builder::new().name(name);
            drop(fibre.spawn_in(&cluster, hog).unwrap());
            std::mem::forget(cluster);
        }
    });
    for name in ["staying", "moving"] {
        let words = [" of cluster \"others\" has not switched", "computes"];
        program.line_with(&[words[0], words[1], name]);
    }
    assert!(program.lives());
}

#[test]
fn abort_dumps_and_aborts() {
    no_core_file();
    let mut program = program(2, &[("FIBRE_MONITOR", "10ms,warn,abort")], || {
        drop(spawn("hog", spins));
    });
    assert_eq!(program.end().signal(), Some(libc::SIGABRT));
    let all = program.wait_until(|errors| errors.contains("end of the dump of process"));
    assert!(all.contains("\"hog\" computes at "), "{all}");
    assert!(all.contains("\"hog\" runs, and does not let go"), "{all}");
}

#[test]
fn nonsense_is_an_error() {
    if plays("nonsense") {
        end_after(Duration::from_secs(60));
        let error = fibre::Cluster::builder().build().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        eprintln!("{error}");
        return;
    }
    for (variable, value, words) in [
        ("FIBRE_MONITOR", "10", "off, or a time from 1ms to 1h"),
        ("FIBRE_MONITOR", "10ms,die", "before ,warn or ,abort"),
        ("FIBRE_DEADLOCK", "1", "report, abort or off"),
    ] {
        let output = spawn_child("nonsense", &[(variable, value)]);
        let errors = errors(&output);
        assert!(output.status.success(), "{errors}");
        assert!(
            errors.contains(variable) && errors.contains(words),
            "{errors}"
        );
    }
}
