//! Where and when tasks run: rows E9, E10 and E12.

use crate::support::{everywhere, in_lines, occupy, run, watchdog};
use fibre::sync::Mutex;
use fibre_tasks::{Acquisition, Order, Shared, Tasks, acquire, task};
use std::io::{Read as _, Write as _};
use std::sync::{Arc, Barrier};

#[test]
fn e9_processors_without_work_take_tasks_of_others() {
    // Each task keeps its thread until all four run: so they are on four processors.
    run(4, Acquisition::Lines, |tasks| {
        let together = Arc::new(Barrier::new(4));
        let inner = tasks.clone();
        let spawner = task!(tasks, [=together] {
            let others = [(); 3].map(|()| task!(inner, [=together] { together.wait(); }));
            together.wait();
            for other in others {
                other.join().unwrap();
            }
        });
        spawner.join().unwrap();
    });
}

#[test]
fn e9_the_newest_tasks_come_first_if_asked_for() {
    watchdog::watched(|| {
        for (order, expected) in [(Order::Newest, [2, 1, 0]), (Order::Arrival, [0, 1, 2])] {
            let tasks = Tasks::builder().processors(1).order(order);
            let tasks = tasks.build().unwrap();
            let log = Arc::new(Mutex::new(Vec::new()));
            let (inner, all) = (tasks.clone(), Arc::clone(&log));
            let spawner = task!(tasks, [] {
                for number in 0..3 {
                    drop(task!(inner, [=log] { log.lock().push(number) }));
                }
            });
            spawner.join().unwrap();
            tasks.stop();
            assert_eq!(*all.lock(), expected, "{order:?}");
        }
    });
}

#[test]
fn e10_a_task_whose_permissions_are_missing_lets_those_behind_it_go_first() {
    // One processor: the order is that of its queue.
    for (acquisition, expected) in [
        (Acquisition::Requeue, ["free", "missing", "late"]),
        (Acquisition::Lines, ["missing", "free", "late"]),
    ] {
        run(1, acquisition, |tasks| {
            let (log, object) = (Shared::new(Vec::new()), Shared::new(()));
            let cluster = tasks.cluster().unwrap().clone();
            let (tasks, all) = (tasks.clone(), log.clone());
            let spawner = cluster.spawn(move || {
                let held = acquire(object.full());
                let missing = task!(tasks, [+object, +log] {
                    drop(object);
                    log.push("missing");
                });
                fibre::yield_now();
                // It has been looked at, and went to the end of the queue.
                let free = task!(tasks, [+log] { log.push("free") });
                fibre::yield_now();
                drop(held);
                let late = task!(tasks, [+log] { log.push("late") });
                for task in [missing, free, late] {
                    task.join().unwrap();
                }
            });
            spawner.join().unwrap();
            assert_eq!(*acquire(all.read()), expected, "{acquisition:?}");
        });
    }
}

#[test]
fn e10_both_ways_come_to_the_same() {
    everywhere(|tasks| {
        let (a, b) = (Shared::new(0), Shared::new(0));
        let occupant = occupy(tasks, &a);
        let all: Vec<_> = (0..100)
            .map(|number| match number % 3 {
                0 => task!(tasks, [+a, +b] { *a += 1; *b += 1 }),
                1 => task!(tasks, [a, +b] { let _ = *a; *b += 1 }),
                _ => task!(tasks, [+a] { *a += 1 }),
            })
            .collect();
        occupant.leave();
        for task in all {
            task.join().unwrap();
        }
        assert_eq!(*acquire(a.read()), 34 + 33);
        assert_eq!(*acquire(b.read()), 34 + 33);
    });
}

#[test]
fn e12_tasks_that_read_are_woken_by_the_processors_that_wait_for_events() {
    in_lines(|tasks| {
        let pairs = [(); 8].map(|()| fibre::io::pipe().unwrap());
        let sum = Shared::new(0_u32);
        let (writers, readers): (Vec<_>, Vec<_>) = pairs
            .into_iter()
            .map(|(mut reader, writer)| {
                let sum = sum.clone();
                let task = task!(tasks, [=sum] {
                    let mut byte = [0];
                    reader.read_exact(&mut byte).unwrap();
                    *acquire(sum.full()) += u32::from(byte[0]);
                });
                (writer, task)
            })
            .unzip();
        for (mut writer, byte) in writers.into_iter().zip(1..) {
            writer.write_all(&[byte]).unwrap();
        }
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(*acquire(sum.read()), 36);
    });
}
