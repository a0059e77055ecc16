//! Tasks that are cancelled, give up, or are stopped.

use crate::support::{everywhere, in_lines, occupy, watchdog::watched};
use fibre::sync::{Event, Semaphore};
use fibre::{Cluster, WaitError};
use fibre_tasks::{
    Acquisition, Emitter, Full, Shared, TaskError, Tasks, acquire, acquire_timeout, acquire_within,
    finish, task,
};
use std::sync::Arc;
use std::time::Duration;

/// Says that its closure has been dropped.
struct Witness(Arc<Semaphore>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[test]
fn a_cancelled_task_leaves_its_place_and_drops_its_closure() {
    in_lines(|tasks| {
        let (a, b) = (Shared::new(0), Shared::new(0));
        let dropped = Arc::new(Semaphore::new(0));
        let witness = Witness(Arc::clone(&dropped));
        let occupant = occupy(tasks, &a);
        let first = task!(tasks, [+a, +b] {
            drop(witness);
            *a += *b;
        });
        let second = task!(tasks, [b] { *b });
        assert!(!second.is_finished());
        first.cancel();
        // It had `b` already, and gives it to the one behind.
        assert_eq!(second.join().unwrap(), 0);
        assert!(first.is_finished());
        dropped.acquire();
        assert!(matches!(first.join(), Err(TaskError::Cancelled)));
        assert_eq!(a.waiting(), 0);
        occupant.leave();
        acquire((a.full(), b.full()));
    });
}

#[test]
fn those_that_stay_keep_their_order_when_many_leave() {
    in_lines(|tasks| {
        let object = Shared::new(Vec::new());
        let occupant = occupy(tasks, &object);
        let spawn = |number: u32| task!(tasks, [+object] { object.push(number) });
        let mut waiting: Vec<_> = (0..5000).map(|number| (number, spawn(number))).collect();
        let mut random = crate::support::Random::new(0x5eed);
        let mut stay = Vec::new();
        while !waiting.is_empty() {
            let (number, task) = waiting.swap_remove(random.below(waiting.len()));
            if number % 7 == 3 {
                stay.push(task);
            } else {
                task.cancel();
                assert!(matches!(task.join(), Err(TaskError::Cancelled)));
            }
        }
        assert_eq!(object.waiting(), stay.len());
        occupant.leave();
        stay.into_iter().for_each(|task| task.join().unwrap());
        let log = acquire(object.read());
        assert!(log.iter().copied().eq((3..5000).step_by(7)));
    });
}

#[test]
fn readers_behind_a_cancelled_writer_join_those_before_it() {
    in_lines(|tasks| {
        let object = Shared::new(0);
        let end = Arc::new(Event::new());
        let reads = task!(tasks, [object, =end] { end.wait(); *object });
        let begun = acquire(object.read());
        let writes = task!(tasks, [+object] { *object += 1 });
        let follows = task!(tasks, [object] { *object });
        writes.cancel();
        assert_eq!(follows.join().unwrap(), 0);
        end.set();
        reads.join().unwrap();
        drop(begun);
        drop(writes);
    });
}

#[test]
fn a_task_that_runs_notices_cancellation_as_a_fibre() {
    everywhere(|tasks| {
        let (object, begun) = (Shared::new(()), Arc::new(Event::new()));
        let sleeps = task!(tasks, [+object, =begun] {
            let _held = object;
            begun.set();
            fibre::sleep_within(Duration::MAX).is_err()
        });
        begun.wait();
        sleeps.cancel();
        assert!(sleeps.join().unwrap());
        acquire(object.full());
    });
}

/// It has not panicked, and is not counted as if it had.
#[test]
fn a_task_that_asks_again_and_again_is_cancelled_too() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).name("asks").build();
        let cluster = cluster.unwrap();
        let builder = Tasks::builder().acquisition(Acquisition::Requeue);
        let tasks = builder.in_cluster(&cluster);
        let object = Shared::new(());
        let occupant = occupy(&tasks, &object);
        let asks = task!(tasks, [+object] { drop(object) });
        asks.cancel();
        assert!(matches!(asks.join(), Err(TaskError::Cancelled)));
        occupant.leave();
        let seen = fibre::metrics();
        let seen = seen.clusters.iter().find(|it| it.name == "asks").unwrap();
        assert_eq!(seen.totals().panicked, 0);
        tasks.stop();
        cluster.stop();
    });
}

#[test]
fn a_sibling_that_is_cancelled_is_no_failure_of_the_finish() {
    in_lines(|tasks| {
        let parent = task!(tasks, [] {
            let end = Event::new();
            let number = finish(Full::new(0), |scope, number| {
                task!(scope, [+number, &end] { end.wait(); *number += 1 });
                let second = task!(scope, [+number] { *number += 10 });
                second.cancel();
                assert!(matches!(second.join(), Err(TaskError::Cancelled)));
                end.set();
            });
            *number
        });
        assert_eq!(parent.join().unwrap(), 1);
    });
}

#[test]
fn a_caller_gives_up_when_its_limit_comes() {
    in_lines(|tasks| {
        let (a, b) = (Shared::new(0), Shared::new(0));
        let occupant = occupy(tasks, &a);
        let late = acquire_within((a.full(), b.full()), Duration::from_millis(1));
        assert_eq!(late.err(), Some(WaitError::TimedOut));
        assert_eq!((a.waiting(), b.waiting()), (0, 0));
        acquire(b.full());
        let object = a.clone();
        let waits = fibre::spawn(move || {
            acquire_within(object.read(), Duration::from_secs(3600)).map(|_| ())
        });
        crate::support::eventually(|| a.waiting() == 1);
        waits.cancel();
        assert_eq!(waits.join().unwrap(), Err(WaitError::Cancelled));
        occupant.leave();
        assert!(acquire_within(a.full(), Duration::ZERO).is_ok());
        let occupant = occupy(tasks, &a);
        let late = acquire_timeout((a.full(), b.full()), Duration::from_millis(1));
        assert!(late.is_none());
        assert_eq!((a.waiting(), b.waiting()), (0, 0));
        let object = a.clone();
        let waits = fibre::spawn(move || acquire_timeout(object.read(), Duration::MAX).is_none());
        crate::support::eventually(|| a.waiting() == 1);
        waits.cancel();
        assert!(waits.join().unwrap());
        occupant.leave();
        assert!(acquire_timeout(a.full(), Duration::ZERO).is_some());
    });
}

#[test]
fn a_join_gives_up_when_its_limit_comes() {
    everywhere(|tasks| {
        let object = Shared::new(3);
        let occupant = occupy(tasks, &object);
        let reads = task!(tasks, [object] { *object });
        let reads = reads.join_within(Duration::from_millis(1)).unwrap_err();
        let reads = reads.join_timeout(Duration::from_millis(1)).unwrap_err();
        occupant.leave();
        assert_eq!(
            reads.join_within(Duration::from_secs(60)).unwrap().unwrap(),
            3
        );
    });
}

#[test]
fn tasks_that_wait_for_each_other_all_run_before_the_stop_ends() {
    watched(|| {
        for processors in [1, 2, 4] {
            let tasks = Tasks::builder().processors(processors).build().unwrap();
            let count = Shared::new(0);
            let occupant = occupy(&tasks, &count);
            for _ in 0..1000 {
                drop(task!(tasks, [+count] { *count += 1 }));
            }
            occupant.leave();
            tasks.stop();
            assert_eq!(*acquire(count.read()), 1000);
        }
    });
}

#[test]
fn tasks_that_wait_for_strangers_are_refused_at_the_stop() {
    watched(|| {
        let tasks = Tasks::builder().processors(2).build().unwrap();
        let object = Shared::new(0);
        let held = acquire(object.full());
        let dropped = Arc::new(Semaphore::new(0));
        let all: Vec<_> = (0..100)
            .map(|_| {
                let witness = Witness(Arc::clone(&dropped));
                task!(tasks, [+object] {
                    drop(witness);
                    *object += 1;
                })
            })
            .collect();
        let after = tasks.clone();
        tasks.stop();
        dropped.acquire_many(100);
        for task in all {
            assert!(matches!(task.join(), Err(TaskError::Refused(_))));
        }
        let late = task!(after, [+object] { *object += 1 });
        assert!(matches!(late.join(), Err(TaskError::Refused(_))));
        drop(held);
        let late = task!(after, [+object] { *object += 1 });
        assert!(matches!(late.join(), Err(TaskError::Refused(_))));
        assert_eq!(*acquire(object.full()), 0);
    });
}

#[test]
fn a_long_line_of_a_cluster_that_is_gone_is_refused_without_depth() {
    // A thousand times what a recursion could take; and the object is free in the end.
    watched(|| {
        let cluster = Cluster::builder().processors(1).build().unwrap();
        let tasks = Tasks::builder().in_cluster(&cluster);
        let object = Shared::new(0);
        let held = acquire(object.full());
        let all: Vec<_> = (0..100_000)
            .map(|_| task!(tasks, [+object] { *object += 1 }))
            .collect();
        cluster.stop();
        drop(held);
        for task in all {
            assert!(matches!(task.join(), Err(TaskError::Refused(_))));
        }
        assert_eq!(*acquire(object.full()), 0);
    });
}

#[test]
fn a_task_that_is_left_behind_keeps_what_it_has_and_nobody_hangs_for_its_result() {
    watched(|| {
        let tasks = Tasks::builder().processors(1).build().unwrap();
        let object = Shared::new(0);
        let begun = Arc::new(Event::new());
        let stays = task!(tasks, [+object, =begun] {
            begun.set();
            fibre::shield(|| fibre::sleep(Duration::MAX));
            *object += 1;
        });
        begun.wait();
        let waits = task!(tasks, [+object] { *object += 1 });
        let left = tasks.stop_within(Duration::ZERO, Duration::from_millis(20));
        assert!(left.is_err());
        assert!(matches!(stays.join(), Err(TaskError::Abandoned)));
        assert!(matches!(waits.join(), Err(TaskError::Refused(_))));
        // It might go on: another thread may be using the object for it.
        assert!(fibre_tasks::try_acquire(object.read()).is_err());
    });
}

/// A task that waits when its cluster unwinds what waits was cancelled, and has given all back.
#[test]
fn a_task_that_is_unwound_was_cancelled() {
    watched(|| {
        let tasks = Tasks::builder().processors(1).build().unwrap();
        let object = Shared::new(0);
        let begun = Arc::new(Event::new());
        let waits = task!(tasks, [+object, =begun] {
            begun.set();
            fibre::sleep(Duration::MAX);
            *object += 1;
        });
        begun.wait();
        // What waits is unwound after half of it.
        tasks
            .stop_within(Duration::ZERO, Duration::from_secs(4))
            .unwrap();
        assert!(matches!(waits.join(), Err(TaskError::Cancelled)));
        assert_eq!(*acquire(object.read()), 0);
    });
}

#[test]
fn an_emitter_of_a_stopped_cluster_returns_its_events() {
    watched(|| {
        let tasks = Tasks::builder().processors(1).build().unwrap();
        let emitter = Emitter::<i32>::try_new(tasks.cluster()).unwrap();
        let sum = Shared::new(0);
        let _adds = emitter.on(sum.full(), |number, mut sum| *sum += number);
        emitter.emit(1).unwrap();
        tasks.stop();
        assert_eq!(emitter.emit(2).unwrap_err().0, 2);
        // The caller runs the callbacks itself, so it needs no cluster.
        emitter.deliver(4);
        assert_eq!(*acquire(sum.read()), 5);
    });
}
