//! Fibres that go to the disk cluster themselves to block a thread, and come back.

use crate::support::{eventually, kernel_thread, text_of, watched};
use fibre::{Builder, Cluster};
use std::cell::Cell;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

fibre::fibre_local! {
    /// Something of the fibre's own.
    static OWN: Cell<u32> = Cell::new(0);
}

/// A cluster whose fibres move.
fn moving(processors: usize) -> Cluster {
    let builder = Cluster::builder().processors(processors);
    // SAFETY: the fibres of this file keep nothing across a wait that belongs to a kernel thread.
    unsafe { builder.move_started_fibres() }.build().unwrap()
}

/// The fibre is the same there, with all that it has; only its thread is another one, and no
/// processor of its own.
#[test]
fn the_fibre_itself_goes() {
    watched(|| {
        let cluster = moving(2);
        let processors: HashSet<_> = cluster.thread_ids().into_iter().collect();
        let visitor = Builder::new().name("visitor").spawn_in(&cluster, move || {
            let me = (fibre::id(), fibre::name());
            OWN.with(|own| own.set(5));
            let local = [3; 64];
            let there = fibre::blocking_visit(|| {
                assert_eq!((fibre::id(), fibre::name()), me);
                assert_eq!(OWN.with(|own| own.replace(6)), 5);
                fibre::sleep(Duration::from_millis(1));
                assert_eq!(fibre::spawn(|| 4).join().unwrap(), 4);
                (kernel_thread(), local[63])
            });
            let (there, three) = there.unwrap();
            assert_eq!((three, OWN.with(Cell::get)), (3, 6));
            assert!(!processors.contains(&there));
            assert!(processors.contains(&kernel_thread()));
        });
        visitor.unwrap().join().unwrap();
        let witness = cluster.clone();
        cluster.stop();
        assert_eq!(witness.live(), 0);
    });
}

/// Asymmetric that block their threads go on at the same time, as many as there are.
#[test]
fn visits_go_on_together() {
    watched(|| {
        let cluster = moving(1);
        let all_there = Arc::new(Barrier::new(20));
        let visitors: Vec<_> = (0..20)
            .map(|_| {
                let all_there = Arc::clone(&all_there);
                cluster.spawn(move || fibre::blocking_visit(|| all_there.wait().is_leader()))
            })
            .collect();
        let leaders = visitors.into_iter().map(|it| it.join().unwrap().unwrap());
        assert_eq!(leaders.filter(|leads| *leads).count(), 1);
        // And many short ones take turns.
        let many: Vec<_> = (0..1000)
            .map(|i| cluster.spawn(move || fibre::blocking_visit(|| i)))
            .collect();
        let sum: usize = many.into_iter().map(|it| it.join().unwrap().unwrap()).sum();
        assert_eq!(sum, 499_500);
        cluster.stop();
    });
}

/// A panic comes back with the fibre, and a visitor is the same afterwards.
#[test]
fn panics_come_back() {
    watched(|| {
        let cluster = moving(1);
        let visitor = cluster.spawn(|| {
            let home = kernel_thread();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                fibre::blocking_visit(|| panic!("from the visit"))
            }));
            let payload = outcome.map(drop).unwrap_err();
            assert_eq!(text_of(&*payload), "from the visit");
            assert_eq!(kernel_thread(), home);
            fibre::blocking_visit(|| 7).unwrap()
        });
        assert_eq!(visitor.join().unwrap(), 7);
        cluster.stop();
    });
}

/// A cluster that is stopped waits for its fibres that are away, and takes them back.
#[test]
fn stopping_waits_for_visitors() {
    watched(|| {
        let cluster = moving(1);
        let (say, heard) = channel();
        let (call, called) = channel();
        let visitor = cluster.spawn(move || {
            let home = kernel_thread();
            fibre::blocking_visit(|| {
                say.send(()).unwrap();
                called.recv().unwrap();
            })
            .unwrap();
            assert_eq!(kernel_thread(), home);
            fibre::is_cancelled()
        });
        heard.recv().unwrap();
        // Calls it back when all are cancelled, and not before.
        cluster.spawn(move || {
            assert!(fibre::sleep_within(Duration::MAX).is_err());
            call.send(()).unwrap();
        });
        assert_eq!(cluster.live(), 2);
        let minute = Duration::from_secs(60);
        cluster.stop_within(Duration::ZERO, minute).unwrap();
        assert!(visitor.join().unwrap(), "who comes back late is cancelled");
    });
}

/// A fibre that may not move is told so, and its closure is not called; a thread, and a fibre that
/// is there already, just call it.
#[test]
fn some_stay() {
    watched(|| {
        assert_eq!(
            fibre::blocking_visit(kernel_thread).unwrap(),
            kernel_thread()
        );
        let bound = Cluster::builder().processors(1).build().unwrap();
        let refused = bound.spawn(|| fibre::blocking_visit(|| panic!("called")));
        let error = refused.join().unwrap().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        bound.stop();
        let free = moving(1);
        let nested = free.spawn(|| fibre::blocking_visit(|| fibre::blocking_visit(|| 9)));
        assert_eq!(nested.join().unwrap().unwrap().unwrap(), 9);
        eventually(|| free.live() == 0);
        free.stop();
    });
}
