//! Tasks and what they may do: rows E1 to E4 and E6.

use crate::support::{everywhere, in_lines, occupy};
use fibre::Limit;
use fibre::sync::{Barrier, Event};
use fibre_tasks::{Full, Null, Shared, acquire, acquire_within, finish, task, try_acquire};
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn e1_a_task_runs_beside_its_spawner() {
    everywhere(|tasks| {
        let (asked, answered) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let task = task!(tasks, [=asked, =answered] {
            asked.wait();
            answered.set();
            7
        });
        asked.set();
        answered.wait();
        assert_eq!(task.join().unwrap(), 7);
    });
}

#[test]
fn e1_a_task_is_spawned_anywhere() {
    // By a thread, by a task, and without a system of its own.
    let count = Shared::new(0);
    let inner = count.clone();
    let outer = task!([] { task!([+inner] { *inner += 1 }).join() });
    outer.join().unwrap().unwrap();
    assert_eq!(*acquire(count.read()), 1);
}

#[test]
fn e2_readers_run_side_by_side() {
    in_lines(|tasks| {
        let number = Shared::new(5);
        let all_here = Arc::new(Barrier::new(3));
        let read = || {
            task!(tasks, [number, =all_here] {
                all_here.wait();
                *number
            })
        };
        let readers = [read(), read(), read()];
        assert_eq!(readers.map(|reader| reader.join().unwrap()), [5; 3]);
    });
}

#[test]
fn e2_a_full_permission_is_exclusive() {
    everywhere(|tasks| {
        let number = Shared::new(0);
        let occupant = occupy(tasks, &number);
        let reads = task!(tasks, [number] { *number });
        let writes = task!(tasks, [+number] { *number += 1 });
        assert!(try_acquire(number.read()).is_err());
        assert!(try_acquire(number.full()).is_err());
        fibre::yield_now();
        assert!(!reads.is_finished() && !writes.is_finished());
        occupant.leave();
        reads.join().unwrap();
        writes.join().unwrap();
        assert_eq!(*acquire(number.read()), 1);
    });
}

#[test]
fn e2_a_null_permission_waits_for_nobody_and_binds_a_reference() {
    everywhere(|tasks| {
        let number = Shared::new(0);
        let occupant = occupy(tasks, &number);
        let bound = task!(tasks, [-number] { Null::shared(&number) })
            .join()
            .unwrap();
        assert!(bound.is_same(&number));
        occupant.leave();
    });
}

#[test]
fn e2_no_permission_lacks_while_another_is_had() {
    everywhere(|tasks| {
        // Both or none: what is free is not kept from others while the rest is not.
        let (a, b) = (Shared::new(1), Shared::new(2));
        let occupant = occupy(tasks, &a);
        assert!(try_acquire((a.read(), b.full())).is_err());
        assert_eq!(*try_acquire(b.full()).unwrap(), 2);
        occupant.leave();
    });
}

#[test]
fn e3_copies_are_made_at_once_and_references_are_borrowed() {
    let words = vec!["one".to_owned(), "two".to_owned()];
    let mut number = 1;
    let length = finish(Full::new(0), |scope, length| {
        task!(scope, [+length, =number, &words] {
            *length = words.len() + number;
        });
        number += 10;
    });
    assert_eq!(*length, 3);
    assert_eq!((number, words.len()), (11, 2));
}

#[test]
fn e4_what_is_not_shared_needs_no_permission() {
    everywhere(|tasks| {
        let mut local = vec![1];
        let task = task!(tasks, [] {
            local.push(2);
            local
        });
        assert_eq!(task.join().unwrap(), [1, 2]);
    });
}

#[test]
fn e4_objects_lie_in_objects() {
    // `set<socket@>@`
    let list = Shared::new(vec![Shared::new(1), Shared::new(2)]);
    let first = task!([list] { list[0].clone() }).join().unwrap();
    task!([+first] { *first += 10 }).join().unwrap();
    let inside = acquire(list.read())[0].clone();
    assert_eq!(*acquire(inside.read()), 11);
}

#[test]
fn e6_a_task_may_block_and_only_what_it_has_waits() {
    everywhere(|tasks| {
        let (had, other) = (Shared::new(0), Shared::new(0));
        let (mut reader, mut writer) = fibre::io::pipe().unwrap();
        let reads = task!(tasks, [+had] {
            let mut byte = [0];
            reader.read_exact(&mut byte).unwrap();
            *had = byte[0];
        });
        task!(tasks, [+other] { *other = 1 }).join().unwrap();
        assert!(!reads.is_finished());
        writer.write_all(&[9]).unwrap();
        reads.join().unwrap();
        assert_eq!(*acquire(had.read()), 9);
    });
}

#[test]
fn e6_a_task_gives_a_permission_back_before_it_blocks() {
    in_lines(|tasks| {
        let number = Shared::new(0);
        let go_on = Arc::new(Event::new());
        let blocks = task!(tasks, [+number, =go_on] {
            *number += 1;
            drop(number);
            go_on.wait();
        });
        assert_eq!(task!(tasks, [number] { *number }).join().unwrap(), 1);
        go_on.set();
        blocks.join().unwrap();
    });
}

/// A caller without a limit keeps its place in the line when a time-out around it is over, and what
/// it is granted is given back.
#[test]
fn a_time_out_does_not_lose_a_permission() {
    let number = Shared::new(0);
    let (held, released) = (acquire(number.full()), number.clone());
    let (waits, wanted) = (Arc::new(Event::new()), number.clone());
    let waiting = Arc::clone(&waits);
    let waiter = fibre::spawn(move || {
        fibre::timeout(Duration::from_millis(2), || {
            waiting.set();
            acquire_within(wanted.full(), Limit::None).map(|mut number| *number += 1)
        })
    });
    waits.wait();
    // It does not end, however long this takes.
    for _ in 0..30 {
        fibre::sleep(Duration::from_millis(10));
        assert!(!waiter.is_finished());
    }
    drop(held);
    assert_eq!(waiter.join().unwrap(), Ok(Ok(())));
    let within = acquire_within(released.full(), Duration::from_secs(60));
    assert_eq!(within.map(|number| *number), Ok(1));
}
