//! Emitters that outlive what befalls them: destructors that panic, clusters that leave them
//! behind, long chains, many callbacks.

use crate::support::{eventually, everywhere, in_lines, run, watchdog::watched};
use fibre::Cluster;
use fibre::sync::Event;
use fibre_tasks::{Acquisition, Emitter, Unhandled};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// Panics as it ends, without a word on standard error.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new("the end of a bomb"));
    }
}

/// An emitter that counts its events.
fn counting<E: Send + 'static>(cluster: Option<&Cluster>) -> (Emitter<E>, Arc<AtomicU32>) {
    let (emitter, count) = (Emitter::try_new(cluster).unwrap(), Arc::default());
    let counter: Arc<AtomicU32> = Arc::clone(&count);
    let _stays = emitter.on((), move |_: &E, ()| {
        counter.fetch_add(1, SeqCst);
    });
    (emitter, count)
}

#[test]
fn an_event_whose_destructor_panics_is_the_last_of_nothing() {
    everywhere(|tasks| {
        let (emitter, count) = counting::<Bomb>(tasks.cluster());
        for _ in 0..25 {
            emitter.emit(Bomb).ok().unwrap();
        }
        let (other, handle) = (emitter.clone(), tasks.cluster().unwrap());
        let delivers = handle.spawn(move || {
            let delivered = catch_unwind(AssertUnwindSafe(|| other.deliver(Bomb)));
            delivered.unwrap_err().downcast_ref() == Some(&"the end of a bomb")
        });
        assert!(delivers.join().unwrap());
        let delivered = catch_unwind(AssertUnwindSafe(|| emitter.deliver(Bomb)));
        assert!(delivered.is_err());
        eventually(|| count.load(SeqCst) == 27);
    });
}

#[test]
fn a_payload_whose_destructor_panics_is_the_last_of_nothing() {
    everywhere(|tasks| {
        let (emitter, count) = counting::<u32>(tasks.cluster());
        for _ in 0..2 {
            let _stays = emitter.on((), |_: &u32, ()| panic_any(Bomb));
        }
        for number in 0..25 {
            emitter.emit(number).unwrap();
        }
        let delivered = catch_unwind(AssertUnwindSafe(|| emitter.deliver(25)));
        std::mem::forget(delivered.unwrap_err());
        let delivered = catch_unwind(AssertUnwindSafe(|| emitter.deliver(26)));
        std::mem::forget(delivered.unwrap_err());
        eventually(|| count.load(SeqCst) == 27);
    });
}

#[test]
fn a_callback_and_its_event_may_both_panic_in_a_delivery() {
    let (emitter, count) = counting::<Bomb>(None);
    let _stays = emitter.on((), |_: &Bomb, ()| panic_any("the callback"));
    for _ in 0..2 {
        let delivered = catch_unwind(AssertUnwindSafe(|| emitter.deliver(Bomb)));
        assert_eq!(delivered.unwrap_err().downcast_ref(), Some(&"the callback"));
    }
    assert_eq!(count.load(SeqCst), 2);
}

#[test]
fn callbacks_that_end_during_their_event_may_panic_then() {
    everywhere(|tasks| {
        let (emitter, count) = counting::<u32>(tasks.cluster());
        let doomed: Vec<_> = (0..3)
            .map(|_| {
                let bomb = Bomb;
                emitter.on((), move |_: &u32, ()| {
                    let _part = &bomb;
                })
            })
            .collect();
        let mut doomed = Some(doomed);
        let remover = std::sync::Mutex::new(move || {
            for subscription in doomed.take().into_iter().flatten() {
                subscription.remove();
            }
        });
        let _stays = emitter.on((), move |_: &u32, ()| (*remover.lock().unwrap())());
        for number in 0..20 {
            emitter.emit(number).unwrap();
        }
        emitter.deliver(20);
        assert_eq!((count.load(SeqCst), emitter.callbacks()), (21, 2));
    });
}

#[test]
fn an_emitter_ends_with_callbacks_whose_destructors_panic() {
    let emitter = Emitter::<u32>::new();
    for _ in 0..3 {
        let bomb = Bomb;
        let _stays = emitter.on((), move |_: &u32, ()| {
            let _part = &bomb;
        });
    }
    emitter.deliver(1);
    drop(emitter);
}

/// Waits in a way that notices nothing.
fn wait_for_ever(never: &Event) {
    fibre::shield(|| never.wait());
}

/// Stops a cluster that has to leave something behind.
fn leave_behind(cluster: Cluster) {
    let limit = Duration::from_millis(20);
    assert!(cluster.stop_within(limit, limit).is_err());
}

#[test]
fn an_emitter_that_was_left_behind_gives_events_back() {
    watched(|| {
        for processors in [1, 2] {
            let cluster = Cluster::builder().processors(processors).build().unwrap();
            let emitter = Emitter::<Arc<u32>>::try_new(Some(&cluster)).unwrap();
            let (begun, never) = (Arc::new(Event::new()), Arc::new(Event::new()));
            let (begins, waits) = (Arc::clone(&begun), Arc::clone(&never));
            let _stays = emitter.on((), move |_: &Arc<u32>, ()| {
                begins.set();
                wait_for_ever(&waits);
            });
            let event = Arc::new(7);
            emitter.emit(Arc::clone(&event)).unwrap();
            begun.wait();
            // One waits with the cluster, and one is delivered by a thread.
            emitter.emit(Arc::clone(&event)).unwrap();
            let (other, third) = (emitter.clone(), Arc::clone(&event));
            let delivers = std::thread::spawn(move || other.deliver(third));
            eventually(|| Arc::strong_count(&event) == 4);
            leave_behind(cluster);
            assert!(delivers.join().is_err());
            for _ in 0..3 {
                let Unhandled(back) = emitter.emit(Arc::clone(&event)).unwrap_err();
                assert!(Arc::ptr_eq(&back, &event));
                let other = Arc::clone(&event);
                let delivered = catch_unwind(AssertUnwindSafe(|| emitter.deliver(other)));
                assert!(delivered.is_err());
            }
            // What waited is gone; the abandoned callback has its own.
            assert!(Arc::strong_count(&event) <= 2);
        }
    });
}

#[test]
fn a_deliverer_that_was_left_behind_keeps_no_events() {
    watched(|| {
        let cluster = Cluster::builder().processors(2).build().unwrap();
        let emitter = Emitter::<u32>::try_new(Some(&cluster)).unwrap();
        let (begun, never) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let (begins, waits) = (Arc::clone(&begun), Arc::clone(&never));
        let _stays = emitter.on((), move |_: &u32, ()| {
            begins.set();
            wait_for_ever(&waits);
        });
        let other = emitter.clone();
        let delivers = cluster.spawn(move || other.deliver(1));
        begun.wait();
        emitter.emit(2).unwrap();
        let other = emitter.clone();
        let behind = std::thread::spawn(move || other.deliver(3));
        std::thread::sleep(Duration::from_millis(20));
        leave_behind(cluster);
        assert!(behind.join().is_err());
        assert_eq!(emitter.emit(4).unwrap_err().0, 4);
        assert!(catch_unwind(AssertUnwindSafe(|| emitter.deliver(5))).is_err());
        drop(delivers);
    });
}

#[test]
fn a_long_chain_of_emitters_ends_on_a_fibre() {
    in_lines(|tasks| {
        let ended = Arc::new(AtomicU32::new(0));
        let mut chain: Option<Emitter<u32>> = None;
        for _ in 0..100_000 {
            let emitter = Emitter::try_new(tasks.cluster()).unwrap();
            let (next, count) = (chain.take(), CountsDown(Arc::clone(&ended)));
            let _stays = emitter.on((), move |_: &u32, ()| {
                let _parts = (&next, &count);
            });
            chain = Some(emitter);
        }
        let fibre = tasks.cluster().unwrap().spawn(move || drop(chain));
        fibre.join().unwrap();
        assert_eq!(ended.load(SeqCst), 100_000);
    });
}

/// Counts its end.
struct CountsDown(Arc<AtomicU32>);

impl Drop for CountsDown {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A hundred thousand changes, which took minutes while each copied the list.
#[test]
fn many_callbacks_come_and_go() {
    run(2, Acquisition::Lines, |tasks| {
        let (emitter, count) = counting::<u32>(tasks.cluster());
        let subscriptions: Vec<_> = (0..100_000)
            .map(|_| emitter.on((), |_: &u32, ()| ()))
            .collect();
        emitter.deliver(1);
        subscriptions.into_iter().for_each(|one| one.remove());
        emitter.deliver(2);
        assert_eq!((count.load(SeqCst), emitter.callbacks()), (2, 1));
    });
}
