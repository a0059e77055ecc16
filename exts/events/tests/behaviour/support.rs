//! What all tests of events share: their settings.

use fibre_events::{Colours, Events, EventsBuilder, Policy, Report};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[path = "../../../../tests/support/drops.rs"]
#[allow(dead_code, reason = "a part is used")]
pub mod drops;
#[path = "../../../../tests/support/random.rs"]
#[allow(dead_code, reason = "a part is used")]
pub mod random;
#[path = "../../../../tests/support/watchdog.rs"]
#[allow(dead_code, reason = "a part is used")]
pub mod watchdog;

pub use drops::Drops;
pub use random::Random;
pub use watchdog::die;

/// All policies.
pub const POLICIES: [Policy; 4] = [
    Policy::Off,
    Policy::Libasync,
    Policy::MelyBase,
    Policy::TimeLeft,
];

/// A change of settings.
type Change = fn(EventsBuilder) -> EventsBuilder;

/// Runs a test in all settings. The test is given a builder of events, and stops what it builds.
pub fn everywhere(test: impl Fn(EventsBuilder)) {
    everywhere_once(&test);
}

/// [`everywhere`], compiled once, not for each test.
fn everywhere_once(test: &dyn Fn(EventsBuilder)) {
    for policy in POLICIES {
        for processors in [1, 2, 4] {
            let builder = Events::builder().processors(processors).policy(policy);
            let remark = format!(" with {policy:?} on {processors} processors");
            watchdog::watched_for(watchdog::LIMIT, &remark, || test(builder));
        }
    }
    let rare: [(&str, Change); 4] = [
        ("one queue", |builder| builder.one_queue(true)),
        ("locality", |builder| builder.locality(true)),
        ("no memory of colours", |builder| {
            builder.remembered(0).free_lists(false)
        }),
        ("few colours", |builder| builder.colours(Colours::Mod1024)),
    ];
    for (name, change) in rare {
        let builder = change(Events::builder().processors(2));
        let remark = format!(" with {name}");
        watchdog::watched_for(watchdog::LIMIT, &remark, || test(builder));
    }
}

/// Stops events, and waits until all that was posted has run.
pub fn finish(events: &Events) -> Report {
    events.stop();
    events.run()
}

/// Waits until something is true; fails if that takes very long.
#[track_caller]
pub fn eventually(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "still not true");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What handlers have said, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u64>>>);

impl Log {
    /// Says something.
    pub fn say(&self, word: u64) {
        self.0.lock().unwrap().push(word);
    }

    /// All that has been said.
    pub fn words(&self) -> Vec<u64> {
        self.0.lock().unwrap().clone()
    }
}
