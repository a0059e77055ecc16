//! Calls that block a kernel thread.

use crate::support::{Drops, for_each_cluster, kernel_thread, text_of, watched};
use fibre::Cluster;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// The call runs on another kernel thread, may borrow, and its value comes back.
#[test]
fn blocking_calls_run_elsewhere() {
    for_each_cluster(|_| {
        let text = "borrowed".to_owned();
        let name = || thread::current().name().unwrap_or_default().to_owned();
        let (length, there) = fibre::blocking(|| (text.len(), name()));
        assert_eq!(length, text.len());
        assert!(there.starts_with("fibre-disk/"), "{there}");
        assert!(!name().starts_with("fibre-disk/"));
    });
}

/// While a call blocks its thread, the other fibres of the processor go on.
#[test]
fn others_run_meanwhile() {
    for_each_cluster(|_| {
        let (tell, told) = channel();
        let blocked = fibre::spawn(move || fibre::blocking(move || told.recv().unwrap()));
        for _ in 0..100 {
            fibre::spawn(fibre::yield_now).join().unwrap();
        }
        tell.send("released by a fibre").unwrap();
        assert_eq!(blocked.join().unwrap(), "released by a fibre");
    });
}

/// More calls than there are threads for them take turns.
#[test]
fn many_calls_take_turns() {
    for_each_cluster(|_| {
        let handles: Vec<_> = (0..64_usize)
            .map(|i| {
                fibre::spawn(move || {
                    fibre::blocking(|| {
                        thread::sleep(Duration::from_millis(1));
                        i
                    })
                })
            })
            .collect();
        for (i, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), i);
        }
    });
}

/// A panic of the call is the caller's, and what it captured is dropped once.
#[test]
fn panics_come_back() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let captured = drops.value();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            fibre::blocking(move || {
                let _captured = captured;
                panic!("from the call");
            })
        }));
        let payload = outcome.expect_err("it panicked");
        assert_eq!(text_of(&*payload), "from the call");
        assert_eq!(drops.count(), 1);
        assert_eq!(fibre::blocking(|| 3), 3);
    });
}

/// On a plain thread the call is just made; inside another such call it works, too.
#[test]
fn plain_threads_and_nesting() {
    watched(|| {
        let here = kernel_thread();
        assert_eq!(fibre::blocking(kernel_thread), here);
        let nested = fibre::spawn(|| fibre::blocking(|| fibre::blocking(|| 11)));
        assert_eq!(nested.join().unwrap(), 11);
    });
}

/// A fibre stops another cluster by such a call, and only waits itself.
#[test]
fn a_fibre_stops_another_cluster() {
    for_each_cluster(|_| {
        let other = Cluster::builder().processors(2).build().unwrap();
        let slow = other.spawn(|| fibre::sleep(Duration::from_millis(5)));
        fibre::blocking(move || other.stop());
        assert!(slow.is_finished());
    });
}
