//! Handlers that panic.

use crate::support::{Log, everywhere, finish};
use fibre_events::Events;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

#[test]
fn a_panic_ends_its_event_only() {
    everywhere(|builder| {
        let log = Log::default();
        let events = builder.build().unwrap();
        for number in 0..30_u64 {
            let log = log.clone();
            events.post(7, move || {
                if number % 3 == 0 {
                    resume_unwind(Box::new("planned"));
                }
                log.say(number);
            });
        }
        let report = finish(&events);
        assert_eq!((report.ran, report.panicked, report.dropped), (30, 10, 0));
        let expected: Vec<u64> = (0..30).filter(|number| number % 3 != 0).collect();
        assert_eq!(log.words(), expected);
    });
}

#[test]
fn a_hook_is_told_and_may_panic_itself() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let payloads = Arc::clone(&told);
    let builder = Events::builder().processors(1).on_panic(move |payload| {
        let text = payload.downcast_ref::<&str>().copied();
        payloads.lock().unwrap().push(text);
        resume_unwind(Box::new("in the hook"));
    });
    let events = builder.build().unwrap();
    events.post(1, || resume_unwind(Box::new("one")));
    events.post(2, || resume_unwind(Box::new(2_u8)));
    assert_eq!(finish(&events).panicked, 2);
    let mut told = told.lock().unwrap().clone();
    told.sort_unstable();
    assert_eq!(told, [None, Some("one")]);
}

#[test]
fn a_payload_that_panics_when_dropped_harms_nobody() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                resume_unwind(Box::new("dropped"));
            }
        }
    }
    let events = Events::builder().processors(1).build().unwrap();
    events.post(1, || resume_unwind(Box::new(Bad)));
    let log = Log::default();
    let said = log.clone();
    events.post(1, move || said.say(1));
    assert_eq!(finish(&events).panicked, 1);
    assert_eq!(log.words(), [1]);
}
