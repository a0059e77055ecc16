//! How a run ends, and what is said if it fails.

use crate::support::watched;
use crate::{assert_says, failure};
use fibre::net::UdpSocket;
use fibre::sync::{Event, Mutex};
use fibre_test::{Schedule, Sim};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn a_deadlock_is_named_with_its_fibres() {
    // The dump is of the run only.
    let bystander = fibre::Cluster::builder().name("bystander").processors(1);
    let bystander = bystander.build().unwrap();
    let sleeper = bystander.spawn(|| fibre::sleep_within(Duration::from_secs(3600)));
    let text = failure(Sim::builder(), |_| {
        let event = Arc::new(Event::new());
        let waits = Arc::clone(&event);
        fibre::sleep(Duration::from_secs(3));
        let other = fibre::Builder::new().name("other".to_owned());
        let other = other.spawn(move || waits.wait()).unwrap();
        other.join().unwrap();
    });
    let parts = [
        "deadlock: nothing can run and nothing is due, at 3s",
        "(\"other\") waits for the event",
        "waits for the end of the fibre",
        "ends::a_deadlock_is_named_with_its_fibres",
        "replay: FIBRE_TEST=0:",
    ];
    assert_says(&text, &parts);
    assert!(!text.contains("bystander"), "{text}");
    sleeper.cancel();
    assert!(sleeper.join().unwrap().is_err());
    bystander.stop();
}

#[test]
fn a_deadlock_unwinds_what_waits() {
    struct Tells(Arc<AtomicBool>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let told = Arc::new(AtomicBool::new(false));
    let tells = Arc::clone(&told);
    failure(Sim::builder(), move |_| {
        let _tells = Tells(Arc::clone(&tells));
        Event::new().wait();
    });
    assert!(told.load(Ordering::Acquire));
}

#[test]
fn a_leak_is_named() {
    let text = failure(Sim::builder(), |_| {
        let sleeper = fibre::Builder::new().name("sleeper".to_owned());
        drop(
            sleeper
                .spawn(|| fibre::sleep(Duration::from_secs(60)))
                .unwrap(),
        );
    });
    let parts = [
        "leak: 1 fibre still live at the end of the test",
        "(\"sleeper\") waits for time to pass",
        "replay: FIBRE_TEST=0:",
    ];
    assert_says(&text, &parts);
}

#[test]
fn what_is_ready_at_the_end_still_runs_and_is_no_leak() {
    fibre_test::run(|_| {
        for _ in 0..10 {
            drop(fibre::spawn(|| (0..10).for_each(|_| fibre::yield_now())));
        }
    });
}

#[test]
fn leaks_may_be_allowed() {
    let report = Sim::builder().allow_leaks().run(|_| {
        drop(fibre::spawn(|| fibre::sleep(Duration::from_secs(60))));
    });
    assert_eq!(report.elapsed(), Duration::ZERO);
}

#[test]
#[should_panic(expected = "the words of the test")]
fn a_panic_of_the_test_is_passed_on() {
    fibre_test::run(|_| {
        fibre::yield_now();
        panic!("the words of the test");
    });
}

#[test]
fn a_panic_that_nobody_sees_fails_the_run() {
    let text = failure(Sim::builder(), |_| {
        fibre::spawn(|| panic!("unseen"));
        fibre::sleep(Duration::from_secs(1));
    });
    assert_says(
        &text,
        &["has failed, and nobody joins it", "replay: FIBRE_TEST=0:"],
    );
}

#[test]
fn a_panic_that_somebody_joins_is_the_tests_affair() {
    fibre_test::run(|_| assert!(fibre::spawn(|| panic!("seen")).join().is_err()));
}

#[test]
fn a_wait_for_a_descriptor_is_not_under_control() {
    let text = failure(Sim::builder(), |_| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let _ = socket.recv_from(&mut [0]);
    });
    let parts = [
        "not under the kit's control: fibre",
        "waits for input or output",
        "ends::a_wait_for_a_descriptor_is_not_under_control",
    ];
    assert_says(&text, &parts);
}

#[test]
fn a_call_that_blocks_a_thread_is_not_under_control() {
    let text = failure(Sim::builder(), |_| {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let _sender = sender;
        fibre::blocking(move || receiver.recv_timeout(Duration::from_secs(2))).unwrap_err();
    });
    let parts = [
        "not under the kit's control: fibre",
        "waits for a call that blocks a thread",
        "ends::a_call_that_blocks_a_thread_is_not_under_control",
    ];
    assert_says(&text, &parts);
}

#[test]
fn a_fibre_that_asks_for_its_processor_is_under_control() {
    fibre_test::run(|_| {
        let builder = fibre::Builder::new().on_processor(0);
        let fibre = builder.spawn(fibre::processor).unwrap();
        assert_eq!(fibre.join().unwrap(), Some(0));
    });
}

/// What is said of a run where a thread wakes a fibre: while others run, or when nothing can.
fn woken_by_a_thread(late: bool) -> String {
    failure(Sim::builder(), move |_| {
        let event = Arc::new(Event::new());
        let sets = Arc::clone(&event);
        let waits = fibre::spawn(move || event.wait());
        fibre::yield_now();
        let thread = thread::spawn(move || {
            if late {
                thread::sleep(Duration::from_millis(1));
            }
            sets.set();
        });
        if !late {
            thread.join().unwrap();
        }
        waits.join().unwrap();
    })
}

#[test]
fn a_thread_that_wakes_a_fibre_is_not_under_control() {
    const WORDS: &str = "not under the kit's control: another thread has woken a fibre";
    assert_says(&woken_by_a_thread(false), &[WORDS]);
    // A thread that gets no CPU for long is taken for a deadlock.
    let mut tries = (0..100).map(|_| woken_by_a_thread(true));
    assert!(tries.any(|text| text.contains(WORDS)));
}

#[test]
fn a_fibre_that_keeps_its_thread_is_noticed() {
    let noticed = Arc::new(AtomicBool::new(false));
    let builder = Sim::builder().patience(Duration::from_millis(50));
    let is_noticed = Arc::clone(&noticed);
    // Until that is so, as the thread that looks may get no CPU for long.
    let text = failure(builder, move |_| {
        while !is_noticed.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(10));
        }
    });
    noticed.store(true, Ordering::Release);
    assert_says(
        &text,
        &["not under the kit's control: a fibre does not switch"],
    );
}

#[test]
fn a_run_without_an_end_is_ended() {
    for schedule in [Schedule::in_order(), Schedule::random(), Schedule::pct(3)] {
        let builder = Sim::builder().schedule(schedule).most_switches(1000);
        let text = failure(builder, |_| {
            fibre::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        loop {
                            fibre::yield_now();
                            fibre::cancellation_point().unwrap();
                        }
                    });
                }
            });
        });
        assert_says(&text, &["no end after 1000 switches"]);
    }
}

#[test]
fn a_fibre_cannot_start_a_run() {
    let text = failure(Sim::builder(), |_| fibre_test::run(|_| ()));
    assert_says(&text, &["started by a thread, not by a fibre"]);
}

#[test]
fn the_holder_of_a_mutex_is_named() {
    let text = failure(Sim::builder(), |_| {
        let mutex = Arc::new(Mutex::new(()));
        let other = Arc::clone(&mutex);
        let guard = mutex.lock();
        let waits = fibre::spawn(move || drop(other.lock()));
        waits.join().unwrap();
        drop(guard);
    });
    assert_says(&text, &["deadlock", "waits for the mutex at"]);
}

/// A host ends with the test wherever its fibres wait, and at once: their calls that cannot fail,
/// too, have no time of the machine's left to them.
#[test]
fn hosts_are_switched_off_at_once() {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            ENDED.fetch_add(1, Ordering::Relaxed);
        }
    }
    watched(|| {
        let report = Sim::builder().seeds(100).run(|sim| {
            let (host, never) = (sim.host("server"), Arc::new(Event::new()));
            host.run(|| {
                let _ends = Ends;
                fibre::sleep(Duration::from_secs(3600));
            });
            host.run(move || {
                let _ends = Ends;
                never.wait();
            });
            sim.settle();
        });
        assert_eq!(report.runs(), 100);
    });
    assert_eq!(ENDED.load(Ordering::Relaxed), 200);
}
