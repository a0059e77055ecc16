//! How an actor comes into being.

use crate::actor::{Actor, Context, Ordered, Player, Restarting};
use crate::actor_ref::ActorRef;
use crate::actors::Actors;
use crate::cell::{Behaviour, Cell, Enrolled};
use crate::exit::ExitReason;
use crate::mailbox::Mailbox;
use crate::system::System;
use fibre_core::Priority;
use fibre_sync::Restarts;
use std::io;
use std::sync::Arc;

/// Spawns an actor in the caller's cluster, or, on a thread that is no fibre, in the default one.
/// It begins at once.
///
/// ```
/// use fibre_actors::{Actor, Context};
///
/// struct Silent;
/// impl Actor for Silent {
///     type Message = ();
///     fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
/// }
///
/// let silent = fibre_actors::spawn(Silent);
/// assert!(silent.is_alive());
/// ```
///
/// # Panics
///
/// If the default cluster cannot be started, or there is no memory; [`Builder::spawn`] returns an
/// error instead.
pub fn spawn<A: Actor>(actor: A) -> ActorRef<A::Message> {
    must(Builder::new().spawn(actor))
}

/// The actor, which the caller relies on.
fn must<M: Send + 'static>(spawned: io::Result<ActorRef<M>>) -> ActorRef<M> {
    spawned.unwrap_or_else(|error| panic!("cannot spawn an actor: {error}"))
}

/// The settings of an actor to come.
///
/// ```
/// use fibre_actors::{Actor, Builder, Context, Mailbox, Overflow};
///
/// struct Gauge;
/// impl Actor for Gauge {
///     type Message = f64;
///     fn handle(&mut self, _: f64, _: &mut Context<'_, Self>) {}
/// }
///
/// let gauge = Builder::new()
///     .name("gauge")
///     .mailbox(Mailbox::bounded(100, Overflow::DropOldest))
///     .spawn(Gauge)?;
/// assert_eq!(gauge.name(), Some("gauge"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing happens until `spawn`"]
pub struct Builder {
    fibre: fibre_core::Builder,
    mailbox: Mailbox,
    hub: bool,
}

impl Builder {
    /// A builder with default values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The actor's name in reports. Default: none.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.fibre = self.fibre.name(name);
        self
    }

    /// The actor's mailbox. Default: [`Mailbox::Unbounded`].
    pub fn mailbox(mut self, mailbox: Mailbox) -> Self {
        self.mailbox = mailbox;
        self
    }

    /// Says that the actor is a *hub*: it lives long, spawns many others and speaks with them
    /// often. Hubs begin far from each other, on memory nodes of their own if there are several. It
    /// has no effect on actors without an [`Actors`]. Source: thesis, section 5.3.1, after
    /// Francesquini et al.
    pub fn hub(mut self) -> Self {
        self.hub = true;
        self
    }

    /// Bytes reserved for the stack that the actor's methods run on. Default: the cluster's. With
    /// another size, the actor's activations share their stacks with fewer others.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.fibre = self.fibre.stack_size(bytes);
        self
    }

    /// Which of the actors and fibres that are ready at a processor runs first. Default:
    /// [`Priority::Normal`].
    pub fn priority(mut self, priority: Priority) -> Self {
        self.fibre = self.fibre.priority(priority);
        self
    }

    /// Makes the actor stay on one processor of its cluster, counted from zero. Default: any.
    pub fn on_processor(mut self, processor: usize) -> Self {
        self.fibre = self.fibre.on_processor(processor);
        self
    }

    /// Spawns the actor, as [`spawn`].
    ///
    /// # Errors
    ///
    /// When the default cluster cannot be started, when the cluster has no such processor, when it
    /// has been stopped, and when there is no memory. If the actor has
    /// [priorities](Actor::PRIORITY), and its mailbox a bound.
    pub fn spawn<A: Actor>(self, actor: A) -> io::Result<ActorRef<A::Message>> {
        self.spawn_with(System::loose(), actor)
    }

    /// Spawns the actor among others.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_in<A: Actor>(self, actors: &Actors, actor: A) -> io::Result<ActorRef<A::Message>> {
        self.spawn_with(actors.system(), actor)
    }

    /// Spawns the actor that `make` makes, which begins anew when it panics: `make` makes another
    /// one in its place, on the same fibre, and [`started`](Actor::started) is called again. The
    /// references, the mailbox with the messages that wait, detached timers and those that monitor
    /// it stay; the message that it has panicked in is lost, and what the actor has is dropped
    /// before the next one is made. During the pauses of [`Restarts`] it handles nothing; a kill
    /// ends a pause, while a stop comes after it. When it may not restart any more, it ends as one
    /// that has [panicked](crate::ExitReason::Panicked). An [`Arc`] of restarts is a limit that
    /// several actors share.
    ///
    /// ```
    /// use fibre_actors::{Actor, Builder, Context, Reply, Restarts};
    /// use std::time::Duration;
    ///
    /// #[derive(Default)]
    /// struct Sum(u32);
    ///
    /// enum Message {
    ///     Add(&'static str),
    ///     Sum(Reply<u32>),
    /// }
    ///
    /// impl Actor for Sum {
    ///     type Message = Message;
    ///     fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) {
    ///         match message {
    ///             Message::Add(text) => self.0 += text.parse::<u32>().expect("a number"),
    ///             Message::Sum(reply) => reply.send(self.0),
    ///         }
    ///     }
    /// }
    ///
    /// let restarts = Restarts::new(3, Duration::from_secs(10));
    /// let sum = Builder::new().spawn_restarting(restarts, Sum::default)?;
    /// for text in ["1", "two", "39"] {
    ///     sum.send(Message::Add(text)).unwrap(); // "two" panics, and it begins again at 0
    /// }
    /// assert_eq!(sum.ask(Message::Sum), Ok(39));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    ///
    /// With the panic of the first call of `make`. Later ones end the actor.
    pub fn spawn_restarting<A: Actor>(
        self,
        restarts: impl Into<Arc<Restarts>>,
        make: impl FnMut() -> A + Send + 'static,
    ) -> io::Result<ActorRef<A::Message>> {
        let restarting = Restarting::new(restarts.into(), make);
        self.spawn_behaviour::<A>(System::loose(), restarting)
    }

    /// [`spawn_restarting`](Self::spawn_restarting) among others, as [`spawn_in`](Self::spawn_in).
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    ///
    /// As [`spawn_restarting`](Self::spawn_restarting).
    pub fn spawn_restarting_in<A: Actor>(
        self,
        actors: &Actors,
        restarts: impl Into<Arc<Restarts>>,
        make: impl FnMut() -> A + Send + 'static,
    ) -> io::Result<ActorRef<A::Message>> {
        let restarting = Restarting::new(restarts.into(), make);
        self.spawn_behaviour::<A>(actors.system(), restarting)
    }

    /// The form of actors that do not restart.
    fn spawn_with<A: Actor>(
        self,
        system: &Arc<System>,
        actor: A,
    ) -> io::Result<ActorRef<A::Message>> {
        self.spawn_behaviour::<A>(system, Player::new(actor))
    }

    /// The form for actors with priorities, and without.
    fn spawn_behaviour<A: Actor>(
        self,
        system: &Arc<System>,
        behaviour: impl Behaviour<A::Message> + 'static,
    ) -> io::Result<ActorRef<A::Message>> {
        if A::PRIORITY.is_none() {
            return self.spawn_boxed(system, Box::new(behaviour));
        }
        if self.mailbox != Mailbox::Unbounded {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "an actor with priorities needs a mailbox without a bound",
            ));
        }
        self.spawn_boxed(system, Box::new(Ordered::new(behaviour)))
    }

    /// The form that all share.
    fn spawn_boxed<M: Send + 'static>(
        self,
        system: &Arc<System>,
        behaviour: Box<dyn Behaviour<M>>,
    ) -> io::Result<ActorRef<M>> {
        let cell = Cell::new(self.mailbox, behaviour, system);
        let activity = self.fibre.activity(system.cluster(), cell)?;
        if let Some(registry) = &system.registry {
            let member_id = registry.enter(Arc::new(Enrolled(activity.clone())));
            // SAFETY: it has not been scheduled, which whoever creates an actor does.
            unsafe { activity.set_member_id(member_id) };
            if registry.is_stopping() {
                // It is active: the schedule below is the answer.
                let _ = activity.inbox.close(ExitReason::ClusterStopped);
            }
        }
        let first = system.cluster().filter(|_| self.hub);
        let scheduled = match first {
            Some(cluster) => activity.schedule_on(cluster.hub_processor()),
            None => activity.schedule_first(),
        };
        let spawned = ActorRef::first(activity);
        if let Err(stopped) = scheduled {
            spawned.end_here();
            return Err(stopped.into());
        }
        Ok(spawned)
    }
}

impl Actors {
    /// Spawns an actor among these. It begins at once.
    ///
    /// # Panics
    ///
    /// If these have been stopped, or there is no memory; [`Builder::spawn_in`] returns an error
    /// instead.
    pub fn spawn<A: Actor>(&self, actor: A) -> ActorRef<A::Message> {
        must(Builder::new().spawn_in(self, actor))
    }

    /// Spawns a [hub](Builder::hub) among these.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_hub<A: Actor>(&self, actor: A) -> ActorRef<A::Message> {
        must(Builder::new().hub().spawn_in(self, actor))
    }
}

impl<A: Actor> Context<'_, A> {
    /// The actors that this one lives with: what [`Builder::spawn_in`] needs.
    #[must_use]
    pub fn actors(&self) -> Actors {
        Actors::of(self.system())
    }

    /// Spawns another actor, which lives with this one.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn spawn<B: Actor>(&self, actor: B) -> ActorRef<B::Message> {
        must(Builder::new().spawn_with(self.system(), actor))
    }

    /// Spawns a [hub](Builder::hub), which lives with this actor.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_hub<B: Actor>(&self, actor: B) -> ActorRef<B::Message> {
        must(Builder::new().hub().spawn_with(self.system(), actor))
    }
}
