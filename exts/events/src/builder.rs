//! The settings of events to come.

use crate::colour::Colours;
use crate::events::Events;
use crate::lead::Lead;
use crate::policy::{Choice, Policy, Rules};
use crate::runtime::{Counts, PanicHook, Runtime};
use crate::scheduler::Scheduler;
use crate::worker;
use fibre_core::sync::{AtomicBool, AtomicU64, AtomicUsize};
use fibre_core::{Cluster, ClusterBuilder, CpuSet, Pinning, Topology};
use fibre_sync::Event;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The settings of [`Events`] to come.
///
/// ```
/// use fibre_events::{Events, Policy};
///
/// let events = Events::builder()
///     .processors(2)
///     .policy(Policy::TimeLeft)
///     .batch(10)
///     .cluster(|cluster| cluster.name("server"))
///     .build()?;
/// events.stop();
/// events.run();
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "nothing happens until `build`"]
pub struct EventsBuilder {
    cluster: ClusterBuilder,
    given: Option<Cluster>,
    policy: Policy,
    rules: Rules,
    steals: bool,
    penalties: bool,
    locality: bool,
    on_panic: Option<PanicHook>,
}

impl Events {
    /// A builder with default values, and a cluster of its own to come.
    pub fn builder() -> EventsBuilder {
        EventsBuilder::new()
    }
}

impl EventsBuilder {
    /// The defaults.
    fn new() -> Self {
        Self {
            cluster: Cluster::builder().name("events"),
            given: None,
            policy: Policy::default(),
            rules: Rules::of(Policy::default()),
            steals: true,
            penalties: true,
            locality: false,
            on_panic: None,
        }
    }

    /// How many processors the cluster has. Default: as [`ClusterBuilder::processors`].
    pub fn processors(mut self, count: usize) -> Self {
        self.cluster = self.cluster.processors(count);
        self
    }

    /// What idle processors steal. Default: [`Policy::TimeLeft`].
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        let rules = Rules::of(policy);
        self.rules.by_event = rules.by_event;
        self.rules.choice = rules.choice;
        self
    }

    /// Whether processors steal at all, over the queues that the policy has. Default: yes.
    pub fn stealing(mut self, steals: bool) -> Self {
        self.steals = steals;
        self
    }

    /// Whether [penalties](crate::Handler::penalty) of handlers count. Default: yes.
    pub fn penalties(mut self, count: bool) -> Self {
        self.penalties = count;
        self
    }

    /// Whether thieves look at the nearest processors first, by the caches that they share with
    /// them, instead of those with most events. Pins each processor of the cluster to a CPU.
    /// Default: no. Source: Mely, sections III-A and IV-B.
    pub fn locality(mut self, nearest_first: bool) -> Self {
        self.locality = nearest_first;
        self
    }

    /// How many events of one colour run in a row while other colours wait. Zero counts as one.
    /// Default: 10. `Libasync` looks for another colour after each event.
    pub fn batch(mut self, events: usize) -> Self {
        self.rules = self.rules.batch(events);
        self
    }

    /// Which colours are told apart. Default: all.
    pub fn colours(mut self, colours: Colours) -> Self {
        self.rules = self.rules.colours(colours);
        self
    }

    /// How many colours without events each processor remembers, with the processor that they were
    /// on. One more costs the one that has been without events for the longest time. Default: 1024.
    pub fn remembered(mut self, colours: usize) -> Self {
        self.rules = self.rules.resting(colours);
        self
    }

    /// What a theft is taken to cost. Default: what the quickest of a processor's last eight took.
    pub fn theft_cost(mut self, time: Duration) -> Self {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.rules = self.rules.cost(nanoseconds);
        self
    }

    /// The bounds between the three intervals of colours worth stealing, in units of what a theft
    /// costs. Default: 4 and 16.
    pub fn intervals(mut self, low: u32, high: u32) -> Self {
        self.rules.bounds = [low, high];
        self
    }

    /// How many events the scheduler of [`Policy::Libasync`] looks at for one of the colour that
    /// ran last. Default: 4.
    pub fn few(mut self, events: usize) -> Self {
        self.rules.few = events;
        self
    }

    /// Whether all processors take from one queue, as a baseline for comparisons. Default: no.
    pub fn one_queue(mut self, shared: bool) -> Self {
        self.rules.shared = shared;
        self
    }

    /// Whether memory of colours that are gone is kept for others. Default: yes; no is for
    /// comparisons.
    pub fn free_lists(mut self, keep: bool) -> Self {
        self.rules.pools = keep;
        self
    }

    /// What is called with the payload of a handler's panic, after the panic hook; on the stack of
    /// the handler. Default: nothing. Its own panics are dropped.
    pub fn on_panic(mut self, hook: impl Fn(&(dyn Any + Send)) + Send + Sync + 'static) -> Self {
        self.on_panic = Some(Box::new(hook));
        self
    }

    /// Changes other settings of the cluster.
    pub fn cluster(mut self, change: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Self {
        self.cluster = change(self.cluster);
        self
    }

    /// Runs the events in a cluster that is there already, among its other fibres. Stopping them
    /// does not stop the cluster, and what is chosen for a cluster to come counts for nothing.
    ///
    /// Stopping the cluster [stops](Events::stop) the events first; events that were never started
    /// are dropped then. So the cluster need not wait for them.
    pub fn within(mut self, cluster: &Cluster) -> Self {
        self.given = Some(cluster.clone());
        self
    }

    /// Starts the cluster; events wait for [`Events::start`] or [`Events::run`].
    ///
    /// # Errors
    ///
    /// As [`ClusterBuilder::build`]; when there is no fibre for each processor; for `locality` in a
    /// cluster that is there already, as its processors' CPUs are not known.
    pub fn build(mut self) -> io::Result<Events> {
        if !self.steals {
            self.rules.choice = Choice::Nothing;
        }
        let places = self.places()?;
        if let Some(places) = &places {
            self.cluster = self.cluster.pin(Pinning::Sets(places.clone()));
        }
        let owns_cluster = self.given.is_none();
        let cluster = match self.given {
            Some(cluster) => cluster,
            None => self.cluster.build()?,
        };
        let processors = cluster.processors();
        if let Some(places) = places {
            let all = places.into_iter().cycle().take(processors);
            let all: Vec<CpuSet> = all.collect();
            self.rules.nearest = Some(Topology::of_machine().victims(&all));
        }
        let runtime = Arc::new(Runtime {
            scheduler: Scheduler::new(processors, self.rules),
            leads: (0..processors).map(|_| Lead::new()).collect(),
            counts: (0..processors).map(|_| Counts::default()).collect(),
            cluster,
            penalties: self.penalties,
            on_panic: self.on_panic,
            is_stopping: AtomicBool::new(false),
            drops: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            opened: Event::new(),
            released: AtomicUsize::new(0),
            alive: AtomicUsize::new(0),
            ended: Event::new(),
        });
        let events = Events::of(Arc::clone(&runtime), owns_cluster);
        events.live_in_cluster()?;
        for (processor, lead) in runtime.leads.iter().enumerate() {
            worker::start(&runtime, processor, lead.member())?;
        }
        Ok(events)
    }

    /// A CPU for each processor, if that matters.
    fn places(&self) -> io::Result<Option<Vec<CpuSet>>> {
        if !self.locality {
            return Ok(None);
        }
        if self.given.is_some() {
            let words = "the processors' CPUs are not known, so none is near";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        let cpus = CpuSet::of_thread()?;
        let one = |cpu| std::iter::once(cpu).collect();
        Ok(Some(cpus.iter().map(one).collect()))
    }
}

impl fmt::Debug for EventsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventsBuilder")
            .field("policy", &self.policy)
            .field("rules", &self.rules)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}
