//! `finish`: row E5, and what scopes do.

use crate::support::{everywhere, in_lines};
use fibre::sync::{Barrier, Event};
use fibre_tasks::{Full, Null, Shared, acquire, finish, task, try_finish};
use std::sync::Arc;

/// Program 1.
fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = finish((Full::new(0), Full::new(0)), |scope, (a, b)| {
        task!(scope, [+a, =n] { *a = fib(n - 1) });
        task!(scope, [+b, =n] { *b = fib(n - 2) });
    });
    *a + *b
}

#[test]
fn e5_program_1_computes() {
    everywhere(|tasks| {
        assert_eq!(task!(tasks, [] { fib(14) }).join().unwrap(), 377);
    });
    assert_eq!(fib(10), 55); // by a thread
}

#[test]
fn e5_the_parent_waits_and_finds_what_its_tasks_have_left() {
    everywhere(|tasks| {
        let list = Shared::new(vec![0]);
        let parent = task!(tasks, [+list] {
            let list = finish(list, |scope, list| {
                for number in 1..=10 {
                    task!(scope, [+list, =number] {
                        fibre::yield_now();
                        list.push(number);
                    });
                }
            });
            list.len()
        });
        assert_eq!(parent.join().unwrap(), 11);
        assert_eq!(*acquire(list.read()), (0..=10).collect::<Vec<_>>());
    });
}

#[test]
fn e5_no_other_task_comes_in_between() {
    in_lines(|tasks| {
        let number = Shared::new(0);
        let (begun, end) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let parent = task!(tasks, [+number, =begun, =end] {
            *number = 1;
            let number = finish(number, |scope, number| {
                task!(scope, [number] {
                    begun.set();
                    end.wait();
                    assert_eq!(*number, 1);
                });
            });
            assert_eq!(*number, 1);
        });
        begun.wait();
        let stranger = task!(tasks, [+number] { *number += 1 });
        assert_eq!(number.waiting(), 1);
        end.set();
        parent.join().unwrap();
        stranger.join().unwrap();
        assert_eq!(*acquire(number.read()), 2);
    });
}

#[test]
fn e5_what_is_lent_to_read_is_read_by_all_children_at_once() {
    in_lines(|tasks| {
        let number = Shared::new(3);
        let parent = task!(tasks, [number] {
            let together = Barrier::new(4);
            let number = finish(number, |scope, number| {
                for _ in 0..4 {
                    task!(scope, [number, &together] {
                        together.wait();
                        assert_eq!(*number, 3);
                    });
                }
            });
            *number
        });
        assert_eq!(parent.join().unwrap(), 3);
    });
}

#[test]
fn e5_what_is_lent_in_full_may_be_read_by_children_at_once() {
    let together = Barrier::new(3);
    let number = finish(Full::new(3), |scope, number| {
        for _ in 0..3 {
            task!(scope, [number, &together] {
                together.wait();
                assert_eq!(*number, 3);
            });
        }
        task!(scope, [+number] { *number += 1 });
    });
    assert_eq!(*number, 4);
}

#[test]
fn e5_all_permissions_can_be_lent_and_come_back() {
    let (read, null) = (Shared::new(1), Shared::new(2));
    let guards = acquire((read.read(), null.null()));
    let ((read, null), full) = finish((guards, Full::new(0)), |scope, ((read, null), full)| {
        task!(scope, [read, -null, +full] {
            let _reference = Null::shared(&null);
            *full = *read;
        });
    });
    assert_eq!((*read, *full), (1, 1));
    assert!(!Null::shared(&null).is_same(&fibre_tasks::Read::shared(&read)));
}

#[test]
fn e5_children_lend_to_theirs() {
    in_lines(|tasks| {
        let depth = Shared::new(0);
        let parent = task!(tasks, [+depth] { descend(depth, 20) });
        parent.join().unwrap();
        assert_eq!(*acquire(depth.read()), 20);
    });
}

/// Lends an object from parent to child to child.
fn descend(mut depth: Full<'_, u32>, left: u32) {
    if left == 0 {
        return;
    }
    *depth += 1;
    finish(depth, |scope, depth| {
        task!(scope, [+depth, =left] { descend(depth, left - 1) });
    });
}

#[test]
fn e5_vectors_of_guards_are_lent() {
    let objects: Vec<_> = (0..10).map(Full::new).collect();
    let objects = finish(objects, |scope, objects| {
        for object in &objects {
            task!(scope, [+object] { *object *= 2 });
        }
        let all: Vec<_> = objects.iter().map(|object| object.read()).collect();
        scope.task(all, |all| assert_eq!(all.len(), 10));
    });
    let values: Vec<_> = objects.iter().map(|object| **object).collect();
    assert_eq!(values, (0..10).map(|number| number * 2).collect::<Vec<_>>());
}

#[test]
fn tasks_of_a_scope_have_results_and_spawn_siblings() {
    let mut sum = 0;
    let count = finish(Full::new(0), |scope, count| {
        let one = task!(scope, [=scope, =count] {
            let deeper = task!(scope, [+count] { *count += 1; 20 });
            let number: i32 = deeper.join().unwrap();
            number + 1
        });
        sum = one.join().unwrap();
    });
    assert_eq!((*count, sum), (1, 21));
}

#[test]
fn a_finish_without_tasks_returns() {
    finish((), |_, ()| {});
    assert!(try_finish(Full::new(1), |_, _| {}).is_ok());
}

#[test]
fn tasks_of_a_scope_borrow() {
    let mut parts = [0; 8];
    let factor = 3;
    finish((), |scope, ()| {
        for (place, part) in parts.iter_mut().enumerate() {
            task!(scope, [&factor] { *part = place * factor });
        }
    });
    assert_eq!(parts, [0, 3, 6, 9, 12, 15, 18, 21]);
}
