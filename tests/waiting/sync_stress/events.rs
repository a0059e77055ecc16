//! What lets all go on that wait: events, and notifications of all.

use super::course::{Row, row, run};
use super::subject::{Manner, Role, Subject, dwell};
use crate::support::Random;
use fibre::sync::{Event, Notified, Notify};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The role of those who let others go on, in either kind.
const CALL: usize = 0;

/// An event that is set and reset, and set in the end.
struct Resettable {
    event: Event,
    /// How often it was about to be set.
    set: AtomicUsize,
    turns: usize,
}

impl Resettable {
    /// Sets it.
    fn set(&self) {
        self.set.fetch_add(1, Ordering::SeqCst);
        self.event.set();
    }
}

impl Subject for Resettable {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            event: Event::new(),
            set: AtomicUsize::new(0),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![
            Role::new("set and reset", self.turns / 4),
            Role::until_finish("wait", 2 * self.turns),
        ]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        if role == CALL {
            self.set();
            self.event.reset();
            dwell(random);
            return true;
        }
        let came = match manner {
            Manner::Forever => {
                self.event.wait();
                true
            }
            Manner::Try => self.event.try_wait(),
            Manner::Timeout(timeout) => self.event.wait_timeout(timeout),
            Manner::Within(limit) => self.event.wait_within(limit).is_ok(),
        };
        assert!(!came || self.set.load(Ordering::SeqCst) > 0, "never set");
        came
    }

    fn finish(&self) {
        self.set();
    }

    fn check(&self) {
        assert!(self.event.reset());
        assert!(!self.event.try_wait());
    }
}

/// A condition that changes with every call, and holds in the end.
struct Broadcast {
    notify: Notify,
    /// Changes with every call.
    epoch: AtomicUsize,
    ended: AtomicBool,
    turns: usize,
}

/// Waits in a manner.
fn wait_in(notified: Notified<'_>, manner: Manner) -> bool {
    match manner {
        Manner::Forever => {
            notified.wait();
            true
        }
        Manner::Try => notified.try_wait(),
        Manner::Timeout(timeout) => notified.wait_timeout(timeout),
        Manner::Within(limit) => notified.wait_within(limit).is_ok(),
    }
}

impl Subject for Broadcast {
    fn new(_: &mut Random, turns: usize) -> Self {
        Self {
            notify: Notify::new(),
            epoch: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![
            Role::new("call all or one", self.turns / 2),
            Role::until_finish("wait", self.turns),
        ]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        if role == CALL {
            if random.one_in(4) {
                self.notify.notify_one();
            } else {
                self.epoch.fetch_add(1, Ordering::SeqCst);
                self.notify.notify_waiters();
            }
            dwell(random);
            return true;
        }
        let epoch = self.epoch.load(Ordering::SeqCst);
        loop {
            let notified = self.notify.notified();
            dwell(random);
            let changed = self.epoch.load(Ordering::SeqCst) != epoch;
            if changed || self.ended.load(Ordering::SeqCst) {
                return true;
            }
            dwell(random);
            if !wait_in(notified, manner) {
                return false;
            }
        }
    }

    fn finish(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.notify.notify_waiters();
    }

    fn check(&self) {
        // One that was kept may be there; more cannot be.
        let _ = self.notify.try_wait();
        assert!(!self.notify.try_wait());
    }
}

/// All kinds.
const ROWS: &[Row] = &[
    row::<Resettable>("event"),
    row::<Broadcast>("notifications of all"),
];

#[test]
fn events() {
    run(ROWS);
}
