//! Objects that emit events, and the tasks that follow: Eve's `emitter<T>` and `on`.
//!
//! The callbacks lie with the object, so nobody meets at a table that all share. The events of an
//! object are handled in the order they were emitted, one at a time: all callbacks of one have
//! returned before the next begins. Callbacks of one event run in the order they were added, each
//! as a task with permissions of its own. Events of different objects are handled in parallel, as
//! far as the permissions allow.
//!
//! An emitter is an [activity](fibre_core::Activity): it has no stack while it has no event. Events
//! that a fibre [delivers](Emitter::deliver) are handled on that fibre, without a switch.

use crate::acquire::acquire;
use crate::callbacks::{Callbacks, Payload, first_of};
use crate::wants::Wants;
use fibre_core::internal::{ShortLock, drop_quietly};
use fibre_core::{Activity, Builder, Cluster, Work};
use fibre_sync::{AutoEvent, Event};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};

/// How many events an activation handles before it is another's turn.
const BATCH: usize = 10;

/// Says that a type emits events of type `E`: a type does so for each event that it has.
pub trait Emits<E: Send + 'static> {
    /// The object's list of callbacks for this event.
    fn emitter(&self) -> &Emitter<E>;
}

impl<E: Send + 'static> Emits<E> for Emitter<E> {
    fn emitter(&self) -> &Self {
        self
    }
}

impl<E: Send + 'static, T: Emits<E> + ?Sized> Emits<E> for &T {
    fn emitter(&self) -> &Emitter<E> {
        (**self).emitter()
    }
}

impl<E: Send + 'static, T: Emits<E> + ?Sized> Emits<E> for Arc<T> {
    fn emitter(&self) -> &Emitter<E> {
        (**self).emitter()
    }
}

/// What one object emits of one type of event, and what is to follow: a counted handle. See the
/// macro [`on!`](crate::on).
///
/// Events that have been emitted are handled, also when the last handle is gone. Callbacks that
/// refer to the emitter keep it: such a cycle ends when [they are removed](Subscription::remove).
pub struct Emitter<E: Send + 'static>(Activity<Source<E>>);

/// A callback that has been added. Dropping it changes nothing.
pub struct Subscription<E: Send + 'static> {
    /// The emitter, which it does not keep.
    callbacks: Weak<Callbacks<E>>,
    /// The callback's number.
    number: u64,
}

/// What an emitter consists of.
struct Source<E> {
    stage: ShortLock<Stage<E>>,
    callbacks: Arc<Callbacks<E>>,
    /// Set when a deliverer has left its turn to the activity that stands by.
    returned: AutoEvent,
}

/// The events of an emitter.
struct Stage<E> {
    /// Whether somebody handles events.
    is_busy: bool,
    /// Whether that is a deliverer.
    is_lent: bool,
    /// Whether the activity stands behind that deliverer.
    stands_by: bool,
    /// Whether the activity has been left behind by its cluster, so that nobody ever will.
    is_over: bool,
    /// The events that wait, the oldest first.
    events: VecDeque<Emitted<E>>,
}

/// An event that waits.
struct Emitted<E> {
    event: E,
    /// What its deliverer waits for, if that waits.
    answer: Option<Answer>,
}

/// What became of an event that was to wait behind others.
enum Pushed<E> {
    /// It waits.
    Behind,
    /// Nobody handles events, so there is nothing to wait for.
    Idle(Emitted<E>),
    /// The emitter handles no events any more.
    Refused(Emitted<E>),
}

/// A fibre that waits until others have handled its event.
#[derive(Default)]
struct Delivery {
    handled: Event,
    outcome: ShortLock<Option<Outcome>>,
}

/// How a delivery has ended: with a panic of a callback, perhaps.
struct Outcome(Option<Payload>);

/// The handler's end of a delivery. Dropped without a word, it says that nobody has handled the
/// event.
struct Answer(Arc<Delivery>);

/// The right to handle the events of an emitter. Its drop leaves those that have come meanwhile to
/// the activity.
struct Turn<'a, E: Send + 'static>(&'a Activity<Source<E>>);

/// The place of an activity behind a deliverer. Its drop says that it will not come to its turn.
struct StandBy<'a, E: Send + 'static>(&'a Source<E>);

impl<E: Send + 'static> Emitter<E> {
    /// An emitter in the caller's cluster, or in the default one.
    ///
    /// # Panics
    ///
    /// If there is no memory, or the default cluster cannot be started.
    #[must_use]
    pub fn new() -> Self {
        Self::try_new(None).unwrap_or_else(|error| panic!("cannot make an emitter: {error}"))
    }

    /// An emitter in `cluster`, or else in the caller's.
    ///
    /// # Errors
    ///
    /// If there is no memory, or the default cluster cannot be started.
    pub fn try_new(cluster: Option<&Cluster>) -> io::Result<Self> {
        let source = Source {
            stage: ShortLock::new(Stage {
                is_busy: false,
                is_lent: false,
                stands_by: false,
                is_over: false,
                events: VecDeque::new(),
            }),
            returned: AutoEvent::new(),
            callbacks: Arc::new(Callbacks::new()),
        };
        let activity = Builder::new().name("emitter").activity(cluster, source)?;
        Ok(Self(activity))
    }

    /// Has `callback` called for each event to come, as a task that gets what it wants: it waits
    /// for its permissions, and gives them back when it returns. A callback may block; the next
    /// event of this object waits meanwhile.
    pub fn on<W, F>(&self, wants: W, callback: F) -> Subscription<E>
    where
        W: Wants<'static> + Clone + Sync,
        F: Fn(&E, W::Guards) + Send + Sync + 'static,
    {
        let call = move |event: &E| callback(event, acquire(wants.clone()));
        let number = self.0.callbacks.add(Arc::new(call));
        Subscription {
            callbacks: Arc::downgrade(&self.0.callbacks),
            number,
        }
    }

    /// Emits an event, which is handled when those before it have been. Blocks nothing, and nothing
    /// bounds how many events wait. A panic of a callback, or of the event's destructor, ends that
    /// callback only.
    ///
    /// # Errors
    ///
    /// The event, if the emitter's cluster has been stopped.
    pub fn emit(&self, event: E) -> Result<(), Unhandled<E>> {
        let emitted = Emitted {
            event,
            answer: None,
        };
        match self.push(emitted, true) {
            Pushed::Behind => Ok(()),
            Pushed::Refused(emitted) => Err(Unhandled(emitted.event)),
            Pushed::Idle(_) => unreachable!("an event that nobody delivers begins a turn"),
        }
    }

    /// Emits an event and waits until it has been handled. If no event is before it, the caller
    /// runs the callbacks itself. Blocks the fibre, or the thread if the caller is not a fibre.
    ///
    /// A callback that delivers to its own object waits for ever. So does what comes after a
    /// deliverer of another cluster than the emitter's that is left behind by it.
    ///
    /// # Panics
    ///
    /// With the panic of a callback, or else of the event's destructor; all callbacks have been
    /// called. If the emitter's cluster has been stopped, and others had emitted events before this
    /// one.
    pub fn deliver(&self, event: E) {
        let mut event = event;
        loop {
            if self.0.take_turn() {
                return self.deliver_here(event);
            }
            let delivery = Arc::new(Delivery::default());
            let answer = Some(Answer(Arc::clone(&delivery)));
            match self.push(Emitted { event, answer }, false) {
                Pushed::Behind => return delivery.wait(),
                Pushed::Idle(again) => event = again.event,
                Pushed::Refused(refused) => {
                    drop_quietly(refused);
                    resume_unwind(Box::new(STOPPED));
                }
            }
        }
    }

    /// Calls the callbacks for an event, in the caller's turn.
    fn deliver_here(&self, event: E) {
        let turn = Turn(&self.0);
        let panic = self.0.callbacks.call(&event);
        drop(turn);
        if let Some(payload) = first_of(panic, end_of(event)) {
            resume_unwind(payload);
        }
    }

    /// Lets an event wait behind those that are being handled. If there are none, the activity
    /// `begins` with it, or else it comes back.
    fn push(&self, emitted: Emitted<E>, begins: bool) -> Pushed<E> {
        // Whoever has the turn of a stopped emitter may have been left behind with it.
        let is_stopped = self.0.is_stopped();
        let mut room = VecDeque::new();
        loop {
            let mut stage = self.0.stage.lock();
            if stage.is_over || (stage.is_busy && is_stopped) {
                return Pushed::Refused(emitted);
            }
            if !stage.is_busy && !begins {
                return Pushed::Idle(emitted);
            }
            if !stage.has_room(&mut room) {
                let events = stage.events.len();
                drop(stage);
                room = VecDeque::with_capacity((2 * events).max(4));
                continue;
            }
            stage.events.push_back(emitted);
            let begins = !mem::replace(&mut stage.is_busy, true);
            let is_first_behind = stage.is_lent && !mem::replace(&mut stage.stands_by, true);
            drop(stage);
            return match begins || is_first_behind {
                true => self.begin(),
                false => Pushed::Behind,
            };
        }
    }

    /// Makes the activity handle the first event, or stand behind a deliverer.
    fn begin(&self) -> Pushed<E> {
        if self.0.schedule().is_ok() {
            return Pushed::Behind;
        }
        {
            let mut stage = self.0.stage.lock();
            stage.stands_by = false;
            if stage.is_lent {
                // The deliverer finds out, too, and ends what waits.
                return Pushed::Behind;
            }
        }
        self.0.end_here().map_or(Pushed::Behind, Pushed::Refused)
    }

    /// Removes all callbacks, as no event follows. Blocks nothing.
    pub(crate) fn end(&self) {
        self.0.callbacks.clear();
    }

    /// How many callbacks there are.
    #[must_use]
    pub fn callbacks(&self) -> usize {
        self.0.callbacks.len()
    }
}

impl<E> Stage<E> {
    /// Whether one more event can be added without an allocation; takes `room`, if that is more
    /// than there is.
    fn has_room(&mut self, room: &mut VecDeque<Emitted<E>>) -> bool {
        if self.events.len() < self.events.capacity() {
            return true;
        }
        let has_more = room.capacity() > self.events.len();
        if has_more {
            room.append(&mut self.events);
            mem::swap(room, &mut self.events);
        }
        has_more
    }
}

impl<E: Send + 'static> Source<E> {
    /// Takes the turn of an emitter that nobody handles events of.
    fn take_turn(&self) -> bool {
        let mut stage = self.stage.lock();
        let is_free = !stage.is_busy && !stage.is_over;
        stage.is_busy |= is_free;
        stage.is_lent |= is_free;
        is_free
    }

    /// Waits until the deliverer has left its turn, if one has it. Blocks the fibre. So an activity
    /// that a cluster leaves behind with a deliverer hears of it, and with it those that wait.
    fn stand_by(&self) {
        let stands = StandBy(self);
        while self.stage.lock().is_lent {
            self.returned.wait();
        }
        mem::forget(stands);
    }

    /// Handles no events any more, and drops those that wait.
    fn end_for_good(&self) {
        let left = {
            let mut stage = self.stage.lock();
            stage.is_over = true;
            mem::take(&mut stage.events)
        };
        left.into_iter().for_each(drop_quietly);
    }

    /// The next event; `None`, and the emitter rests, if there is none.
    fn next(&self) -> Option<Emitted<E>> {
        let mut stage = self.stage.lock();
        let next = stage.events.pop_front();
        stage.is_busy = next.is_some();
        next
    }

    /// Drops the events of an emitter that cannot be scheduled any more. Returns the oldest one
    /// without a deliverer, which is its emitter's own.
    #[cold]
    fn end_here(&self) -> Option<Emitted<E>> {
        let left = {
            let mut stage = self.stage.lock();
            stage.is_busy = false;
            mem::take(&mut stage.events)
        };
        let mut oldest = None;
        for emitted in left {
            match emitted.answer.is_none() && oldest.is_none() {
                true => oldest = Some(emitted),
                false => drop_quietly(emitted),
            }
        }
        oldest
    }
}

/// What a deliverer panics with if nobody handles its event.
const STOPPED: &str = "the cluster of the emitter has been stopped";

impl<E: Send + 'static> Work for Source<E> {
    fn run(this: &Activity<Self>) {
        this.stand_by();
        let turn = Turn(this);
        for _ in 0..BATCH {
            let Some(Emitted { event, answer }) = this.next() else {
                // The turn has gone with the last event.
                mem::forget(turn);
                return;
            };
            let panic = this.callbacks.call(&event);
            let panic = first_of(panic, end_of(event));
            match answer {
                Some(answer) => answer.give(panic),
                None => drop_quietly(panic),
            }
        }
    }

    fn abandoned(&self) {
        self.end_for_good();
    }
}

impl<E: Send + 'static> Drop for StandBy<'_, E> {
    fn drop(&mut self) {
        self.0.end_for_good();
    }
}

impl<E: Send + 'static> Drop for Turn<'_, E> {
    fn drop(&mut self) {
        {
            let mut stage = self.0.stage.lock();
            stage.is_lent = false;
            if mem::replace(&mut stage.stands_by, false) {
                // The activity has the turn now.
                drop(stage);
                return self.0.returned.set();
            }
            if stage.events.is_empty() {
                stage.is_busy = false;
                return;
            }
        }
        if self.0.schedule().is_err() {
            drop_quietly(self.0.end_here());
        }
    }
}

/// Drops an event. Returns what its destructor panics with.
fn end_of<E>(event: E) -> Option<Payload> {
    catch_unwind(AssertUnwindSafe(|| drop(event))).err()
}

impl Delivery {
    /// Waits until the event has been handled, or never will be. Blocks the fibre, or the thread if
    /// the caller is not a fibre.
    fn wait(&self) {
        self.handled.wait();
        let outcome = self.outcome.lock().take();
        match outcome {
            Some(Outcome(None)) => {}
            Some(Outcome(Some(payload))) => resume_unwind(payload),
            None => resume_unwind(Box::new(STOPPED)),
        }
    }
}

impl Answer {
    /// Lets the deliverer go on: its event has been handled.
    fn give(self, panic: Option<Payload>) {
        *self.0.outcome.lock() = Some(Outcome(panic));
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.0.handled.set();
    }
}

impl<E: Send + 'static> Subscription<E> {
    /// Removes the callback. It is not called for events that are handled after this; one that it
    /// is being called for goes on. Blocks nothing.
    pub fn remove(self) {
        if let Some(callbacks) = self.callbacks.upgrade() {
            callbacks.remove(self.number);
        }
    }
}

impl<E: Send + 'static> Clone for Emitter<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: Send + 'static> Default for Emitter<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Send + 'static> fmt::Debug for Emitter<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitter")
            .field("callbacks", &self.callbacks())
            .finish_non_exhaustive()
    }
}

impl<E: Send + 'static> fmt::Debug for Subscription<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// The event that was emitted to an emitter after the stop of its cluster.
pub struct Unhandled<E>(pub E);

impl<E> fmt::Debug for Unhandled<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unhandled(..)")
    }
}

impl<E> fmt::Display for Unhandled<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STOPPED)
    }
}

impl<E> std::error::Error for Unhandled<E> {}
