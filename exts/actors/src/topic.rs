//! Messages for all that want them.
//!
//! A topic is a list of references. A publisher takes the list as it is, and sends without a lock,
//! since a send may wait for room; whoever subscribes meanwhile gets a list of its own to change.

use crate::actor_ref::ActorRef;
use crate::errors::SendError;
use fibre_core::internal::{Quiet, drop_quietly, warn};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A topic: each message that is published goes to all actors that have subscribed. Clones are the
/// same topic.
///
/// Messages of one publisher come to each subscriber in their order. The topic refers to its
/// subscribers, which so live as long as it does, unless they are stopped. Subscribers that have
/// stopped leave the topic by themselves, when something is published.
///
/// ```
/// use fibre_actors::{Actor, Context, Topic};
/// use fibre::channel::{Sender, unbounded};
///
/// struct Reader(Sender<&'static str>);
/// impl Actor for Reader {
///     type Message = &'static str;
///     fn handle(&mut self, news: &'static str, _: &mut Context<'_, Self>) {
///         self.0.send(news).unwrap();
///     }
/// }
///
/// let (sender, receiver) = unbounded();
/// let topic = Topic::new();
/// for _ in 0..3 {
///     topic.subscribe(&fibre_actors::spawn(Reader(sender.clone())));
/// }
/// assert_eq!(topic.publish("rain"), 3);
/// for _ in 0..3 {
///     assert_eq!(receiver.recv(), Ok("rain"));
/// }
/// ```
pub struct Topic<M: Send + 'static>(Arc<Mutex<Subscribers<M>>>);

/// The list of subscribers.
struct Subscribers<M: Send + 'static> {
    /// The list that publishers take.
    list: Arc<Vec<Subscriber<M>>>,
    /// The place of each in the list.
    places: HashMap<u64, usize>,
}

/// An actor that has subscribed.
enum Subscriber<M: Send + 'static> {
    /// An actor that takes the topic's messages as they are.
    Plain(ActorRef<M>),
    /// An actor that takes messages made of them.
    Mapped(Arc<dyn Mapped<M>>),
}

/// An actor that takes messages made of a topic's.
trait Mapped<M>: Send + Sync {
    /// Makes a message and sends it.
    fn send(&self, message: M) -> Sent;
    /// The number of the actor.
    fn id(&self) -> u64;
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// The actor has it.
    Accepted,
    /// It is gone.
    Refused,
    /// So is the actor.
    Stopped,
}

impl Sent {
    /// What became of a message that was sent. One that comes back is dropped.
    fn of<M>(sent: Result<(), SendError<M>>) -> Self {
        let Err(error) = sent else {
            return Self::Accepted;
        };
        let is_stopped = matches!(error, SendError::Stopped(_));
        drop_quietly(error);
        match is_stopped {
            true => Self::Stopped,
            false => Self::Refused,
        }
    }
}

impl<M, N, F> Mapped<M> for (ActorRef<N>, Quiet<F>)
where
    N: Send + 'static,
    F: Fn(M) -> N + Send + Sync,
{
    fn send(&self, message: M) -> Sent {
        let (actor, make) = self;
        match catch_unwind(AssertUnwindSafe(|| make(message))) {
            Ok(message) => Sent::of(actor.send(message)),
            Err(payload) => {
                let id = actor.id();
                warn(format_args!(
                    "a message of a topic for actor {id} cannot be made: that has panicked"
                ));
                drop_quietly(payload);
                match actor.is_alive() {
                    true => Sent::Refused,
                    false => Sent::Stopped,
                }
            }
        }
    }

    fn id(&self) -> u64 {
        self.0.id()
    }
}

impl<M: Send + 'static> Subscriber<M> {
    /// Sends it a message.
    fn send(&self, message: M) -> Sent {
        match self {
            Self::Plain(actor) => Sent::of(actor.send(message)),
            Self::Mapped(actor) => actor.send(message),
        }
    }

    /// The number of the actor.
    fn id(&self) -> u64 {
        match self {
            Self::Plain(actor) => actor.id(),
            Self::Mapped(actor) => actor.id(),
        }
    }
}

/// Subscribers that a publisher has found stopped. They leave the topic when it is dropped, also
/// while a panic unwinds.
struct Leaving<'a, M: Send + 'static> {
    topic: &'a Topic<M>,
    ids: Vec<u64>,
}

impl<M: Send + 'static> Drop for Leaving<'_, M> {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            let gone = self.topic.0.lock().remove(id);
            drop(gone);
        }
    }
}

impl<M: Send + 'static> Clone for Subscriber<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Plain(actor) => Self::Plain(actor.clone()),
            Self::Mapped(actor) => Self::Mapped(Arc::clone(actor)),
        }
    }
}

impl<M: Send + 'static> Topic<M> {
    /// A topic without subscribers.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Subscribers {
            list: Arc::new(Vec::new()),
            places: HashMap::new(),
        })))
    }

    /// Adds a subscriber; `false`: it has subscribed before. Blocks nothing.
    pub fn subscribe(&self, actor: &ActorRef<M>) -> bool {
        self.add(Subscriber::Plain(actor.clone()))
    }

    /// Adds a subscriber with messages of another type: `make` makes them, on the publisher's
    /// fibre. `false`: it has subscribed before. Blocks nothing.
    ///
    /// ```
    /// use fibre_actors::{Actor, Context, Reply, Topic};
    ///
    /// enum Event {
    ///     Price(u32),
    ///     Highest(Reply<u32>),
    /// }
    ///
    /// struct Watch(u32);
    /// impl Actor for Watch {
    ///     type Message = Event;
    ///     fn handle(&mut self, event: Event, _: &mut Context<'_, Self>) {
    ///         match event {
    ///             Event::Price(price) => self.0 = self.0.max(price),
    ///             Event::Highest(reply) => reply.send(self.0),
    ///         }
    ///     }
    /// }
    ///
    /// let prices = Topic::new();
    /// let watch = fibre_actors::spawn(Watch(0));
    /// prices.subscribe_with(&watch, Event::Price);
    /// [3, 7, 5].map(|price| prices.publish(price));
    /// assert_eq!(watch.ask(Event::Highest), Ok(7));
    /// ```
    pub fn subscribe_with<N: Send + 'static>(
        &self,
        actor: &ActorRef<N>,
        make: impl Fn(M) -> N + Send + Sync + 'static,
    ) -> bool {
        self.add(Subscriber::Mapped(Arc::new((
            actor.clone(),
            Quiet::new(make),
        ))))
    }

    /// Adds a subscriber, unless it is there. What is superfluous is dropped without the lock.
    fn add(&self, subscriber: Subscriber<M>) -> bool {
        let superfluous = self.0.lock().add(subscriber);
        superfluous.is_none()
    }

    /// Takes a subscriber out; `false`: it has not subscribed. What is being published may still
    /// come to it. Blocks nothing.
    pub fn unsubscribe<N: Send + 'static>(&self, actor: &ActorRef<N>) -> bool {
        let gone = self.0.lock().remove(actor.id());
        gone.is_some()
    }

    /// How many have subscribed.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.0.lock().list.len()
    }
}

impl<M: Clone + Send + 'static> Topic<M> {
    /// Sends the message to all subscribers, and returns how many have accepted it. It blocks the
    /// fibre, or the thread, while the mailbox of one is full and [lets senders
    /// wait](crate::Overflow::Block); else it blocks nothing.
    ///
    /// A panic in what makes the message of [one](Self::subscribe_with) is reported on standard
    /// error. That subscriber does not get the message, and stays; all others get it.
    ///
    /// # Panics
    ///
    /// With a panic of the message's `clone`: those that come after it do not get the message.
    pub fn publish(&self, message: M) -> usize {
        let mut leaving = Leaving {
            topic: self,
            ids: Vec::new(),
        };
        // Dropped before that: taking one out shall not have to copy the list.
        let list = Arc::clone(&self.0.lock().list);
        let Some((last, others)) = list.split_last() else {
            return 0;
        };
        let mut accepted = 0;
        let mut send = |subscriber: &Subscriber<M>, message: M| match subscriber.send(message) {
            Sent::Accepted => accepted += 1,
            Sent::Refused => {}
            Sent::Stopped => leaving.ids.push(subscriber.id()),
        };
        for subscriber in others {
            send(subscriber, message.clone());
        }
        send(last, message);
        accepted
    }
}

impl<M: Send + 'static> Subscribers<M> {
    /// Adds a subscriber at the end; gives it back if it is there.
    fn add(&mut self, subscriber: Subscriber<M>) -> Option<Subscriber<M>> {
        let Entry::Vacant(place) = self.places.entry(subscriber.id()) else {
            return Some(subscriber);
        };
        place.insert(self.list.len());
        Arc::make_mut(&mut self.list).push(subscriber);
        None
    }

    /// Takes a subscriber out, and puts the last one into its place.
    fn remove(&mut self, id: u64) -> Option<Subscriber<M>> {
        let place = self.places.remove(&id)?;
        let list = Arc::make_mut(&mut self.list);
        let gone = list.swap_remove(place);
        if let Some(moved) = list.get(place) {
            self.places.insert(moved.id(), place);
        }
        Some(gone)
    }
}

impl<M: Send + 'static> Default for Topic<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Send + 'static> Clone for Topic<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Send + 'static> fmt::Debug for Topic<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topic")
            .field("subscribers", &self.subscribers())
            .finish_non_exhaustive()
    }
}
