//! Colours: which events never run together, and the order of those of one run.

use crate::support::{Log, eventually, everywhere, finish};
use fibre_events::{Colour, Colours, Events, Handler, Policy};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

#[test]
fn events_of_one_colour_run_in_the_order_of_their_posts() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let logs: Vec<Log> = (0..8).map(|_| Log::default()).collect();
        for number in 0..1000_u64 {
            let log = logs[number as usize % 8].clone();
            events.post(number % 8, move || log.say(number));
        }
        let report = finish(&events);
        assert_eq!((report.ran, report.dropped, report.panicked), (1000, 0, 0));
        for (colour, log) in (0_u64..).zip(&logs) {
            let expected: Vec<u64> = (0..1000).filter(|number| number % 8 == colour).collect();
            assert_eq!(log.words(), expected);
        }
    });
}

#[test]
fn the_default_colour_is_serial() {
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for _ in 0..200 {
            let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
            events.post(Colour::default(), move || {
                most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                fibre::yield_now();
                inside.fetch_sub(1, SeqCst);
            });
        }
        assert_eq!(finish(&events).ran, 200);
        assert_eq!(most.load(SeqCst), 1);
    });
}

#[test]
fn a_colour_is_not_inherited() {
    // Colour 0 is held by a handler that waits for an event that a handler of colour 5 posts
    // without thinking of colours: it gets the colour that is named, and not 5.
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let log = Log::default();
        let (handle, said) = (events.clone(), log.clone());
        events.post(5, move || {
            let again = said.clone();
            handle.post(Colour::default(), move || again.say(1));
            // It is another colour's, so it runs while this one is held.
            while said.words().is_empty() {
                fibre::sleep(std::time::Duration::from_millis(1));
            }
            said.say(2);
            handle.stop();
        });
        events.run();
        assert_eq!(log.words(), [1, 2]);
    });
}

#[test]
fn a_handler_posts_to_its_own_colour() {
    fn count_down(events: &Events, left: u64, log: &Log) {
        log.say(left);
        if left == 0 {
            events.stop();
            return;
        }
        let (handle, log) = (events.clone(), log.clone());
        events.post(3, move || count_down(&handle, left - 1, &log));
    }
    everywhere(|builder| {
        let events = builder.build().unwrap();
        let log = Log::default();
        let (handle, said) = (events.clone(), log.clone());
        events.post(3, move || count_down(&handle, 100, &said));
        assert_eq!(events.run().ran, 101);
        assert_eq!(log.words(), (0..=100).rev().collect::<Vec<_>>());
    });
}

#[test]
fn keys_are_exact() {
    let events = Events::builder().processors(2).build().unwrap();
    events.start();
    // Whatever their hashes are, a handler of one key may wait for one of any other.
    let handle = events.clone();
    let answer = events.call(Colour::of("outer"), move || {
        let mut sum = 0;
        for key in 0..500_u64 {
            sum += handle.call(Colour::of(&key), move || key).unwrap();
        }
        sum
    });
    assert_eq!(answer, Ok((0..500).sum()));
    finish(&events);
}

#[test]
fn colours_without_events_are_forgotten() {
    let builder = Events::builder().processors(2).remembered(10);
    let events = builder.build().unwrap();
    for colour in 0..5000_u64 {
        events.post(colour, || ());
    }
    assert_eq!(events.colours(), 5000);
    assert_eq!(finish(&events).ran, 5000);
    let left = events.colours();
    assert!(left <= 20, "{left} colours are remembered");
}

#[test]
fn entries_of_a_table_are_shared() {
    for (table, entries) in [(Colours::Mod1024, 1024), (Colours::Fixed(65_536), 65_536)] {
        let events = Events::builder().processors(2).colours(table);
        let events = events.policy(Policy::Libasync).build().unwrap();
        let log = Log::default();
        for number in 0..10_u64 {
            let log = log.clone();
            events.post(7 + entries * number, move || log.say(number));
        }
        assert_eq!(events.colours(), 1);
        finish(&events);
        assert_eq!(log.words(), (0..10).collect::<Vec<_>>());
    }
}

#[test]
fn times_of_handlers_are_measured() {
    static SLOW: Handler = Handler::new("slow");
    static GIVEN: Handler = Handler::new("given").time_us(3);
    let events = Events::builder().processors(1).build().unwrap();
    let turns = Arc::new(AtomicU64::new(0));
    for _ in 0..40 {
        let turns = Arc::clone(&turns);
        events.post(
            1,
            SLOW.with(move || {
                for _ in 0..10_000 {
                    turns.fetch_add(1, SeqCst);
                }
            }),
        );
        events.post(1, GIVEN.with(|| ()));
    }
    assert_eq!(SLOW.time(), None);
    assert_eq!(finish(&events).ran, 80);
    // Ten thousand atomic additions take more than ten microseconds everywhere.
    assert!(SLOW.time().unwrap() > std::time::Duration::from_micros(10));
    assert_eq!(GIVEN.time(), Some(std::time::Duration::from_micros(3)));
}

/// A key with a last copy that posts when it ends.
#[derive(Clone)]
struct Key {
    number: u64,
    _last: Arc<Last>,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// Posts in its destructor.
struct Last(Events, Arc<AtomicUsize>);

impl Drop for Last {
    fn drop(&mut self) {
        // Colours of all shards, the key's own among them.
        for colour in 0..300_u64 {
            let ran = Arc::clone(&self.1);
            self.0.post(colour, move || {
                ran.fetch_add(1, SeqCst);
            });
        }
    }
}

/// The end of a key may post, as no lock is held.
#[test]
fn keys_may_post_when_they_end() {
    everywhere(|builder| {
        let events = builder.remembered(0).build().unwrap();
        events.start();
        let ran = Arc::new(AtomicUsize::new(0));
        for number in 0..3 {
            let _last = Arc::new(Last(events.clone(), Arc::clone(&ran)));
            let colour = Colour::of(&Key { number, _last });
            events.call(colour, || ()).unwrap();
        }
        eventually(|| ran.load(SeqCst) == 3 * 300);
        let report = finish(&events);
        assert_eq!(report.dropped, 0);
    });
}

/// Times beyond all reason are as much as there is, and harm nobody.
#[test]
fn endless_handlers_weigh_as_much_as_there_is() {
    static ENDLESS: Handler = Handler::new("endless").time_us(u64::MAX);
    everywhere(|builder| {
        let events = builder.build().unwrap();
        for number in 0..100_u64 {
            events.post(number % 3, ENDLESS.with(|| ()));
        }
        assert_eq!(finish(&events).ran, 100);
    });
}
