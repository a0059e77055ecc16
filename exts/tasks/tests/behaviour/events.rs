//! Objects that emit events: rows E7, E8 and E11.

use crate::support::{eventually, everywhere, in_lines};
use fibre::sync::{Barrier, Event};
use fibre_tasks::{Emits, Emitter, Full, Shared, Tasks, acquire, on};
use std::sync::Arc;

/// What a [`Socket`] emits.
struct Data(u32);
/// What a [`Socket`] emits, too.
struct Close;

/// An object that emits two types of events.
struct Socket {
    data: Emitter<Data>,
    close: Emitter<Close>,
}

impl Socket {
    fn new(tasks: &Tasks) -> Self {
        Self {
            data: Emitter::try_new(tasks.cluster()).unwrap(),
            close: Emitter::try_new(tasks.cluster()).unwrap(),
        }
    }
}

impl Emits<Data> for Socket {
    fn emitter(&self) -> &Emitter<Data> {
        &self.data
    }
}

impl Emits<Close> for Socket {
    fn emitter(&self) -> &Emitter<Close> {
        &self.close
    }
}

#[test]
fn e7_an_object_has_callbacks_of_its_own_for_each_type_of_event() {
    everywhere(|tasks| {
        let (one, other) = (Socket::new(tasks), Socket::new(tasks));
        let log = Shared::new(Vec::new());
        on!(one, Data, [+log] |data| { log.push(("one", data.0)) });
        on!(other, Data, [+log] |data| { log.push(("other", data.0)) });
        on!(one, Close, [+log] |_| { log.push(("closed", 0)) });
        one.data.deliver(Data(1));
        other.data.deliver(Data(2));
        one.close.deliver(Close);
        other.close.deliver(Close);
        let expected = [("one", 1), ("other", 2), ("closed", 0)];
        assert_eq!(*acquire(log.read()), expected);
    });
}

#[test]
fn e8_a_callback_has_the_permissions_of_its_list() {
    everywhere(|tasks| {
        let socket = Socket::new(tasks);
        let (factor, sum) = (Shared::new(10), Shared::new(0));
        let step = 1;
        on!(socket, Data, [factor, +sum, =step] |data| { *sum += *factor * data.0 + step });
        for number in 1..=100 {
            socket.data.emit(Data(number)).ok().unwrap();
        }
        eventually(|| *acquire(sum.read()) == 50_600);
    });
}

#[test]
fn e8_an_event_waits_for_the_permission_of_its_callback() {
    everywhere(|tasks| {
        let socket = Socket::new(tasks);
        let sum = Shared::new(0);
        on!(socket, Data, [+sum] |data| { *sum += data.0 });
        let mut held = acquire(sum.full());
        socket.data.emit(Data(1)).ok().unwrap();
        fibre::yield_now();
        *held += 10;
        drop(held);
        eventually(|| *acquire(sum.read()) == 11);
    });
}

#[test]
fn e11_events_of_an_object_are_handled_in_order_and_one_at_a_time() {
    everywhere(|tasks| {
        let emitter = Emitter::<u32>::try_new(tasks.cluster()).unwrap();
        let log = Shared::new(Vec::new());
        for callback in ["first", "second"] {
            let _stays = emitter.on(log.full(), move |event, mut log| {
                log.push((*event, callback));
                drop(log);
                fibre::yield_now();
            });
        }
        for event in 0..50 {
            emitter.emit(event).unwrap();
        }
        emitter.deliver(50); // after those before it
        let expected: Vec<_> = (0..=50)
            .flat_map(|event| [(event, "first"), (event, "second")])
            .collect();
        assert_eq!(*acquire(log.read()), expected);
    });
}

#[test]
fn e11_events_of_one_source_are_in_order_however_they_are_emitted() {
    in_lines(|tasks| {
        let emitter = Emitter::<(u32, u32)>::try_new(tasks.cluster()).unwrap();
        let log = Shared::new(Vec::new());
        let _stays = emitter.on(log.full(), |event, mut log| log.push(*event));
        let sources: Vec<_> = (0..4)
            .map(|source| {
                let emitter = emitter.clone();
                let emit = move || {
                    for number in 0..200 {
                        match number % 3 {
                            0 => emitter.deliver((source, number)),
                            _ => emitter.emit((source, number)).unwrap(),
                        }
                    }
                    emitter.deliver((source, 200));
                };
                tasks.cluster().unwrap().spawn(emit)
            })
            .collect();
        for source in sources {
            source.join().unwrap();
        }
        let log = acquire(log.read());
        for source in 0..4 {
            let of_source = log.iter().filter(|event| event.0 == source);
            assert!(of_source.map(|event| event.1).eq(0..=200));
        }
    });
}

#[test]
fn e11_events_of_different_objects_are_handled_side_by_side() {
    in_lines(|tasks| {
        let together = Arc::new(Barrier::new(3));
        let object = Shared::new(0);
        let sockets = [(); 3].map(|()| Socket::new(tasks));
        for socket in &sockets {
            on!(socket, Data, [object, =together] |_| {
                together.wait();
                assert_eq!(*object, 0);
            });
            socket.data.emit(Data(0)).ok().unwrap();
        }
        for socket in &sockets {
            let done = Arc::new(Event::new());
            on!(socket, Close, [=done] |_| { done.set() });
            socket.close.deliver(Close);
            assert!(done.is_set());
        }
    });
}

#[test]
fn a_callback_that_was_removed_is_not_called() {
    everywhere(|tasks| {
        let emitter = Emitter::try_new(tasks.cluster()).unwrap();
        let sum = Shared::new(0);
        let add = |number: &i32, mut sum: Full<'_, i32>| *sum += number;
        let goes = emitter.on(sum.full(), add);
        let _stays = emitter.on(sum.full(), move |number, sum| add(&(number * 100), sum));
        assert_eq!(emitter.callbacks(), 2);
        emitter.deliver(1);
        goes.remove();
        emitter.deliver(2);
        assert_eq!((*acquire(sum.read()), emitter.callbacks()), (301, 1));
    });
}

#[test]
fn a_callback_removes_itself_and_adds_others() {
    everywhere(|tasks| {
        let emitter = Emitter::<()>::try_new(tasks.cluster()).unwrap();
        let count = Shared::new(0);
        let subscription = Shared::new(None);
        let (others, added) = (emitter.clone(), count.clone());
        let first = emitter.on(subscription.full(), move |(), mut own| {
            if let Some(own) = Option::take(&mut *own) {
                fibre_tasks::Subscription::remove(own);
                let _stays = others.on(added.full(), |(), mut count| *count += 1);
            }
        });
        *acquire(subscription.full()) = Some(first);
        for _ in 0..3 {
            emitter.deliver(());
        }
        assert_eq!((*acquire(count.read()), emitter.callbacks()), (2, 1));
    });
}

#[test]
fn events_are_handled_when_the_last_handle_is_gone() {
    everywhere(|tasks| {
        let emitter = Emitter::try_new(tasks.cluster()).unwrap();
        let (sum, held) = (Shared::new(0), Shared::new(()));
        let _stays = emitter.on((sum.full(), held.read()), |number: &i32, (mut sum, _)| {
            *sum += number
        });
        let keeps = acquire(held.full());
        for number in 1..=25 {
            emitter.emit(number).unwrap();
        }
        drop(emitter);
        drop(keeps);
        eventually(|| *acquire(sum.read()) == 325);
    });
}
