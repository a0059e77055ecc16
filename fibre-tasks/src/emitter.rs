//! Objects that emit events, and the tasks that follow: Eve's `emitter<T>` and `on`.
//!
//! The callbacks lie with the object, so nobody meets at a table that all share. The events of an
//! object are handled in the order in which they were emitted, one at a time: all callbacks of one
//! have returned before the next begins. Callbacks of one event run in the order in which they were
//! added, each as a task with the permissions of its own. Events of different objects are handled
//! in parallel, as far as the permissions allow.
//!
//! An emitter is an [activity](fibre_core::Activity): it has no stack while it has no event. Events
//! that a fibre [delivers](Emitter::deliver) are handled on that fibre, without a switch.

use crate::acquire::acquire;
use crate::wants::Wants;
use fibre_core::internal::ShortLock;
use fibre_core::{Activity, Builder, Cluster, Work};
use fibre_sync::Event;
use std::any::Any;
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
/// refer to the emitter keep it: such a circle ends when [they are removed](Subscription::remove).
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
}

/// The events of an emitter.
struct Stage<E> {
    /// Whether somebody handles events.
    is_busy: bool,
    /// The events that wait, the oldest first.
    events: VecDeque<Emitted<E>>,
}

/// An event that waits.
struct Emitted<E> {
    event: E,
    /// Its deliverer, if that waits.
    delivery: Option<Arc<Delivery>>,
}

/// A fibre that waits until others have handled its event.
#[derive(Default)]
struct Delivery {
    handled: Event,
    /// What a callback has panicked with.
    panic: ShortLock<Option<Box<dyn Any + Send>>>,
}

/// The callbacks of an emitter.
struct Callbacks<E>(ShortLock<List<E>>);

/// The list that an event goes through. Replaced when it changes.
struct List<E> {
    callbacks: Arc<Vec<Callback<E>>>,
    /// The number of the next one.
    next: u64,
}

/// One callback.
struct Callback<E> {
    number: u64,
    call: Arc<dyn Fn(&E) + Send + Sync>,
}

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
                events: VecDeque::new(),
            }),
            callbacks: Arc::new(Callbacks(ShortLock::new(List {
                callbacks: Arc::default(),
                next: 0,
            }))),
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
    /// bounds how many events wait. A panic of a callback ends that callback only.
    ///
    /// # Errors
    ///
    /// The event, if the emitter's cluster has been stopped.
    pub fn emit(&self, event: E) -> Result<(), Unhandled<E>> {
        {
            let mut stage = self.0.stage.lock();
            stage.events.push_back(Emitted {
                event,
                delivery: None,
            });
            if mem::replace(&mut stage.is_busy, true) {
                return Ok(());
            }
        }
        if self.0.schedule().is_ok() {
            return Ok(());
        }
        let last = self.0.end_here();
        last.map_or(Ok(()), |event| Err(Unhandled(event)))
    }

    /// Emits an event and waits until it has been handled. If no event is before it, the caller
    /// runs the callbacks itself. Blocks the fibre, or the thread if the caller is not a fibre.
    ///
    /// A callback that delivers to its own object waits for ever.
    ///
    /// # Panics
    ///
    /// With the panic of a callback; the others have been called. If the emitter's cluster has been
    /// stopped, and others had emitted events before this one.
    pub fn deliver(&self, event: E) {
        let source = &*self.0;
        let mut stage = source.stage.lock();
        if stage.is_busy {
            let delivery = Arc::new(Delivery::default());
            stage.events.push_back(Emitted {
                event,
                delivery: Some(Arc::clone(&delivery)),
            });
            drop(stage);
            delivery.handled.wait();
            let panic = delivery.panic.lock().take();
            if let Some(payload) = panic {
                resume_unwind(payload);
            }
            return;
        }
        stage.is_busy = true;
        drop(stage);
        let panic = source.callbacks.call(&event);
        source.rest_or_schedule(&self.0);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// How many callbacks there are.
    #[must_use]
    pub fn callbacks(&self) -> usize {
        self.0.callbacks.all().len()
    }
}

impl<E: Send + 'static> Source<E> {
    /// Leaves the events that have come meanwhile to the activity.
    fn rest_or_schedule(&self, activity: &Activity<Self>) {
        {
            let mut stage = self.stage.lock();
            if stage.events.is_empty() {
                stage.is_busy = false;
                return;
            }
        }
        if activity.schedule().is_err() {
            drop(self.end_here());
        }
    }

    /// The next event; `None`, and the emitter rests, if there is none.
    fn next(&self) -> Option<Emitted<E>> {
        let mut stage = self.stage.lock();
        let next = stage.events.pop_front();
        stage.is_busy = next.is_some();
        next
    }

    /// Drops the events of an emitter that cannot be scheduled any more. Returns the oldest, which
    /// is its emitter's own.
    #[cold]
    fn end_here(&self) -> Option<E> {
        let left = {
            let mut stage = self.stage.lock();
            stage.is_busy = false;
            mem::take(&mut stage.events)
        };
        let mut oldest = None;
        for Emitted { event, delivery } in left {
            match delivery {
                Some(delivery) => delivery.end(Some(Box::new(STOPPED))),
                None => oldest = oldest.or(Some(event)),
            }
        }
        oldest
    }
}

/// What a deliverer panics with whose event nobody handles.
const STOPPED: &str = "the cluster of the emitter has been stopped";

impl<E: Send + 'static> Work for Source<E> {
    fn run(this: &Activity<Self>) {
        for _ in 0..BATCH {
            let Some(Emitted { event, delivery }) = this.next() else {
                return;
            };
            let panic = this.callbacks.call(&event);
            drop(event);
            if let Some(delivery) = delivery {
                delivery.end(panic);
            }
        }
        this.rest_or_schedule(this);
    }
}

impl Delivery {
    /// Lets the deliverer go on.
    fn end(&self, panic: Option<Box<dyn Any + Send>>) {
        *self.panic.lock() = panic;
        self.handled.set();
    }
}

impl<E> Callbacks<E> {
    /// The list as it is now.
    fn all(&self) -> Arc<Vec<Callback<E>>> {
        Arc::clone(&self.0.lock().callbacks)
    }

    /// Adds one. Returns its number.
    fn add(&self, call: Arc<dyn Fn(&E) + Send + Sync>) -> u64 {
        let mut list = self.0.lock();
        let number = list.next;
        list.next += 1;
        let mut callbacks: Vec<_> = list.callbacks.iter().map(Callback::another).collect();
        callbacks.push(Callback { number, call });
        let before = mem::replace(&mut list.callbacks, Arc::new(callbacks));
        drop(list);
        drop(before);
        number
    }

    /// Takes one out. `false`: it is not there any more.
    fn remove(&self, number: u64) -> bool {
        let mut list = self.0.lock();
        let others = list.callbacks.iter().filter(|other| other.number != number);
        let callbacks: Vec<_> = others.map(Callback::another).collect();
        let was_there = callbacks.len() < list.callbacks.len();
        let before = mem::replace(&mut list.callbacks, Arc::new(callbacks));
        drop(list);
        // A callback ends outside of the lock: its destructor may do anything.
        drop(before);
        was_there
    }

    /// Calls all of them, in turn. Returns the first panic.
    fn call(&self, event: &E) -> Option<Box<dyn Any + Send>> {
        let mut panic = None;
        for callback in self.all().iter() {
            let called = catch_unwind(AssertUnwindSafe(|| (callback.call)(event)));
            panic = panic.or(called.err());
        }
        panic
    }
}

impl<E> Callback<E> {
    /// A second reference to it.
    fn another(&self) -> Self {
        Self {
            number: self.number,
            call: Arc::clone(&self.call),
        }
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

/// The event that was emitted to an emitter whose cluster has been stopped.
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
