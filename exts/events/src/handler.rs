//! Handlers: what is known about the events that one piece of a program handles.

use crate::slot::{Load, SCALE};
use fibre_core::internal::Quiet;
use fibre_core::sync::{AtomicU64, Ordering};
use std::fmt;
use std::time::Duration;

/// The time of a handler that has not been measured.
const UNKNOWN: u64 = 0;

/// What is taken for the time of a handler that has not been measured, in nanoseconds.
const GUESS: u64 = 500;

/// What is known about the events that one piece of a program handles: how long they take, and how
/// little they should be stolen. A program has one static for each.
///
/// Sources: the time that a colour has left, and penalties: Gaud and others, "Efficient
/// workstealing for multicore event-driven systems" (2010), sections III-B, III-C and IV-B. That
/// the runtime measures times by itself is what the paper leaves to the future (section VII).
///
/// ```
/// use fibre_events::{Colour, Events, Handler};
///
/// static PARSE: Handler = Handler::new("parse").time_us(4);
/// static COPY: Handler = Handler::new("copy").penalty(1000);
///
/// let events = Events::builder().build()?;
/// let handle = events.clone();
/// events.post(7, PARSE.with(move || {
///     handle.post(7, COPY.with(move || println!("parsed and copied")));
///     handle.stop();
/// }));
/// events.run();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Handler {
    name: &'static str,
    /// Nanoseconds that an event takes; `UNKNOWN` if that is to be measured.
    time: u64,
    penalty: u32,
    /// What has been measured, in nanoseconds.
    average: AtomicU64,
}

impl Handler {
    fibre_core::const_outside_models! {
        /// A handler with times that are measured, without a penalty. The name is for reports.
        #[must_use]
        pub const fn new(name: &'static str) -> Self {
            Self {
                name,
                time: UNKNOWN,
                penalty: 1,
                average: AtomicU64::new(UNKNOWN),
            }
        }
    }

    /// Says how many microseconds an event takes. Default: a moving average of what some of them
    /// have taken.
    #[must_use]
    pub const fn time_us(self, microseconds: u64) -> Self {
        self.time_ns(microseconds.saturating_mul(1000))
    }

    /// Says how many nanoseconds an event takes. Zero is for measuring, as by default.
    #[must_use]
    pub const fn time_ns(mut self, nanoseconds: u64) -> Self {
        self.time = nanoseconds;
        self
    }

    /// Divides the time that an event adds to its colour, so that thieves like it the less: for
    /// events with data in their processor's caches. Zero counts as one. Default: 1.
    #[must_use]
    pub const fn penalty(mut self, penalty: u32) -> Self {
        self.penalty = if penalty == 0 { 1 } else { penalty };
        self
    }

    /// An event of this handler, which calls `call` once.
    pub fn with(&'static self, call: impl FnOnce() + Send + 'static) -> Event {
        Event::new(self, Body::Call(Quiet::new(Box::new(call))))
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// How long one of its events takes, as far as that is known: what the program says, or else
    /// what has been measured.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        Some(self.known())
            .filter(|time| *time != UNKNOWN)
            .map(Duration::from_nanos)
    }

    /// How long one of its events takes, in nanoseconds, or `UNKNOWN`.
    fn known(&self) -> u64 {
        match self.time {
            UNKNOWN => self.average.load(Ordering::Relaxed),
            time => time,
        }
    }

    /// How long an event takes, in nanoseconds, known or guessed.
    pub(crate) fn estimate(&self) -> u64 {
        match self.known() {
            UNKNOWN => GUESS,
            time => time,
        }
    }

    /// Whether the next event should be measured, other than now and then.
    pub(crate) fn is_unknown(&self) -> bool {
        self.known() == UNKNOWN
    }

    /// Whether its events are measured at all.
    pub(crate) const fn is_measured(&self) -> bool {
        self.time == UNKNOWN
    }

    /// Has taken so long. The average moves by an eighth; two processors may lose one measurement.
    pub(crate) fn took(&self, nanoseconds: u64) {
        let nanoseconds = nanoseconds.max(1);
        let average = match self.average.load(Ordering::Relaxed) {
            UNKNOWN => nanoseconds,
            before => (before * 7 + nanoseconds).div_ceil(8),
        };
        self.average.store(average, Ordering::Relaxed);
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler")
            .field("name", &self.name)
            .field("time", &self.time())
            .field("penalty", &self.penalty)
            .finish_non_exhaustive()
    }
}

/// The handler of closures that are posted without one.
static CLOSURE: Handler = Handler::new("closure");

/// Something to be done once, under a colour: a closure, or what [`Handler::with`] makes of one.
#[must_use = "an event does nothing until it is posted"]
pub struct Event {
    pub(crate) handler: &'static Handler,
    pub(crate) body: Body,
    weight: u64,
    is_posted: bool,
}

/// What an event does.
pub(crate) enum Body {
    Call(Quiet<Box<dyn FnOnce() + Send>>),
    /// Gives the colour to a handler that has released it.
    Resume(Box<dyn FnOnce(crate::scheduler::Run) + Send>),
}

impl Event {
    /// An event that was posted, and has no weight yet.
    pub(crate) fn new(handler: &'static Handler, body: Body) -> Self {
        Self {
            handler,
            body,
            weight: 0,
            is_posted: true,
        }
    }

    /// An event that gives a colour back, goes before those of descriptors, and weighs nothing.
    pub(crate) fn resume(give: impl FnOnce(crate::scheduler::Run) + Send + 'static) -> Self {
        Self::new(&CLOSURE, Body::Resume(Box::new(give)))
    }

    /// Makes it one of a descriptor, timer or signal.
    pub(crate) fn detected(mut self) -> Self {
        self.is_posted = false;
        self
    }

    /// Has something dropped when the event has run, or been dropped.
    pub(crate) fn keeping(self, kept: impl Send + 'static) -> Self {
        let Body::Call(call) = self.body else {
            return self;
        };
        let call = call.into_inner();
        let keeps = move || {
            let _kept = kept;
            call();
        };
        Self {
            body: Body::Call(Quiet::new(Box::new(keeps))),
            ..self
        }
    }

    /// Gives it its weight, as things are now.
    pub(crate) fn weigh(&mut self, penalties: bool) {
        let weight = self.handler.estimate().saturating_mul(SCALE);
        let penalty = self.handler.penalty;
        self.weight = match penalties && penalty > 1 {
            true => weight / u64::from(penalty),
            false => weight,
        };
    }
}

impl<F: FnOnce() + Send + 'static> From<F> for Event {
    fn from(call: F) -> Self {
        CLOSURE.with(call)
    }
}

impl Load for Event {
    fn weight(&self) -> u64 {
        self.weight
    }

    fn is_posted(&self) -> bool {
        self.is_posted
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("handler", &self.handler.name)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_penalty_divides_the_weight() {
        static PLAIN: Handler = Handler::new("plain").time_us(3);
        static DEAR: Handler = Handler::new("dear").time_us(3).penalty(1000);
        let weight = |handler: &'static Handler, penalties| {
            let mut event = handler.with(|| ());
            event.weigh(penalties);
            event.weight()
        };
        assert_eq!(weight(&PLAIN, true), 3000 * SCALE);
        assert_eq!(weight(&DEAR, true), 3 * SCALE);
        assert_eq!(weight(&DEAR, false), 3000 * SCALE);
    }

    #[test]
    fn times_are_averaged_unless_they_are_given() {
        let handler = Handler::new("measured");
        assert_eq!((handler.time(), handler.estimate()), (None, GUESS));
        handler.took(800);
        assert_eq!(handler.time(), Some(Duration::from_nanos(800)));
        handler.took(1600);
        assert_eq!(handler.time(), Some(Duration::from_nanos(900)));
        let given = Handler::new("given").time_us(7);
        given.took(5);
        assert_eq!(given.time(), Some(Duration::from_micros(7)));
    }
}
