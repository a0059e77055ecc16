//! Every choice of a cluster as a value, and the environment variables that set defaults.
//!
//! A builder begins with [`Settings::from_environment`] and changes what its methods are called
//! for; from then on the values are fixed. A variable with an invalid value counts as not set here,
//! and is an error of the cluster (see `environment`).

use crate::choice::named_choice;
use crate::config::policy::{Placement, Revival, StealOrder, Stealing};
use crate::queue::QueueKind;
use crate::stack::{DEFAULT_STACK_SIZE, round_size};
use crate::sys::environment::environment_variable;
use crate::topology::{Places, available};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How many processors there is room for, unless the user says otherwise.
const DEFAULT_MAX_PROCESSORS: usize = 64;

/// How long an idle processor spins at most, unless the user says otherwise: about as long
/// as falling asleep and being woken take in a bad case.
const DEFAULT_SPIN: Duration = Duration::from_micros(20);

/// How long a fibre that never blocks runs, unless the user says otherwise. Much longer than a
/// switch takes, and about as long as waking another processor: a fibre that was woken by an unlock
/// waits no longer than that for its turn.
const DEFAULT_SLICE: Duration = Duration::from_micros(20);

/// For each processor the others, the nearest first.
pub(crate) type Neighbours = Arc<[Box<[usize]>]>;

/// The settings of a cluster, for its processors.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The name of the cluster.
    pub name: String,
    /// The value that a layer above chose for it; of no meaning here.
    pub above: u32,
    /// Usable bytes of stacks, unless a fibre says otherwise.
    pub stack_size: usize,
    /// The most fibres at once; `None` for as many as there is memory for.
    pub max_fibres: Option<NonZeroUsize>,
    /// Whether stacks lose what ended fibres left on them.
    pub wipe_stacks: bool,
    /// How many processors there is room for.
    pub max_processors: usize,
    /// How many spare processors there may be, if the user has chosen that.
    pub max_spare: Option<usize>,
    /// How many processors there is room for, spare ones included.
    pub slots: usize,
    /// The mechanism of the queues.
    pub queue: QueueKind,
    /// Where new fibres go.
    pub placement: Placement,
    /// Where activities go that are made ready again.
    pub revival: Revival,
    /// Which processor one without work helps first.
    pub steal_order: StealOrder,
    /// What becomes of started fibres that are stolen.
    pub stealing: Stealing,
    /// The longest spin of an idle processor; zero for none.
    pub spin: Duration,
    /// How long a fibre runs before it lets others run at a call that could block.
    pub slice: Duration,
    /// The seed of random choices; `None` for one that differs each time.
    pub seed: Option<u64>,
    /// Which processors are near each other, for [`StealOrder::Topology`], if it is known.
    pub neighbours: Option<Neighbours>,
    /// The CPUs where the processors run.
    pub places: Places,
    /// Whether all fibres that may move go through one queue.
    pub sharing: bool,
    /// Whether started fibres may move between processors. The code that runs in the cluster has to
    /// bear it, which its builder has promised.
    pub moves_started: bool,
    /// Whether each fibre has thread-locals of its own.
    pub own_thread_locals: bool,
    /// Whether fibres that move block their processors for long, and others are added to help. So
    /// even an only processor must not keep any fibre to itself.
    pub blocks: bool,
    /// Whether its fibres compute for long, so that a processor which does not switch is as it
    /// should be.
    pub computes: bool,
    /// By how much the nice value of the processors' threads is above their starter's.
    pub nice: u8,
    /// Whether each wake-up of a started fibre lands on another processor.
    pub force_migration: bool,
}

impl Settings {
    /// The defaults, as the environment has them.
    pub(crate) fn from_environment() -> Self {
        let mut settings = Self {
            name: "fibre".to_owned(),
            above: 0,
            stack_size: variable("FIBRE_STACK_SIZE")
                .map_or(DEFAULT_STACK_SIZE, |StackBytes(bytes)| round_size(bytes)),
            max_fibres: variable("FIBRE_MAX_FIBRES"),
            wipe_stacks: switch("FIBRE_WIPE_STACKS").unwrap_or(false),
            max_processors: variable("FIBRE_MAX_PROCESSORS")
                .map_or(DEFAULT_MAX_PROCESSORS, |ProcessorCount(count)| count),
            max_spare: variable("FIBRE_MAX_SPARE").map(|SpareCount(count)| count),
            slots: 0,
            queue: variable("FIBRE_QUEUE").unwrap_or_default(),
            placement: variable("FIBRE_PLACEMENT").unwrap_or_default(),
            revival: variable("FIBRE_REVIVAL").unwrap_or_default(),
            steal_order: variable("FIBRE_STEAL_ORDER").unwrap_or_default(),
            stealing: variable("FIBRE_STEALING").unwrap_or_default(),
            spin: variable("FIBRE_SPIN").map_or(DEFAULT_SPIN, Duration::from_micros),
            slice: variable("FIBRE_SLICE").map_or(DEFAULT_SLICE, Duration::from_micros),
            seed: variable("FIBRE_SEED"),
            neighbours: None,
            places: Places::default(),
            sharing: switch("FIBRE_SHARING").unwrap_or(false),
            moves_started: false,
            own_thread_locals: false,
            blocks: false,
            computes: false,
            nice: 0,
            force_migration: false,
        };
        if variable("FIBRE_THREAD_LOCALS") == Some(ThreadLocals::Own) {
            settings.own_thread_locals = true;
            settings.let_started_move();
        }
        settings
    }
}

impl Settings {
    /// Lets started fibres move, in the way that the environment asks for.
    pub(crate) fn let_started_move(&mut self) {
        let moves = Moves::from_environment();
        self.moves_started = moves != Moves::Never;
        self.force_migration |= moves == Moves::Forced;
    }

    /// Whether ordinary fibres are pushed to processors when they are new.
    #[inline]
    pub(crate) fn pushes(&self) -> bool {
        self.placement == Placement::Push && !self.sharing
    }
}

named_choice! {
    /// To what a fibre's thread-locals belong.
    #[derive(Default)]
    pub(crate) enum ThreadLocals, "a kind of thread-locals" {
        /// To the kernel thread of its processor.
        #[default]
        Shared = "shared",
        /// To the fibre.
        Own = "own",
    }
}

named_choice! {
    /// How started fibres move in a cluster, if its builder has allowed it.
    #[derive(Default)]
    pub(crate) enum Moves, "a way to move" {
        /// They do not move.
        Never = "never",
        /// They move when others steal them.
        #[default]
        Stolen = "stolen",
        /// They move at each wake-up.
        Forced = "forced",
    }
}

impl Moves {
    /// The value that the environment asks for.
    pub(crate) fn from_environment() -> Self {
        variable("FIBRE_MOVES").unwrap_or_default()
    }
}

/// A value that is 0 or 1.
pub(crate) struct ZeroOrOne(bool);

impl FromStr for ZeroOrOne {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "0" => Ok(Self(false)),
            "1" => Ok(Self(true)),
            _ => Err(()),
        }
    }
}

/// The most processors that a cluster has: fibres keep the number of the processor they stay on in
/// 16 bits.
pub(crate) const MOST_PROCESSORS: usize = u16::MAX as usize - 1;

/// The most spare processors of a cluster.
pub(crate) const MOST_SPARE: usize = 1024;

/// A number of processors that a cluster can have.
pub(crate) struct ProcessorCount(pub usize);

impl FromStr for ProcessorCount {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        within(text, 1..=MOST_PROCESSORS).map(Self)
    }
}

/// A number of spare processors that a cluster can have.
pub(crate) struct SpareCount(pub usize);

impl FromStr for SpareCount {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        within(text, 0..=MOST_SPARE).map(Self)
    }
}

/// The most that the nice value of a thread can be raised by.
pub(crate) const MOST_NICE: u8 = 19;

/// A number that the nice value of a thread is raised by.
pub(crate) struct Nice(pub u8);

impl FromStr for Nice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let nice = within(text, 0..=usize::from(MOST_NICE))?;
        u8::try_from(nice).map(Self).map_err(|_| ())
    }
}

/// A number of bytes that a stack can have, as far as addresses go.
pub(crate) struct StackBytes(pub usize);

impl FromStr for StackBytes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        within(text, 0..=1 << 46).map(Self)
    }
}

/// The number that a text says, if it is one of these.
fn within(text: &str, range: RangeInclusive<usize>) -> Result<usize, ()> {
    let number = text.parse().map_err(|_| ())?;
    range.contains(&number).then_some(number).ok_or(())
}

/// The default number of processors: min(affinity, cgroup quota), or what `FIBRE_PROCESSORS` says.
/// Nonsense there is an error of the cluster and not looked at here.
#[must_use]
pub fn default_processors() -> usize {
    variable("FIBRE_PROCESSORS").map_or_else(available, |ProcessorCount(count)| count)
}

/// The value of an environment variable that is 0 or 1, if it is set to one of these.
#[must_use]
pub fn switch(name: &str) -> Option<bool> {
    variable(name).map(|ZeroOrOne(one)| one)
}

/// The value of an environment variable, if it counts and is set to one that it can have.
#[must_use]
pub fn variable<T: FromStr>(name: &str) -> Option<T> {
    environment_variable(name)?.to_str()?.parse().ok()
}
