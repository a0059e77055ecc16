//! The clock: all timers of an [`Actors`](crate::Actors), in order of their time.
//!
//! One fibre of the cluster, the *runner*, sleeps until the first alarm is due, lets it off, and so
//! on. It is there only while there are alarms, so it does not keep its cluster from stopping when
//! the actors have ended. So a timer costs an entry in a sorted map, and no stack.
//!
//! An alarm is in one of three states, under a lock of its own: *due* at some time, and in the map;
//! *ringing*, with the runner; or *gone*. Whoever brings it to its end drops its action, once, and
//! without a lock. An alarm that is cancelled while it rings is dropped by the runner, which finds
//! it gone.

use fibre_core::Limit;
use fibre_core::internal::{ShortLock, drop_quietly, warn};
use fibre_core::{Cluster, is_cancelled, yield_now};
use fibre_sync::AutoEvent;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How many alarms ring under one lock.
const BATCH: usize = 64;

/// What an alarm does.
pub(crate) trait Action: Send {
    /// Rings. Returns the time from one ringing to the next, if there is a next one. Blocks
    /// nothing.
    fn ring(&mut self) -> Option<Duration>;
}

/// One timer.
pub(crate) struct Alarm {
    /// Tells it from others that are due at the same time.
    number: u64,
    state: ShortLock<State>,
}

/// What an alarm is about to do.
enum State {
    Due(Instant, Box<dyn Action>),
    Ringing,
    Gone,
}

/// The alarms that are due, and the runner.
pub(crate) struct Clock {
    table: Mutex<Table>,
    /// Set when the first alarm has become another one.
    changed: AutoEvent,
}

/// What the clock's lock protects.
struct Table {
    alarms: BTreeMap<(Instant, u64), Arc<Alarm>>,
    /// The number of the next alarm.
    next: u64,
    /// Whether there is a runner.
    runs: bool,
    /// Whether no alarm rings any more, as the cluster is being stopped.
    is_closed: bool,
}

impl Clock {
    /// A clock without alarms.
    pub(crate) fn new() -> Self {
        Self {
            table: Mutex::new(Table {
                alarms: BTreeMap::new(),
                next: 0,
                runs: false,
                is_closed: false,
            }),
            changed: AutoEvent::new(),
        }
    }

    /// Sets an alarm. Its runner is a fibre of `cluster`. If that is being stopped, the alarm has
    /// gone at once.
    pub(crate) fn set(
        self: &Arc<Self>,
        cluster: &Cluster,
        due: Instant,
        action: Box<dyn Action>,
    ) -> Arc<Alarm> {
        let mut table = self.table.lock();
        if table.is_closed {
            drop(table);
            drop_quietly(action);
            return Arc::new(Alarm {
                number: 0,
                state: ShortLock::new(State::Gone),
            });
        }
        let number = table.next;
        table.next += 1;
        let alarm = Arc::new(Alarm {
            number,
            state: ShortLock::new(State::Due(due, action)),
        });
        table.alarms.insert((due, number), Arc::clone(&alarm));
        let is_first = table.first() == Some((due, number));
        let starts = !mem::replace(&mut table.runs, true);
        drop(table);
        if starts {
            self.start(cluster);
        } else if is_first {
            self.changed.set();
        }
        alarm
    }

    /// Starts the runner; on a thread, if there cannot be a fibre for it.
    fn start(self: &Arc<Self>, cluster: &Cluster) {
        let fibre = fibre_core::Builder::new().name("clock of actors");
        let clock = Arc::clone(self);
        if let Err(error) = fibre.spawn_in(cluster, move || clock.run()) {
            let clock = Arc::clone(self);
            let thread = thread::Builder::new().name("fibre-clock".into());
            let thread = fibre_core::spawn_thread(thread, move || clock.run());
            if thread.is_err() {
                // The next alarm tries again.
                self.table.lock().runs = false;
                panic!("timers cannot be run: {error}");
            }
        }
    }

    /// Cancels an alarm that has not gone. It may be ringing.
    pub(crate) fn cancel(&self, alarm: &Alarm) {
        let mut table = self.table.lock();
        let state = mem::replace(&mut *alarm.state.lock(), State::Gone);
        if let State::Due(due, action) = state {
            let removed = table.alarms.remove(&(due, alarm.number));
            let is_last = table.alarms.is_empty();
            drop(table);
            if is_last {
                self.changed.set();
            }
            drop(removed);
            drop_quietly(action);
        }
    }

    /// Lets alarms off until there are none. Blocks the fibre, or the thread.
    fn run(&self) {
        loop {
            let now = Instant::now();
            if is_cancelled() {
                self.cancel_all();
            }
            let mut table = self.table.lock();
            let ringing = table.take_due(now);
            let Some(next) = table.first() else {
                table.runs = !ringing.is_empty();
                drop(table);
                if ringing.is_empty() {
                    return;
                }
                self.ring(ringing);
                continue;
            };
            drop(table);
            if ringing.is_empty() {
                let _ = self.changed.wait_within(Limit::Deadline(next.0));
            } else {
                self.ring(ringing);
            }
        }
    }

    /// Cancels all alarms, and those to come: the cluster is being stopped.
    pub(crate) fn close(&self) {
        self.table.lock().is_closed = true;
        self.cancel_all();
        self.changed.set();
    }

    /// Cancels all alarms, as the runner has been cancelled with its cluster.
    fn cancel_all(&self) {
        let alarms = mem::take(&mut self.table.lock().alarms);
        for alarm in alarms.into_values() {
            let state = mem::replace(&mut *alarm.state.lock(), State::Gone);
            drop_quietly(state);
        }
    }

    /// Lets these alarms off, and puts those back that ring again. Others run before the next ones:
    /// it may be that something is always due.
    fn ring(&self, ringing: Vec<(Arc<Alarm>, Instant, Box<dyn Action>)>) {
        for (alarm, due, mut action) in ringing {
            let again = catch_unwind(AssertUnwindSafe(|| action.ring()));
            let again = again.unwrap_or_else(|payload| {
                warn(format_args!(
                    "a message of a timer cannot be made: that has panicked"
                ));
                drop_quietly(payload);
                None
            });
            match again {
                Some(period) => self.put_back(&alarm, due, period, action),
                None => {
                    *alarm.state.lock() = State::Gone;
                    drop_quietly(action);
                }
            }
        }
        yield_now();
    }

    /// Puts an alarm back that rings again, unless it has been cancelled. Times that have passed
    /// meanwhile are left out.
    fn put_back(
        &self,
        alarm: &Arc<Alarm>,
        due: Instant,
        period: Duration,
        action: Box<dyn Action>,
    ) {
        let now = Instant::now();
        let next = due.checked_add(period).filter(|next| *next > now);
        let next = next.or_else(|| now.checked_add(period));
        let mut table = self.table.lock();
        let mut state = alarm.state.lock();
        match (&*state, next) {
            (State::Ringing, Some(next)) if !table.is_closed => {
                *state = State::Due(next, action);
                drop(state);
                table.alarms.insert((next, alarm.number), Arc::clone(alarm));
            }
            _ => {
                *state = State::Gone;
                drop(state);
                drop(table);
                drop_quietly(action);
            }
        }
    }
}

impl Table {
    /// The place of the first alarm.
    fn first(&self) -> Option<(Instant, u64)> {
        self.alarms.first_key_value().map(|(place, _)| *place)
    }

    /// Takes the alarms that are due, some at a time.
    fn take_due(&mut self, now: Instant) -> Vec<(Arc<Alarm>, Instant, Box<dyn Action>)> {
        let mut ringing = Vec::new();
        while ringing.len() < BATCH
            && let Some(first) = self.alarms.first_entry()
            && first.key().0 <= now
        {
            let alarm = first.remove();
            let state = mem::replace(&mut *alarm.state.lock(), State::Ringing);
            if let State::Due(due, action) = state {
                ringing.push((alarm, due, action));
            }
        }
        ringing
    }
}

impl Alarm {
    /// Whether the alarm will not ring any more.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(*self.state.lock(), State::Gone)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("alarms", &self.table.lock().alarms.len())
            .finish_non_exhaustive()
    }
}
