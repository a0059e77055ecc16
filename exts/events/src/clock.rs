//! The clock: all timers of some [`Events`](crate::Events), in order of their time.
//!
//! A fibre, the *runner*, sleeps until the first timer is due, posts its event, and so on. It is
//! there only while there are timers; so a timer costs an entry in a sorted map, and no stack.

use crate::colour::Colour;
use crate::handler::Event;
use crate::runtime::{Life, Runtime};
use fibre_core::internal::{Quiet, drop_quietly, quietly};
use fibre_core::sync::{AtomicBool, Ordering};
use fibre_core::{Limit, is_cancelled, yield_now};
use fibre_sync::AutoEvent;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How many timers go off under one lock.
const BATCH: usize = 64;

/// Makes the events of a timer.
pub(crate) enum Alarm {
    /// Goes off once.
    Once(Event),
    /// Goes off at equal intervals.
    Every(Periodic),
}

/// What makes the events of a timer that goes off at equal intervals.
pub(crate) struct Periodic {
    period: Duration,
    make: Quiet<Box<dyn FnMut() -> Event + Send>>,
    /// Whether an event of the timer has been posted and has not ended.
    is_under_way: Arc<AtomicBool>,
}

/// An event of such a timer. Its drop says that the event has ended.
struct UnderWay(Arc<AtomicBool>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Periodic {
    /// A timer that posts what `make` makes.
    pub(crate) fn new(period: Duration, make: impl FnMut() -> Event + Send + 'static) -> Self {
        Self {
            period,
            make: Quiet::new(Box::new(make)),
            is_under_way: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Makes the next event, unless the last one is under way.
    fn next_event(&mut self) -> Option<Event> {
        if self.is_under_way.swap(true, Ordering::AcqRel) {
            return None;
        }
        let kept = UnderWay(Arc::clone(&self.is_under_way));
        Some((self.make)().keeping(kept))
    }
}

/// What orders timers: the time, and a number that tells those of one time apart.
type Key = (Instant, u64);

/// The clock of a runtime. Its lock lets threads sleep: maps are changed under it, which allocates.
pub(crate) struct Clock {
    table: Mutex<Table>,
    /// Set when the first timer has become another one.
    changed: AutoEvent,
}

/// What the clock's lock protects.
struct Table {
    alarms: BTreeMap<Key, (Colour, Alarm)>,
    /// Where a timer is that goes off again, by its number.
    moved: BTreeMap<u64, Option<Instant>>,
    next: u64,
    /// Whether there is a runner.
    runs: bool,
    /// Whether no timer is accepted any more.
    is_closed: bool,
}

impl Clock {
    /// A clock without timers.
    pub(crate) fn new() -> Self {
        Self {
            table: Mutex::new(Table {
                alarms: BTreeMap::new(),
                moved: BTreeMap::new(),
                next: 0,
                runs: false,
                is_closed: false,
            }),
            changed: AutoEvent::new(),
        }
    }

    /// Sets a timer.
    pub(crate) fn set(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        due: Instant,
        colour: Colour,
        alarm: Alarm,
    ) -> io::Result<Timer> {
        let mut table = self.table.lock();
        if table.is_closed {
            drop(table);
            drop_quietly(alarm);
            return Err(io::Error::other("the events have been stopped"));
        }
        let number = table.next;
        table.next += 1;
        let repeats = matches!(alarm, Alarm::Every(..));
        if repeats {
            table.moved.insert(number, Some(due));
        }
        table.alarms.insert((due, number), (colour, alarm));
        let is_first = table.first() == Some((due, number));
        let starts = !std::mem::replace(&mut table.runs, true);
        drop(table);
        let timer = Timer {
            clock: Arc::downgrade(self),
            due,
            number,
        };
        if starts {
            self.start(runtime).inspect_err(|_| {
                self.table.lock().runs = false;
                timer.cancel();
            })?;
        } else if is_first {
            self.changed.set();
        }
        Ok(timer)
    }

    /// Starts the runner.
    fn start(self: &Arc<Self>, runtime: &Arc<Runtime>) -> io::Result<()> {
        let (clock, shared) = (Arc::clone(self), Arc::clone(runtime));
        let life = Life::begin(runtime);
        let fibre = fibre_core::Builder::new().name("clock of events");
        let spawned = fibre.spawn_in(&runtime.cluster, move || {
            let _life = life;
            clock.run(&shared);
            drop(clock);
        });
        spawned.map(drop)
    }

    /// Takes a timer out, if it has not gone off for the last time.
    fn cancel(&self, due: Instant, number: u64) -> bool {
        let mut table = self.table.lock();
        let at = match table.moved.remove(&number) {
            // It is with the runner, which finds that it is not here any more.
            Some(None) => return true,
            Some(Some(at)) => at,
            None => due,
        };
        let removed = table.alarms.remove(&(at, number));
        let is_last = table.alarms.is_empty();
        drop(table);
        if is_last {
            self.changed.set();
        }
        let was_there = removed.is_some();
        drop_quietly(removed);
        was_there
    }

    /// Cancels all timers, and lets nobody set one.
    pub(crate) fn close(&self) {
        let mut table = self.table.lock();
        table.is_closed = true;
        table.moved.clear();
        let alarms = std::mem::take(&mut table.alarms);
        drop(table);
        self.changed.set();
        alarms.into_values().for_each(drop_quietly);
    }

    /// Lets timers off until there are none. Blocks the fibre.
    fn run(&self, runtime: &Runtime) {
        loop {
            if is_cancelled() {
                // With its cluster: nothing that waits here could go off.
                self.close();
            }
            let mut table = self.table.lock();
            let due = table.take_due(Instant::now());
            if due.is_empty() {
                let Some((first, _)) = table.first() else {
                    table.runs = false;
                    return;
                };
                drop(table);
                let _ = self.changed.wait_within(Limit::Deadline(first));
                continue;
            }
            drop(table);
            for (key, colour, alarm) in due {
                // A key's destructor is the program's, too.
                quietly(|| self.go_off(runtime, key, colour, alarm));
            }
            // It may be that something is always due.
            yield_now();
        }
    }

    /// Posts the event of a timer, and puts one back that repeats.
    fn go_off(&self, runtime: &Runtime, (due, number): Key, colour: Colour, alarm: Alarm) {
        match alarm {
            Alarm::Once(event) => {
                survive(|| runtime.post(colour, event.detected()));
            }
            Alarm::Every(mut periodic) => {
                if !self.table.lock().moved.contains_key(&number) {
                    return;
                }
                survive(|| match periodic.next_event() {
                    Some(event) => runtime.post(colour.clone(), event.detected()),
                    None => false,
                });
                let now = Instant::now();
                let next = due.checked_add(periodic.period).filter(|next| *next > now);
                // Times that have passed meanwhile are left out.
                let Some(next) = next.or_else(|| now.checked_add(periodic.period)) else {
                    return;
                };
                let mut table = self.table.lock();
                if let Some(at) = table.moved.get_mut(&number) {
                    *at = Some(next);
                    let alarm = Alarm::Every(periodic);
                    table.alarms.insert((next, number), (colour, alarm));
                }
            }
        }
    }
}

/// Calls what runs a program's code, which may panic: a maker of events, or the destructor of one
/// that came too late. The panic hook has told of it, and the clock goes on for all other timers.
fn survive(call: impl FnOnce() -> bool) {
    drop_quietly(catch_unwind(AssertUnwindSafe(call)));
}

impl Table {
    /// The first timer.
    fn first(&self) -> Option<Key> {
        self.alarms.first_key_value().map(|(key, _)| *key)
    }

    /// Takes timers that are due, some at a time.
    fn take_due(&mut self, now: Instant) -> Vec<(Key, Colour, Alarm)> {
        let mut due = Vec::new();
        while due.len() < BATCH
            && let Some(first) = self.alarms.first_entry()
            && first.key().0 <= now
        {
            let (key, (colour, alarm)) = first.remove_entry();
            if let Some(at) = self.moved.get_mut(&key.1) {
                *at = None;
            }
            due.push((key, colour, alarm));
        }
        due
    }
}

/// A timer that was set: [`Events::after`](crate::Events::after) and the like. Dropping it changes
/// nothing.
#[derive(Clone)]
pub struct Timer {
    clock: Weak<Clock>,
    /// When it goes off first.
    due: Instant,
    number: u64,
}

impl Timer {
    /// Cancels it. Returns whether it would have posted an event: an event that it has posted runs
    /// all the same. Blocks nothing.
    pub fn cancel(&self) -> bool {
        let clock = self.clock.upgrade();
        clock.is_some_and(|clock| clock.cancel(self.due, self.number))
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}
