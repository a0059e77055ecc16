//! What is seen of the whole process only: its monitor, its words, its forks and its exits.

use super::{Count, builder, meet, threads};
use crate::support::process::{end_after, errors, plays, spawn_child};
use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::time::Duration;

/// The longest that a child may take.
const LIMIT: Duration = Duration::from_secs(50);

/// The words about spare processors.
const WORDS: &str = "spare processors run these";

/// The switches that the monitor's thread has made so far; `None`: there is none.
fn switches_of_monitor() -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let paths = tasks.filter_map(|task| Some(task.ok()?.path()));
    let monitor = paths
        .filter(|path| {
            fs::read_to_string(path.join("comm")).is_ok_and(|name| name == "fibre-monitor\n")
        })
        .collect::<Vec<_>>();
    assert!(monitor.len() <= 1, "one monitor for the process");
    let status = fs::read_to_string(monitor.first()?.join("status")).unwrap();
    let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
    Some(
        lines
            .map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap())
            .sum(),
    )
}

/// Runs `role` in a process of its own; returns its words.
pub fn run_child(role: &str, body: impl FnOnce()) -> String {
    if plays(role) {
        end_after(LIMIT);
        body();
        std::process::exit(0);
    }
    let output = spawn_child(role, &[]);
    assert!(output.status.success(), "{output:?}");
    errors(&output)
}

/// Whether the monitor comes to rest, and then does not run at all for half a second, which is 50
/// of its ticks.
fn rests() -> bool {
    let mut before = switches_of_monitor();
    (0..25).any(|_| {
        std::thread::sleep(Duration::from_millis(500));
        let now = switches_of_monitor();
        std::mem::replace(&mut before, now) == now
    })
}

#[test]
fn an_idle_cluster_has_a_monitor_that_sleeps() {
    run_child("idle", || {
        let clusters = [1, 2].map(|count| builder(count, true).build().unwrap());
        assert!(rests(), "before anything was done");
        for cluster in &clusters {
            meet(cluster, cluster.processors() + 1);
        }
        assert!(rests(), "after spare processors");
        let sleeping = clusters[0].spawn(|| fibre::sleep(Duration::from_secs(3600)));
        assert!(rests(), "while a fibre sleeps");
        drop(sleeping);
    });
}

/// What nobody runs needs nobody to look after it.
#[test]
fn a_monitor_sleeps_when_fibres_are_paused_or_left_behind() {
    run_child("left", || {
        let cluster = builder(2, true).build().unwrap();
        // Both are busy when the pause begins, and have work when it ends.
        let go = Count::default();
        let loops: Vec<_> = (0..4)
            .map(|_| {
                let go = go.clone();
                cluster.spawn(move || {
                    while go.get() == 0 {
                        fibre::yield_now();
                    }
                })
            })
            .collect();
        let paused = cluster.pause().unwrap();
        assert!(rests(), "during a pause");
        drop(paused);
        meet(&cluster, cluster.processors() + 1);
        let none = Duration::ZERO;
        assert!(cluster.stop_within(none, none).is_err());
        assert!(rests(), "after fibres were left behind");
        drop(loops);
    });
}

/// Whatever the monitor does, which looks at busy processors again and again, a cluster that has
/// been stopped is gone.
#[test]
fn nothing_is_left_of_a_cluster_that_was_stopped() {
    run_child("closes", || {
        // What it has to look at for long each time.
        let large = builder(32, false).max_spare_processors(1).build().unwrap();
        let (blocked, end) = std::io::pipe().unwrap();
        let blocked = std::sync::Arc::new(blocked);
        for number in 0..large.processors() {
            let blocked = std::sync::Arc::clone(&blocked);
            let blocks = move || (&*blocked).read(&mut [0]).unwrap();
            let there = fibre::Builder::new().on_processor(number);
            drop(there.spawn_in(&large, blocks).unwrap());
        }
        // The monitor has files of its own.
        let open = || {
            let all = fs::read_dir("/proc/self/fd").unwrap();
            let of = |entry: std::io::Result<fs::DirEntry>| fs::read_link(entry.ok()?.path()).ok();
            let polls = |link: &std::path::PathBuf| link.ends_with("anon_inode:[eventpoll]");
            all.filter_map(of).filter(polls).count()
        };
        let before = open();
        for round in 0..500 {
            let cluster = builder(1, true).build().unwrap();
            let waits = || {
                let (mut reader, mut writer) = fibre::io::pipe().unwrap();
                let reading = fibre::spawn(move || reader.read_exact(&mut [0]).unwrap());
                // A fibre that waits for no longer than a turn is not registered.
                fibre::sleep(Duration::from_micros(100));
                writer.write_all(b"x").unwrap();
                reading.join().unwrap();
            };
            cluster.spawn(waits).join().unwrap();
            let time = Duration::from_micros(round * 7 % 3000);
            drop(cluster.spawn(move || std::thread::sleep(time)));
            cluster.stop();
            assert_eq!(open(), before, "in round {round}");
        }
        drop(end);
        large.stop();
    });
}

#[test]
fn a_process_that_may_have_none_has_no_monitor() {
    run_child("without", || {
        let cluster = builder(1, true).max_spare_processors(0).build().unwrap();
        cluster.spawn(|| ()).join().unwrap();
        assert_eq!(switches_of_monitor(), None);
        cluster.stop();
    });
}

#[test]
fn the_words_are_said_once() {
    let words = run_child("words", || {
        for _ in 0..2 {
            for moves in [true, false] {
                let cluster = builder(2, moves).name("worker").build().unwrap();
                meet(&cluster, 4);
                cluster.stop();
            }
        }
    });
    assert_eq!(words.matches(WORDS).count(), 1, "{words}");
    assert!(
        words.contains("\"worker\"") && words.contains("FIBRE_MAX_SPARE"),
        "{words}"
    );
}

/// Fibres that yield, with and without others that are ready.
#[test]
fn loops_that_yield_never_need_one() {
    let words = run_child("yields", || {
        for (processors, moves) in [(1, true), (2, true), (4, true), (1, false), (2, false)] {
            let cluster = builder(processors, moves).name("yields").build().unwrap();
            for fibres in [1, processors, 2 * processors + 1] {
                let go = Count::default();
                let loops: Vec<_> = (0..fibres)
                    .map(|_| {
                        let go = go.clone();
                        cluster.spawn(move || {
                            while go.get() == 0 {
                                (0..100).for_each(|_| std::hint::spin_loop());
                                fibre::yield_now();
                            }
                        })
                    })
                    .collect();
                std::thread::sleep(Duration::from_millis(150));
                go.up();
                loops.into_iter().for_each(|fibre| fibre.join().unwrap());
            }
            assert_eq!(threads("yields"), processors);
            cluster.stop();
        }
    });
    assert!(!words.contains(WORDS), "{words}");
}

/// A child that is forked in a fibre on a spare processor, or beside one.
#[test]
fn programs_are_started_beside_spare_processors() {
    run_child("forks", || {
        let cluster = builder(1, true).build().unwrap();
        let (come, go) = (Count::default(), Count::default());
        let fibres: Vec<_> = (0..3)
            .map(|_| {
                let (come, go) = (come.clone(), go.clone());
                cluster.spawn(move || {
                    come.up();
                    go.spin_for(1);
                })
            })
            .collect();
        come.wait_for(3);
        let starts = || {
            let mut command = Command::new("true");
            assert!(
                fibre::unblock_signals(&mut command)
                    .status()
                    .unwrap()
                    .success()
            );
        };
        starts();
        let from_fibre = cluster.spawn(starts);
        from_fibre.join().unwrap();
        go.up();
        fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
        cluster.stop();
    });
}

#[test]
fn a_process_exits_while_spare_processors_are_kept() {
    run_child("exits", || {
        let cluster = builder(1, true).build().unwrap();
        let come = Count::default();
        for _ in 0..3 {
            let come = come.clone();
            drop(cluster.spawn(move || {
                come.up();
                come.spin_for(usize::MAX);
            }));
        }
        come.wait_for(3);
        let _ends = cluster.spawn(|| std::process::exit(0));
        std::thread::sleep(LIMIT);
    });
}
