//! Messages for all that want them.
//!
//! A topic is a list of references. A publisher takes the list as it is, and sends without a lock,
//! since a send may wait for room; whoever subscribes meanwhile gets a list of its own to change.

use crate::actor_ref::ActorRef;
use crate::errors::SendError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
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

/// Those that have subscribed.
struct Subscribers<M: Send + 'static> {
    /// The list that publishers take.
    list: Arc<Vec<ActorRef<M>>>,
    /// The place of each in the list.
    places: HashMap<u64, usize>,
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
        self.0.lock().add(actor)
    }

    /// Takes a subscriber out; `false`: it has not subscribed. What is being published may still
    /// come to it. Blocks nothing.
    pub fn unsubscribe(&self, actor: &ActorRef<M>) -> bool {
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
    pub fn publish(&self, message: M) -> usize {
        let list = Arc::clone(&self.0.lock().list);
        let Some((last, others)) = list.split_last() else {
            return 0;
        };
        let mut accepted = 0;
        let mut stopped = Vec::new();
        let mut send = |actor: &ActorRef<M>, message: M| match actor.send(message) {
            Ok(()) => accepted += 1,
            Err(SendError::Stopped(_)) => stopped.push(actor.id()),
            Err(_) => {}
        };
        for actor in others {
            send(actor, message.clone());
        }
        send(last, message);
        // Taking one out shall not have to copy the list.
        drop(list);
        for id in stopped {
            let gone = self.0.lock().remove(id);
            drop(gone);
        }
        accepted
    }
}

impl<M: Send + 'static> Subscribers<M> {
    /// Adds a subscriber at the end.
    fn add(&mut self, actor: &ActorRef<M>) -> bool {
        let place = self.list.len();
        let known = self.places.contains_key(&actor.id());
        if !known {
            self.places.insert(actor.id(), place);
            Arc::make_mut(&mut self.list).push(actor.clone());
        }
        !known
    }

    /// Takes a subscriber out, and puts the last one into its place.
    fn remove(&mut self, id: u64) -> Option<ActorRef<M>> {
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
