//! Actors that live together, and are stopped together.

use crate::policy::Policy;
use crate::registry::Member;
use crate::system::{BATCH, System};
use fibre_core::{Cluster, ClusterBuilder};
use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many actors a report names.
const NAMED: usize = 16;

/// Actors that live in one cluster, and are stopped together. Clones are the same.
///
/// ```
/// use fibre_actors::{Actor, Actors, Context, Policy};
///
/// struct Echo;
/// impl Actor for Echo {
///     type Message = &'static str;
///     fn handle(&mut self, text: &'static str, _: &mut Context<'_, Self>) {
///         println!("{text}");
///     }
/// }
///
/// let actors = Actors::builder().processors(2).build()?;
/// let echo = actors.spawn(Echo);
/// echo.send("hello").unwrap();
/// actors.stop(); // what is in mailboxes is handled before
/// assert!(echo.send("too late").is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Actors(Arc<System>);

impl Actors {
    /// A builder with default values, and a cluster of its own to come.
    pub fn builder() -> ActorsBuilder {
        ActorsBuilder {
            cluster: Cluster::builder().name("actors"),
            policy: None,
            batch: BATCH,
        }
    }

    /// Actors that live in a cluster that is there already, among its other fibres. Stopping them
    /// does not stop the cluster. Stopping the cluster cancels their timers first; what is in
    /// mailboxes is handled, and in the end actors that are idle are dropped, without a call of
    /// their `stopped`.
    #[must_use]
    pub fn within(cluster: &Cluster) -> Self {
        Self(System::new(cluster.clone(), false, BATCH))
    }

    /// The actors of this system.
    pub(crate) fn of(system: &Arc<System>) -> Self {
        Self(Arc::clone(system))
    }

    /// What they share.
    pub(crate) fn system(&self) -> &Arc<System> {
        &self.0
    }

    /// How many of them there are: have been spawned, and have not ended. Zero for actors that were
    /// spawned without an `Actors`, which nobody counts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0
            .registry
            .as_ref()
            .map_or(0, |registry| registry.len())
    }

    /// Whether there are none, or nobody counts them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cluster that they live in; `None` for actors that were spawned without an `Actors`.
    #[must_use]
    pub fn cluster(&self) -> Option<&Cluster> {
        self.0.cluster()
    }

    /// Stops all actors, and waits until they have ended: no more messages are accepted, those that
    /// are in mailboxes are handled, timers are cancelled, and each actor's `stopped` is called. An
    /// actor that is spawned meanwhile starts and ends. Then a cluster that was made for them is
    /// stopped, too. Blocks the fibre (of another cluster), or the thread if the caller is not a
    /// fibre.
    ///
    /// # Panics
    ///
    /// If called by one of these actors, or by a fibre of the cluster that was made for them: it
    /// would wait for itself. And for actors that were spawned without an `Actors`.
    pub fn stop(self) {
        self.refuse_to_stop();
        self.close();
        let _ = self.is_empty_by(None);
        if let (true, Some(cluster)) = (self.0.owns_cluster, self.cluster()) {
            cluster.clone().stop();
        }
    }

    /// Stops all actors in two steps and a third, come what may. It *closes* them, as
    /// [`stop`](Self::stop) does, and waits for a while; then it
    /// [*kills*](crate::ActorRef::kill) those that are left, and waits for another while; then it
    /// *abandons* them: they never run again, are not dropped, and others see them as ended. A
    /// cluster that was made for them is stopped before that, within the second limit again. This
    /// *unwinds* methods that wait (see [`Cluster::stop_within`]): the actor is dropped, its
    /// [`stopped`](crate::Actor::stopped) is not called, and it has ended with
    /// [`ClusterStopped`](crate::ExitReason::ClusterStopped).
    ///
    /// ```
    /// use fibre_actors::{Actor, Actors, Context};
    /// use std::time::Duration;
    ///
    /// struct Sleeper;
    /// impl Actor for Sleeper {
    ///     type Message = Duration;
    ///     fn handle(&mut self, time: Duration, _: &mut Context<'_, Self>) {
    ///         let _ = fibre::sleep_within(time);
    ///     }
    /// }
    ///
    /// let actors = Actors::builder().processors(1).build()?;
    /// actors.spawn(Sleeper).send(Duration::from_secs(3600)).unwrap();
    /// actors.stop_within(Duration::from_millis(1), Duration::from_secs(60))?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StopError`], with what was left behind.
    ///
    /// # Panics
    ///
    /// As [`stop`](Self::stop).
    pub fn stop_within(self, close: Duration, kill: Duration) -> Result<(), StopError> {
        self.refuse_to_stop();
        self.close();
        let after = |time| Instant::now().checked_add(time);
        if !self.is_empty_by(after(close)) {
            self.for_each(|member| member.kill());
            let _ = self.is_empty_by(after(kill));
        }
        let mut fibres = None;
        if let (true, Some(cluster)) = (self.0.owns_cluster, self.cluster()) {
            let left = cluster.clone().stop_within(Duration::ZERO, kill);
            fibres = left.err();
        }
        let mut actors = Vec::new();
        self.for_each(|member| {
            actors.push(LeftActor {
                id: member.id(),
                name: member.name(),
            });
        });
        self.for_each(|member| member.abandon());
        match (actors.is_empty(), &fibres) {
            (true, None) => Ok(()),
            _ => Err(StopError { actors, fibres }),
        }
    }

    /// Panics if the actors cannot be stopped, or not by the caller.
    fn refuse_to_stop(&self) {
        assert!(
            self.0.registry.is_some(),
            "actors that were spawned without an `Actors` are stopped one by one"
        );
        let inside = self.cluster().is_some_and(Cluster::is_callers);
        assert!(
            !(inside && self.0.owns_cluster),
            "actors cannot be stopped by one of them"
        );
        let Some(caller) = fibre_core::id().filter(|_| inside) else {
            return;
        };
        let mut by_one_of_them = false;
        self.for_each(|member| by_one_of_them |= member.id() == caller);
        assert!(!by_one_of_them, "actors cannot be stopped by one of them");
    }

    /// Closes all, and those that will be spawned.
    fn close(&self) {
        if let Some(registry) = &self.0.registry {
            registry.begin_to_stop();
        }
        self.for_each(|member| member.close());
    }

    /// Waits until none is left, until `deadline` at most.
    fn is_empty_by(&self, deadline: Option<Instant>) -> bool {
        let registry = self.0.registry.as_ref();
        registry.is_none_or(|registry| registry.wait_until_empty(deadline))
    }

    /// Looks at all of them.
    fn for_each(&self, look: impl FnMut(&dyn Member)) {
        if let Some(registry) = &self.0.registry {
            registry.for_each(look);
        }
    }
}

impl fmt::Debug for Actors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actors")
            .field("cluster", &self.cluster())
            .field("actors", &self.len())
            .finish_non_exhaustive()
    }
}

/// The settings of [`Actors`] to come.
///
/// ```
/// use fibre_actors::Actors;
///
/// let actors = Actors::builder()
///     .processors(2)
///     .batch(50)
///     .cluster(|cluster| cluster.name("trade"))
///     .build()?;
/// actors.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing happens until `build`"]
pub struct ActorsBuilder {
    cluster: ClusterBuilder,
    policy: Option<Policy>,
    batch: u32,
}

impl ActorsBuilder {
    /// How actors are scheduled. Default: as the cluster's other fibres, by its defaults and the
    /// environment.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// How many processors the cluster has. Default: as [`ClusterBuilder::processors`].
    pub fn processors(mut self, count: usize) -> Self {
        self.cluster = self.cluster.processors(count);
        self
    }

    /// How many messages an actor handles before it is another's turn. Zero counts as one. Default:
    /// 10.
    pub fn batch(mut self, messages: u32) -> Self {
        self.batch = messages;
        self
    }

    /// Changes other settings of the cluster. A [`policy`](Self::policy) comes after it.
    pub fn cluster(mut self, change: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Self {
        self.cluster = change(self.cluster);
        self
    }

    /// Starts the cluster, without actors.
    ///
    /// # Errors
    ///
    /// As [`ClusterBuilder::build`].
    pub fn build(self) -> io::Result<Actors> {
        let cluster = match self.policy {
            Some(policy) => policy.apply(self.cluster),
            None => self.cluster,
        };
        let cluster = cluster.build()?;
        Ok(Actors(System::new(cluster, true, self.batch)))
    }
}

/// An actor that was left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftActor {
    /// Its number.
    pub id: u64,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// What actors that were stopped within limits have left behind. See [`Actors::stop_within`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopError {
    /// Actors that had not ended when the limits had passed.
    pub actors: Vec<LeftActor>,
    /// What their cluster has left behind, if it was stopped, too.
    pub fibres: Option<fibre_core::StopError>,
}

impl fmt::Display for StopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} actors were left behind", self.actors.len())?;
        let mut before = ": ";
        for actor in self.actors.iter().take(NAMED) {
            write!(f, "{before}{}", actor.id)?;
            if let Some(name) = &actor.name {
                write!(f, " ({name:?})")?;
            }
            before = ", ";
        }
        if self.actors.len() > NAMED {
            f.write_str(" and others")?;
        }
        match &self.fibres {
            Some(fibres) => write!(f, "; {fibres}"),
            None => Ok(()),
        }
    }
}

impl Error for StopError {}

impl From<StopError> for io::Error {
    fn from(error: StopError) -> Self {
        Self::new(io::ErrorKind::TimedOut, error)
    }
}
