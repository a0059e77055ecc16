//! Handlers that block: their colour is held, others go on.

use crate::support::{Log, eventually, everywhere, finish};
use fibre::sync::Event as Flag;
use fibre_events::{Events, NotRun, Policy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

#[test]
fn a_handler_that_blocks_holds_its_colour_and_no_other() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let (log, flag) = (Log::default(), Arc::new(Flag::new()));
        let (said, gate) = (log.clone(), Arc::clone(&flag));
        events.post(1, move || {
            gate.wait();
            said.say(1);
        });
        let said = log.clone();
        events.post(1, move || said.say(2));
        for colour in 2..50 {
            let said = log.clone();
            events.post(colour, move || said.say(0));
        }
        events.start();
        eventually(|| log.words().len() == 48);
        assert!(log.words().iter().all(|word| *word == 0));
        flag.set();
        finish(&events);
        assert_eq!(log.words()[48..], [1, 2]);
    });
}

#[test]
fn many_handlers_block_at_once() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let inside = Arc::new(AtomicU64::new(0));
        let flag = Arc::new(Flag::new());
        for colour in 0..200 {
            let (inside, flag) = (Arc::clone(&inside), Arc::clone(&flag));
            events.post(colour, move || {
                inside.fetch_add(1, SeqCst);
                flag.wait();
            });
        }
        events.start();
        eventually(|| inside.load(SeqCst) == 200);
        flag.set();
        assert_eq!(finish(&events).ran, 200);
        // Fibres that have nothing left to do have ended.
        assert_eq!(events.cluster().live(), 0);
    });
}

#[test]
fn a_released_colour_runs_others_and_comes_back() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let (log, flag) = (Log::default(), Arc::new(Flag::new()));
        let (said, gate, handle) = (log.clone(), Arc::clone(&flag), events.clone());
        events.post(1, move || {
            said.say(1);
            handle.release(|| gate.wait());
            said.say(4);
            fibre::yield_now();
            said.say(5);
        });
        let said = log.clone();
        events.post(1, move || said.say(2));
        let (said, gate) = (log.clone(), Arc::clone(&flag));
        events.post(1, move || {
            said.say(3);
            gate.set();
        });
        let report = finish(&events);
        assert_eq!((report.ran, report.panicked), (3, 0));
        assert_eq!(log.words(), [1, 2, 3, 4, 5]);
    });
}

#[test]
fn several_handlers_release_one_colour() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let (inside, away) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        for _ in 0..20 {
            let (inside, away) = (Arc::clone(&inside), Arc::clone(&away));
            let handle = events.clone();
            events.post(9, move || {
                assert_eq!(inside.fetch_add(1, SeqCst), 0);
                inside.fetch_sub(1, SeqCst);
                handle.release(|| {
                    away.fetch_add(1, SeqCst);
                    while away.load(SeqCst) < 20 {
                        fibre::sleep(Duration::from_millis(1));
                    }
                });
                assert_eq!(inside.fetch_add(1, SeqCst), 0);
                fibre::yield_now();
                inside.fetch_sub(1, SeqCst);
            });
        }
        let report = finish(&events);
        assert_eq!((report.ran, report.panicked), (20, 0));
    });
}

#[test]
fn a_panic_in_a_release_comes_back_with_the_colour() {
    let events = Events::builder().processors(1).build().unwrap();
    let log = Log::default();
    let (handle, said) = (events.clone(), log.clone());
    events.post(1, move || {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            handle.release(|| std::panic::resume_unwind(Box::new("away")));
        }));
        assert!(outcome.is_err());
        said.say(1);
    });
    let report = finish(&events);
    assert_eq!((report.ran, report.panicked), (1, 0));
    assert_eq!(log.words(), [1]);
}

#[test]
fn a_call_waits_for_its_answer() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        events.start();
        let handle = events.clone();
        let answer = events.call(1, move || handle.call(2, || 20).map(|twenty| twenty + 1));
        assert_eq!(answer, Ok(Ok(21)));
        finish(&events);
        assert_eq!(events.call(1, || ()), Err(NotRun));
    });
}

#[test]
fn a_call_of_the_own_colour_is_found() {
    let events = Events::builder().processors(1).build().unwrap();
    let handle = events.clone();
    events.post(4, move || {
        let _ = handle.call(4, || ());
    });
    assert_eq!(finish(&events).panicked, 1);
}

#[test]
fn fibres_of_the_processor_run_while_there_are_events() {
    for policy in crate::support::POLICIES {
        let events = Events::builder().processors(1).policy(policy);
        let events = events.build().unwrap();
        let flag = Arc::new(Flag::new());
        fn go_on(events: &Events, flag: &Arc<Flag>) {
            let (handle, gate) = (events.clone(), Arc::clone(flag));
            if !flag.is_set() {
                events.post(1, move || go_on(&handle, &gate));
            }
        }
        go_on(&events, &flag);
        events.start();
        let gate = Arc::clone(&flag);
        let fibre = events.cluster().spawn(move || gate.set());
        fibre.join().unwrap();
        finish(&events);
    }
}

#[test]
fn a_busy_processor_keeps_nothing_that_may_be_stolen() {
    for policy in [Policy::Libasync, Policy::MelyBase, Policy::TimeLeft] {
        let events = Events::builder().processors(2).policy(policy);
        let events = events.theft_cost(Duration::ZERO).build().unwrap();
        let stolen = Arc::new(AtomicU64::new(0));
        let (count, handle) = (Arc::clone(&stolen), events.clone());
        // All are at home on the handler's processor, which computes until others have run.
        events.post(0, move || {
            let here = fibre::processor().unwrap() as u64;
            for number in 1..=10 {
                let count = Arc::clone(&count);
                handle.post(2 * number + here, move || {
                    count.fetch_add(1, SeqCst);
                });
            }
            while count.load(SeqCst) < 5 {
                std::hint::spin_loop();
            }
        });
        events.start();
        eventually(|| stolen.load(SeqCst) >= 5);
        let report = finish(&events);
        assert_eq!(report.ran, 11);
        assert!(report.thefts >= 5, "{report:?}");
    }
}
