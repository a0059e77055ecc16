//! Models of reading the newest events of a writer that goes on.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::ring::Ring;
use fibre_core::model::{check, finds_planted};
use loom::sync::Arc;
use loom::thread;

/// A writer fills a ring of two slots more than once, while a reader copies it: `before` events are
/// there already.
fn write_and_read(before: u64, events: u64) {
    let ring = Arc::new(Ring::new(2).unwrap());
    (1..=before).for_each(|number| ring.push([number, number]));
    let writer = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || {
            for number in before + 1..=before + events {
                ring.push([number, number]);
            }
        })
    };
    let copied = ring.copy();
    let mut expected = copied.lost;
    for [first, second] in &copied.events {
        expected += 1;
        assert_eq!((*first, *second), (expected, expected), "half an event");
    }
    assert!(expected >= before && expected <= before + events);
    writer.join().unwrap();
    let copied = ring.copy();
    let newest = before + events;
    assert_eq!(copied.events.last(), Some(&[newest, newest]));
}

#[test]
fn whole_events_are_read_in_order() {
    check(|| write_and_read(0, 2));
    check(|| write_and_read(1, 2));
    check(|| write_and_read(2, 2));
}

#[test]
fn planted_event_that_is_being_overwritten_is_found() {
    finds_planted("trace ring: what is being overwritten is kept", || {
        write_and_read(2, 1);
    });
}

#[test]
fn planted_word_before_its_count_is_found() {
    finds_planted("trace ring: words come before the count", || {
        write_and_read(2, 2);
    });
}
