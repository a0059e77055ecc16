//! What an actor is, and what its methods may do while they run.

use crate::actor_ref::ActorRef;
use crate::cell::{After, Alarms, Behaviour, Cell, Stage};
use crate::envelope::Envelope;
use crate::errors::AskError;
use crate::exit::{Exit, ExitReason};
use crate::inbox::Inbox;
use crate::message_queue::Backlog;
use crate::next::Next;
use crate::reply::Reply;
use crate::system::System;
use crate::waiting::Waiting;
use fibre_core::internal::drop_quietly;
use fibre_core::{Activity, Limit, is_cancelled};
use fibre_sync::Restarts;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A value of its own that handles messages, one at a time.
///
/// The methods run on a fibre, so they may block as fibres do: read a socket, lock a mutex, wait
/// for an answer. Meanwhile the actor handles no other message, and other actors run. An actor that
/// does not block has no stack of its own.
///
/// A method that panics ends the actor: its messages are dropped, and those that
/// [monitor](ActorRef::monitor) it are told. The panic is reported on standard error. An actor that
/// [restarts](crate::Builder::spawn_restarting) begins anew instead.
///
/// ```
/// use fibre_actors::{Actor, Context};
///
/// /// Greets, and counts.
/// struct Greeter {
///     greeted: u32,
/// }
///
/// impl Actor for Greeter {
///     type Message = &'static str;
///
///     fn handle(&mut self, name: &'static str, _: &mut Context<'_, Self>) {
///         self.greeted += 1;
///         println!("hello, {name}, number {}", self.greeted);
///     }
/// }
///
/// let greeter = fibre_actors::spawn(Greeter { greeted: 0 });
/// greeter.send("Ada")?;
/// greeter.send("Grace")?;
/// greeter.stop();
/// greeter.wait();
/// # Ok::<(), fibre_actors::SendError<&str>>(())
/// ```
pub trait Actor: Sized + Send + 'static {
    /// What the actor is sent.
    type Message: Send + 'static;

    /// How urgent a message is. `None`, the default: all are handled in the order they came.
    ///
    /// With a function, the actor handles the message of the highest number first, and those of one
    /// number in the order they came. Before each message it looks what has come meanwhile, which
    /// costs a lock. While more urgent messages come, others wait. The function runs on the actor's
    /// fibre, once for a message; a panic of it is one of the actor's, in handling that message.
    ///
    /// Such an actor has a [mailbox without a bound](crate::Mailbox::Unbounded).
    ///
    /// ```
    /// use fibre_actors::{Actor, Context, Reply};
    ///
    /// enum Message {
    ///     Work(u32),
    ///     Finish(Reply<u32>),
    /// }
    ///
    /// #[derive(Default)]
    /// struct Worker(u32);
    ///
    /// impl Actor for Worker {
    ///     type Message = Message;
    ///     const PRIORITY: Option<fn(&Message) -> u32> = Some(|message| match message {
    ///         Message::Work(_) => 0,
    ///         Message::Finish(_) => 1,
    ///     });
    ///
    ///     fn handle(&mut self, message: Message, context: &mut Context<'_, Self>) {
    ///         match message {
    ///             Message::Work(amount) => self.0 += amount,
    ///             Message::Finish(reply) => {
    ///                 reply.send(self.0);
    ///                 context.stop(); // what waits is dropped
    ///             }
    ///         }
    ///     }
    /// }
    ///
    /// let worker = fibre_actors::spawn(Worker::default());
    /// (0..1000).for_each(|_| worker.send(Message::Work(1)).unwrap());
    /// assert!(worker.ask(Message::Finish).unwrap() <= 1000);
    /// ```
    const PRIORITY: Option<fn(&Self::Message) -> u32> = None;

    /// Handles one message.
    fn handle(&mut self, message: Self::Message, context: &mut Context<'_, Self>);

    /// Is called once, before the first message. Default: does nothing.
    fn started(&mut self, _context: &mut Context<'_, Self>) {}

    /// Is called once, after the last message, unless the actor has panicked, or the cluster that
    /// it lives in was stopped before it. Default: does nothing.
    fn stopped(&mut self) {}
}

/// What an actor's methods get: the actor from outside, and what only it may do.
///
/// ```
/// use fibre_actors::{Actor, Context, Reply};
///
/// /// Counts down, by messages to itself.
/// struct Countdown(Option<Reply<()>>);
///
/// impl Actor for Countdown {
///     type Message = u32;
///
///     fn handle(&mut self, number: u32, context: &mut Context<'_, Self>) {
///         match number.checked_sub(1) {
///             Some(less) => context.myself().send(less).unwrap(),
///             None => context.stop(),
///         }
///     }
/// }
///
/// let countdown = fibre_actors::spawn(Countdown(None));
/// countdown.send(1000).unwrap();
/// countdown.wait();
/// ```
pub struct Context<'a, A: Actor> {
    activity: &'a Activity<Cell<A::Message>>,
    alarms: &'a mut Alarms,
    system: &'a Arc<System>,
    /// Whether the actor wants to stop.
    stops: bool,
}

impl<A: Actor> Context<'_, A> {
    /// A reference to the actor itself.
    #[must_use]
    pub fn myself(&self) -> ActorRef<A::Message> {
        ActorRef::of(self.activity)
    }

    /// The number of the actor, as [`ActorRef::id`].
    #[must_use]
    pub fn id(&self) -> u64 {
        self.activity.id()
    }

    /// The name of the actor, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.activity.name()
    }

    /// Ends the actor when the present method returns. Messages that are in its mailbox are
    /// dropped; see [`ActorRef::stop`] for an end after them.
    pub fn stop(&mut self) {
        self.stops = true;
    }

    /// Asks another actor, and waits for the answer: as [`ActorRef::ask`].
    ///
    /// # Errors
    ///
    /// [`AskError`].
    pub fn ask<M: Send + 'static, R: Send + 'static>(
        &self,
        other: &ActorRef<M>,
        make: impl FnOnce(Reply<R>) -> M,
    ) -> Result<R, AskError> {
        other.ask(make)
    }

    /// Asks another actor, and waits for the answer for so long: as [`ActorRef::ask_timeout`].
    ///
    /// # Errors
    ///
    /// [`AskError`].
    pub fn ask_timeout<M: Send + 'static, R: Send + 'static>(
        &self,
        other: &ActorRef<M>,
        timeout: Duration,
        make: impl FnOnce(Reply<R>) -> M,
    ) -> Result<R, AskError> {
        other.ask_timeout(timeout, make)
    }

    /// Asks another actor, and waits for the answer until the [`Limit`] comes: as
    /// [`ActorRef::ask_within`].
    ///
    /// # Errors
    ///
    /// [`AskError`].
    pub fn ask_within<M: Send + 'static, R: Send + 'static>(
        &self,
        other: &ActorRef<M>,
        limit: impl Into<Limit>,
        make: impl FnOnce(Reply<R>) -> M,
    ) -> Result<R, AskError> {
        other.ask_within(limit, make)
    }

    /// Sends the actor a message when another one has ended: as [`ActorRef::monitor`].
    pub fn monitor<M: Send + 'static>(
        &self,
        other: &ActorRef<M>,
        make: impl FnOnce(Exit) -> A::Message + Send + 'static,
    ) {
        other.monitor(&self.myself(), make);
    }

    /// The actor's activity.
    pub(crate) fn activity(&self) -> &Activity<Cell<A::Message>> {
        self.activity
    }

    /// The actor's timers.
    pub(crate) fn alarms(&mut self) -> &mut Alarms {
        self.alarms
    }

    /// What the actor shares with those it lives with.
    pub(crate) fn system(&self) -> &Arc<System> {
        self.system
    }
}

impl<A: Actor> fmt::Debug for Context<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// An actor, and whether it has been told that it is one.
pub(crate) struct Player<A> {
    actor: A,
    started: bool,
}

impl<A: Actor> Player<A> {
    /// An actor that has not started.
    pub(crate) fn new(actor: A) -> Self {
        Self {
            actor,
            started: false,
        }
    }

    /// Calls a method of the actor. If the actor is to end after it, returns the reason.
    #[inline]
    fn play(
        &mut self,
        context: &mut Context<'_, A>,
        method: impl FnOnce(&mut A, &mut Context<'_, A>),
    ) -> Option<ExitReason> {
        method(&mut self.actor, context);
        if context.stops {
            return Some(context.activity.inbox.begin_end(ExitReason::Stopped));
        }
        // Whoever kills an actor gives a reason before; else it is its cluster that is stopped.
        is_cancelled().then(|| context.activity.inbox.begin_end(ExitReason::ClusterStopped))
    }

    /// Handles one message. If the actor is to end after it, returns the reason.
    #[inline]
    fn open(
        &mut self,
        context: &mut Context<'_, A>,
        envelope: Envelope<A::Message>,
    ) -> Option<ExitReason> {
        self.play(context, |actor, context| {
            envelope.open(|message| actor.handle(message, context));
        })
    }

    /// Handles messages for a while, the most urgent ones first.
    fn handle_by_priority(
        &mut self,
        context: &mut Context<'_, A>,
        backlog: &mut Backlog<Envelope<A::Message>>,
        waiting: &mut Waiting<Envelope<A::Message>>,
        priority: fn(&A::Message) -> u32,
    ) -> After {
        let inbox = &context.activity.inbox;
        let mut left = context.system.batch;
        loop {
            while let Some(envelope) = backlog.pop() {
                waiting.push(priority(envelope.message()), envelope);
            }
            if left == 0 && !waiting.is_empty() {
                return After::Again;
            }
            if let Some(envelope) = waiting.pop() {
                left -= 1;
                if let Some(reason) = self.open(context, envelope) {
                    return After::End(reason);
                }
                if !waiting.is_empty() {
                    inbox.take_more(backlog);
                }
                continue;
            }
            match inbox.take(backlog) {
                Next::Handle => {}
                Next::Rest => return After::Rest,
                Next::End(reason) => return After::End(reason),
            }
        }
    }
}

impl<A: Actor> Behaviour<A::Message> for Player<A> {
    fn activate(&mut self, stage: Stage<'_, A::Message>) -> After {
        let Stage {
            activity,
            backlog,
            alarms,
            system,
            waiting,
        } = stage;
        let inbox: &Inbox<Envelope<A::Message>> = &activity.inbox;
        let mut context = Context {
            activity,
            alarms,
            system,
            stops: false,
        };
        if !self.started {
            self.started = true;
            if let Some(reason) = self.play(&mut context, A::started) {
                return After::End(reason);
            }
        }
        let has_waiting = waiting.as_ref().is_some_and(|waiting| !waiting.is_empty());
        if (has_waiting || !backlog.is_empty()) && is_cancelled() {
            // It was killed between two batches.
            return After::End(inbox.begin_end(ExitReason::ClusterStopped));
        }
        if let (Some(priority), Some(waiting)) = (A::PRIORITY, waiting) {
            return self.handle_by_priority(&mut context, backlog, waiting, priority);
        }
        let mut left = system.batch;
        loop {
            while left > 0
                && let Some(envelope) = backlog.pop()
            {
                left -= 1;
                if let Some(reason) = self.open(&mut context, envelope) {
                    return After::End(reason);
                }
            }
            if !backlog.is_empty() {
                return After::Again;
            }
            match inbox.take(backlog) {
                Next::Handle if left == 0 => return After::Again,
                Next::Handle => {}
                Next::Rest => return After::Rest,
                Next::End(reason) => return After::End(reason),
            }
        }
    }

    fn stop(&mut self) {
        self.actor.stopped();
    }

    fn renew(&mut self) -> bool {
        false
    }
}

/// An actor that begins anew when it panics.
pub(crate) struct Restarting<A, F> {
    /// The present one, unless it has panicked and the next one is not there yet.
    player: Option<Player<A>>,
    /// Makes another one.
    make: F,
    /// How often it may.
    restarts: Arc<Restarts>,
    /// When the present one began.
    begun: Instant,
    /// The pause before the next one.
    pause: Duration,
}

impl<A: Actor, F: FnMut() -> A + Send> Restarting<A, F> {
    /// The first actor, which is made here.
    pub(crate) fn new(restarts: Arc<Restarts>, mut make: F) -> Self {
        Self {
            player: Some(Player::new(make())),
            make,
            restarts,
            begun: Instant::now(),
            pause: Duration::ZERO,
        }
    }
}

impl<A: Actor, F: FnMut() -> A + Send> Behaviour<A::Message> for Restarting<A, F> {
    fn activate(&mut self, stage: Stage<'_, A::Message>) -> After {
        match &mut self.player {
            Some(player) => player.activate(stage),
            None => unreachable!("an actor without a successor has ended"),
        }
    }

    fn stop(&mut self) {
        if let Some(player) = &mut self.player {
            player.stop();
        }
    }

    fn renew(&mut self) -> bool {
        let lasted = self.begun.elapsed();
        // Before the pause, as others may wait for what it has: replies, or an address.
        drop_quietly(self.player.take());
        if !self.restarts.begin_again(lasted, &mut self.pause) {
            return false;
        }
        self.player = Some(Player::new((self.make)()));
        self.begun = Instant::now();
        true
    }
}

/// An actor, restarting or not, that handles the most urgent message first. What waits stays when
/// the actor begins anew.
pub(crate) struct Ordered<M, B> {
    behaviour: B,
    waiting: Waiting<Envelope<M>>,
}

impl<M, B> Ordered<M, B> {
    /// An actor without messages.
    pub(crate) const fn new(behaviour: B) -> Self {
        Self {
            behaviour,
            waiting: Waiting::new(),
        }
    }
}

impl<M: Send + 'static, B: Behaviour<M>> Behaviour<M> for Ordered<M, B> {
    fn activate(&mut self, stage: Stage<'_, M>) -> After {
        self.behaviour.activate(Stage {
            waiting: Some(&mut self.waiting),
            ..stage
        })
    }

    fn stop(&mut self) {
        self.waiting.clear();
        self.behaviour.stop();
    }

    fn renew(&mut self) -> bool {
        self.behaviour.renew()
    }
}
