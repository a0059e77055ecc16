//! A member's work: it takes events from the scheduler and runs their handlers. See
//! [`crate::lead`].

use crate::colour::Colour;
use crate::handler::{Body, Event, Handler};
use crate::lead::{Member, Order, Phase};
use crate::runtime::{Counts, Life, Runtime};
use crate::scheduler::Run;
use crate::slot::SCALE;
use fibre_core::internal::{Quiet, drop_quietly};
use fibre_core::sync::{AtomicU64, Ordering};
use fibre_core::{Cancelled, Limit, is_cancelled, shield, yield_now};
use fibre_sync::AutoEvent;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After how many nanoseconds of handlers, as estimated, other fibres of the processor run.
const SLICE: u64 = 50_000;

/// Every n-th event of a handler that has been measured is measured again.
const MEASURED: u32 = 16;

/// What is taken to be the least time between two events, for slices.
const LEAST: u64 = 50;

/// How often a member that has been cancelled looks whether handlers still want their colours back.
const LOOK: Duration = Duration::from_millis(5);

/// A member on its fibre.
pub(crate) struct Worker {
    runtime: Arc<Runtime>,
    processor: usize,
    member: Arc<Member>,
    /// The colour that runs; `None` between colours, and while a handler has released its own.
    run: RefCell<Option<Run>>,
    /// The events of this run that have not run.
    taken: RefCell<VecDeque<Event>>,
    /// Estimated time since other fibres ran.
    spent: Cell<u64>,
    /// Counts events, for measurements.
    events: Cell<u32>,
    /// The colour that the handler has given away.
    colour: RefCell<Option<Colour>>,
}

fibre_core::fibre_local! {
    /// The worker that the calling fibre is.
    static CURRENT: RefCell<Option<Rc<Worker>>> = RefCell::new(None);
}

/// Whether the caller is one of this runtime's workers.
pub(crate) fn is_worker(runtime: &Runtime) -> bool {
    current(runtime).is_some()
}

/// The worker that the caller is, if it is one of this runtime.
fn current(runtime: &Runtime) -> Option<Rc<Worker>> {
    if !fibre_core::in_fibre() {
        return None;
    }
    let worker = CURRENT.with(|current| current.borrow().clone())?;
    std::ptr::eq(&raw const *worker.runtime, runtime).then_some(worker)
}

/// Starts a member on a fibre of its processor.
pub(crate) fn start(
    runtime: &Arc<Runtime>,
    processor: usize,
    member: Arc<Member>,
) -> io::Result<()> {
    let fibre = fibre_core::Builder::new()
        .name("events")
        .on_processor(processor);
    let life = Life::begin(runtime);
    let shared = Arc::clone(runtime);
    let spawned = fibre.spawn_in(&runtime.cluster, move || {
        let _life = life;
        let worker = Rc::new(Worker {
            runtime: Arc::clone(&shared),
            processor,
            member,
            run: RefCell::new(None),
            taken: RefCell::new(VecDeque::new()),
            spent: Cell::new(0),
            events: Cell::new(0),
            colour: RefCell::new(None),
        });
        CURRENT.with(|current| *current.borrow_mut() = Some(Rc::clone(&worker)));
        worker.live();
        CURRENT.with(|current| current.borrow_mut().take());
        drop(worker);
    });
    spawned.map(drop)
}

/// Posts an event; more cheaply, if its colour is the one that the caller runs.
pub(crate) fn post(runtime: &Runtime, colour: Colour, mut event: Event) -> bool {
    event.weigh(runtime.penalties);
    let worker = current(runtime);
    let run = worker.as_ref().map(|worker| worker.run.borrow());
    let posted = match run.as_deref() {
        Some(Some(run)) if *run.colour() == colour => runtime.scheduler.post_to_run(run, event),
        _ => runtime.scheduler.post(colour, event),
    };
    drop(run);
    runtime.after_post(posted)
}

/// Whether the caller is a handler that has this colour.
pub(crate) fn has_colour(runtime: &Runtime, colour: &Colour) -> bool {
    let entry = runtime.scheduler.entry(colour.clone());
    current(runtime).is_some_and(|worker| {
        let run = worker.run.borrow();
        run.as_ref().is_some_and(|run| *run.colour() == entry)
    })
}

/// Calls `call` while others may have the caller's colour, if the caller is a handler that has one.
pub(crate) fn release<R>(runtime: &Runtime, call: impl FnOnce() -> R) -> R {
    match current(runtime) {
        Some(worker) if worker.give_colour_away() => {
            let outcome = catch_unwind(AssertUnwindSafe(call));
            worker.take_colour_back();
            outcome.unwrap_or_else(|payload| resume_unwind(payload))
        }
        _ => call(),
    }
}

/// Where a handler waits for its colour.
#[derive(Default)]
struct Return {
    run: Mutex<Option<Run>>,
    given: AutoEvent,
}

impl Worker {
    /// Holds the lead, stands by, or rests, until the end. In a cluster that is being stopped and
    /// has cancelled its fibres, one that finds nothing to do has come to its end.
    fn live(&self) {
        let lead = &self.runtime.leads[self.processor];
        self.runtime.opened.wait();
        while !lead.has_ended() {
            match lead.order(&self.member) {
                Order::Yield => yield_now(),
                Order::Rest if self.member.rest() => {}
                Order::Rest => return,
                Order::Serve => {
                    if self.serve() || !lead.leave(&self.member) || !self.member.rest() {
                        return;
                    }
                }
            }
        }
    }

    /// The counts of this processor.
    fn counts(&self) -> &Counts {
        &self.runtime.counts[self.processor]
    }

    /// Whether this member holds the lead of its processor.
    fn holds_lead(&self) -> bool {
        self.runtime.leads[self.processor].is_held_by(&self.member)
    }

    /// Takes events and runs them, until the end (then it returns `true`) or until another member
    /// has taken the lead.
    fn serve(&self) -> bool {
        self.have_standby();
        let mut done = None;
        loop {
            let (run, calls) = {
                let mut taken = self.taken.borrow_mut();
                self.runtime
                    .scheduler
                    .next(self.processor, done, &mut taken)
            };
            self.runtime.follow(calls);
            done = None;
            match run {
                Some(run) => {
                    self.run_batch(run);
                    if !self.holds_lead() {
                        self.finish_elsewhere();
                        return false;
                    }
                    done = self.run.take();
                }
                None if self.idle() => {}
                None => return true,
            }
            if self.spent.get() >= SLICE {
                self.let_others_run();
            }
        }
    }

    /// Runs what was taken of a colour; ends before that if another member takes the lead.
    fn run_batch(&self, run: Run) {
        *self.run.borrow_mut() = Some(run);
        loop {
            let Some(event) = self.taken.borrow_mut().pop_front() else {
                return;
            };
            match event.body {
                Body::Resume(give) => {
                    self.put_back();
                    if let Some(run) = self.run.take() {
                        give(run);
                    }
                    return;
                }
                Body::Call(call) => self.call(event.handler, call),
            }
            if !self.holds_lead() {
                return;
            }
        }
    }

    /// Puts back what was taken and has not run.
    fn put_back(&self) {
        if let Some(run) = &mut *self.run.borrow_mut() {
            self.runtime
                .scheduler
                .put_back(run, &mut self.taken.borrow_mut());
        }
    }

    /// Ends the run of a member that does not hold the lead any more.
    fn finish_elsewhere(&self) {
        self.put_back();
        if let Some(run) = self.run.take() {
            let calls = self.runtime.scheduler.finish(run);
            self.runtime.follow(calls);
        }
        self.runtime.end_if_quiet();
    }

    /// Runs a handler, or drops the event if the runtime has been told to.
    fn call(&self, handler: &'static Handler, call: Quiet<Box<dyn FnOnce() + Send>>) {
        if self.runtime.drops.load(Ordering::Relaxed) {
            add(&self.counts().dropped, 1);
            drop(call);
            return;
        }
        let begun = self.is_measured(handler).then(Instant::now);
        let outcome = catch_unwind(AssertUnwindSafe(call.into_inner()));
        if let Some(begun) = begun
            && self.holds_lead()
        {
            handler.took(nanoseconds_since(begun));
        }
        let time = handler.estimate().max(LEAST);
        self.spent.set(self.spent.get().saturating_add(time));
        add(&self.counts().ran, 1);
        // A cluster that stops unwinds what waits by `Cancelled`. That is no panic.
        if let Err(payload) = outcome
            && !payload.is::<Cancelled>()
        {
            self.has_panicked(payload);
        }
    }

    /// Whether this event is to be measured.
    fn is_measured(&self, handler: &Handler) -> bool {
        if !handler.is_measured() {
            return false;
        }
        let count = self.events.get().wrapping_add(1);
        self.events.set(count);
        count.is_multiple_of(MEASURED) || handler.is_unknown()
    }

    /// Reports a handler's panic. Its colour goes on.
    #[cold]
    fn has_panicked(&self, payload: Box<dyn Any + Send>) {
        add(&self.counts().panicked, 1);
        if let Some(hook) = &self.runtime.on_panic {
            let told = catch_unwind(AssertUnwindSafe(|| hook(&*payload)));
            drop_quietly(told);
        }
        drop_quietly(payload);
    }

    /// Makes another member stand by, on a new fibre if need be.
    fn have_standby(&self) {
        let lead = &self.runtime.leads[self.processor];
        if let Some(member) = lead.call_standby()
            && start(&self.runtime, self.processor, member).is_err()
        {
            // Handlers that block keep the processor's other events waiting until there is one.
            lead.dismiss_standby();
        }
    }

    /// Lets other fibres of the processor run.
    fn let_others_run(&self) {
        self.spent.set(0);
        let lead = &self.runtime.leads[self.processor];
        lead.set_phase(Phase::Yields);
        yield_now();
        lead.set_phase(Phase::Works);
        self.have_standby();
    }

    /// Steals something, or waits for something to do. Returns `false` at the end.
    fn idle(&self) -> bool {
        let (runtime, processor) = (&self.runtime, self.processor);
        if runtime.end_if_quiet() {
            return false;
        }
        if !runtime.scheduler.sleep(processor) {
            return true;
        }
        let lead = &runtime.leads[processor];
        if !self.steal() {
            lead.set_phase(Phase::Rests);
            let waited = lead.wake_event.wait_within(Limit::Cancellation);
            let goes_on = waited.is_ok() || self.waits_for_released();
            lead.set_phase(Phase::Works);
            if !goes_on {
                return false;
            }
            // Cancelled, a standby would end at once.
            if waited.is_ok() {
                self.have_standby();
            }
            self.spent.set(0);
        }
        runtime.scheduler.wake(processor);
        true
    }

    /// The wait of a member that has been cancelled: handlers that have released their colours need
    /// a member to take them back. Returns `false` if there are none. As nobody rings when the last
    /// one has its colour, it looks again and again.
    #[cold]
    fn waits_for_released(&self) -> bool {
        let any = self.runtime.released.load(Ordering::Acquire) > 0;
        if any {
            let wake_event = &self.runtime.leads[self.processor].wake_event;
            let _ = shield(|| wake_event.wait_within(LOOK));
        }
        any
    }

    /// Steals a colour, if there is one.
    fn steal(&self) -> bool {
        let begun = Instant::now();
        let Some(stolen) = self.runtime.scheduler.steal(self.processor) else {
            return false;
        };
        let time = nanoseconds_since(begun);
        self.runtime.scheduler.theft_took(self.processor, time);
        let counts = self.counts();
        add(&counts.thefts, 1);
        add(&counts.theft_time, time);
        add(&counts.stolen_events, stolen.events as u64);
        add(&counts.stolen_time, stolen.left / SCALE);
        true
    }

    /// Gives the colour away until [`take_colour_back`](Self::take_colour_back). Returns `false` if
    /// there is none, or no other member would be there to take events.
    fn give_colour_away(&self) -> bool {
        // In a cluster that has cancelled its fibres, members may have ended.
        if self.run.borrow().is_none() || is_cancelled() {
            return false;
        }
        if self.holds_lead() && !self.runtime.leads[self.processor].has_standby() {
            return false;
        }
        self.put_back();
        if let Some(run) = self.run.take() {
            *self.colour.borrow_mut() = Some(run.colour().clone());
            self.runtime.released.fetch_add(1, Ordering::AcqRel);
            let calls = self.runtime.scheduler.release(run);
            self.runtime.follow(calls);
        }
        true
    }

    /// Waits for the colour that was given away. Blocks the fibre.
    fn take_colour_back(&self) {
        let Some(colour) = self.colour.take() else {
            return;
        };
        let back = Arc::new(Return::default());
        let giver = Arc::clone(&back);
        let resume = Event::resume(move |run| {
            *lock(&giver.run) = Some(run);
            giver.given.set();
        });
        let calls = self.runtime.scheduler.post_inner(colour, resume);
        self.runtime.follow(calls);
        // A handler does not run without its colour.
        shield(|| back.given.wait());
        self.runtime.released.fetch_sub(1, Ordering::AcqRel);
        *self.run.borrow_mut() = lock(&back.run).take();
    }
}

impl Drop for Worker {
    /// Leaves what it had to others, if it is unwound.
    fn drop(&mut self) {
        self.finish_elsewhere();
    }
}

/// Takes a lock that no panic can leave in disorder.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds to a count that only this processor's members change.
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Nanoseconds since a moment.
fn nanoseconds_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
