//! The order that tasks get an object in.

use crate::support::{eventually, in_lines, occupy};
use fibre::sync::{Barrier, Event};
use fibre_tasks::{Shared, acquire, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

#[test]
fn writers_come_in_the_order_in_which_they_were_spawned() {
    in_lines(|tasks| {
        let list = Shared::new(Vec::new());
        let occupant = occupy(tasks, &list);
        let all: Vec<_> = (0..100)
            .map(|number| task!(tasks, [+list] { list.push(number) }))
            .collect();
        assert_eq!(list.waiting(), 100);
        occupant.leave();
        for task in all {
            task.join().unwrap();
        }
        assert_eq!(*acquire(list.read()), (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn readers_that_follow_each_other_come_together() {
    in_lines(|tasks| {
        let object = Shared::new(());
        let occupant = occupy(tasks, &object);
        let together = Arc::new(Barrier::new(5));
        let readers = [(); 5].map(|()| task!(tasks, [object, =together] { together.wait(); }));
        occupant.leave();
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn no_reader_passes_a_writer_that_waits() {
    in_lines(|tasks| {
        let object = Shared::new(0);
        let (begun, end) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let first = task!(tasks, [object, =begun, =end] {
            begun.set();
            end.wait();
            *object
        });
        begun.wait();
        let writer = task!(tasks, [+object] { *object = 1 });
        // The object could be read beside the first, but the writer was here before.
        let late = task!(tasks, [object] { *object });
        assert_eq!(object.waiting(), 2);
        end.set();
        assert_eq!(first.join().unwrap(), 0);
        assert_eq!(late.join().unwrap(), 1);
        writer.join().unwrap();
    });
}

#[test]
fn batches_of_readers_alternate_with_writers() {
    in_lines(|tasks| {
        let round = Shared::new(0);
        let occupant = occupy(tasks, &round);
        let mut readers = Vec::new();
        for number in 0..20 {
            let together = Arc::new(Barrier::new(3));
            for _ in 0..3 {
                readers.push((
                    number,
                    task!(tasks, [round, =together] {
                        together.wait();
                        *round
                    }),
                ));
            }
            drop(task!(tasks, [+round] { *round += 1 }));
        }
        occupant.leave();
        for (number, reader) in readers {
            assert_eq!(reader.join().unwrap(), number);
        }
    });
}

#[test]
fn tasks_of_several_objects_have_all_of_them_in_one_order() {
    in_lines(|tasks| {
        let (a, b) = (Shared::new(Vec::new()), Shared::new(Vec::new()));
        let occupant = occupy(tasks, &a);
        let mut all = Vec::new();
        for number in 0..50 {
            // One names them the other way round.
            all.push(match number % 2 {
                0 => task!(tasks, [+a, +b] { a.push(number); b.push(number) }),
                _ => task!(tasks, [+b, +a] { a.push(number); b.push(number) }),
            });
        }
        occupant.leave();
        for task in all {
            task.join().unwrap();
        }
        let (a, b) = acquire((a.read(), b.read()));
        assert_eq!(*a, (0..50).collect::<Vec<_>>());
        assert_eq!(*a, *b);
    });
}

#[test]
fn a_task_that_waits_holds_its_place_in_all_lines() {
    in_lines(|tasks| {
        let (a, b) = (Shared::new(0), Shared::new(0));
        let occupant = occupy(tasks, &a);
        let both = task!(tasks, [+a, +b] { *a += 1; *b += 1 });
        let late = task!(tasks, [b] { *b });
        assert_eq!(b.waiting(), 1);
        occupant.leave();
        assert_eq!(late.join().unwrap(), 1);
        both.join().unwrap();
    });
}

#[test]
fn tasks_that_share_nothing_do_not_wait_for_each_other() {
    in_lines(|tasks| {
        let objects = [(); 4].map(|()| Shared::new(()));
        let all_here = Arc::new(Barrier::new(4));
        let count = Arc::new(AtomicU32::new(0));
        let all = objects.map(|object| {
            task!(tasks, [+object, =all_here, =count] {
                let _held = object;
                all_here.wait();
                count.fetch_add(1, SeqCst);
            })
        });
        for task in all {
            task.join().unwrap();
        }
        eventually(|| count.load(SeqCst) == 4);
    });
}
