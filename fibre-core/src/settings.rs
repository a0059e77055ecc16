//! Every choice of a cluster as a value, and the environment variables that set defaults.
//!
//! A builder begins with [`Settings::from_environment`] and changes what its methods are
//! called for; from then on the values are fixed. A variable that is set to nonsense is an
//! error with a clear word, never ignored.

use crate::policy::{Placement, StealOrder, Stealing};
use crate::queue::QueueKind;
use crate::stack::{DEFAULT_STACK_SIZE, round_size};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Room for so many processors, unless the user says otherwise.
const DEFAULT_MAX_PROCESSORS: usize = 64;

/// How long an idle processor spins at most, unless the user says otherwise: about as long
/// as falling asleep and being woken take in a bad case.
const DEFAULT_SPIN: Duration = Duration::from_micros(20);

/// How long a fibre runs that never blocks, unless the user says otherwise. Much longer than a
/// switch takes, and about as long as waking another processor: who was woken by an unlock waits
/// no longer than that for its turn.
const DEFAULT_SLICE: Duration = Duration::from_micros(20);

/// For each processor the others, the nearest first.
pub type Neighbours = Arc<[Box<[usize]>]>;

/// What the processors of a cluster have to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What the cluster is called.
    pub name: String,
    /// What a layer above chose for it; of no meaning here.
    pub above: u32,
    /// Usable bytes of stacks, unless a fibre says otherwise.
    pub stack_size: usize,
    /// The most fibres at once; `None` for as many as there is memory for.
    pub max_fibres: Option<NonZeroUsize>,
    /// Whether stacks lose what ended fibres left on them.
    pub wipe_stacks: bool,
    /// How many processors there is room for.
    pub max_processors: usize,
    /// What queues are made of.
    pub queue: QueueKind,
    /// Where new fibres go.
    pub placement: Placement,
    /// Whom a processor without work helps first.
    pub steal_order: StealOrder,
    /// What becomes of started fibres that are stolen.
    pub stealing: Stealing,
    /// The longest spin of an idle processor; zero for none.
    pub spin: Duration,
    /// How long a fibre runs before it lets others run at a call that could block.
    pub slice: Duration,
    /// What random choices follow from; `None` for something that differs each time.
    pub seed: Option<u64>,
    /// Who is near whom, for [`StealOrder::Topology`], if it is known.
    pub neighbours: Option<Neighbours>,
    /// How many CPUs the processors are pinned to, if they are.
    pub pinned_to: Option<usize>,
    /// Whether all fibres that may move go through one queue.
    pub sharing: bool,
    /// Whether started fibres may move between processors. Code that runs in the cluster
    /// has to bear it, which its builder has promised.
    pub moves_started: bool,
    /// Whether fibres that move block their processors for long, to whose help others are added: so even while there is one
    /// it must not have any fibre for itself.
    pub blocks: bool,
    /// Whether each wake-up of a started fibre lands on another processor.
    pub force_migration: bool,
}

impl Settings {
    /// The defaults, as the environment has them.
    ///
    /// # Panics
    ///
    /// If a variable is set to something that it cannot mean.
    pub fn from_environment() -> Self {
        Self {
            name: "fibre".to_owned(),
            above: 0,
            stack_size: variable("FIBRE_STACK_SIZE", "a number of bytes")
                .map_or(DEFAULT_STACK_SIZE, round_size),
            max_fibres: variable("FIBRE_MAX_FIBRES", "a positive number"),
            wipe_stacks: switch("FIBRE_WIPE_STACKS").unwrap_or(false),
            max_processors: variable("FIBRE_MAX_PROCESSORS", "a positive number")
                .map_or(DEFAULT_MAX_PROCESSORS, NonZeroUsize::get),
            queue: policy("FIBRE_QUEUE"),
            placement: policy("FIBRE_PLACEMENT"),
            steal_order: policy("FIBRE_STEAL_ORDER"),
            stealing: policy("FIBRE_STEALING"),
            spin: variable("FIBRE_SPIN", "a number of microseconds")
                .map_or(DEFAULT_SPIN, Duration::from_micros),
            slice: variable("FIBRE_SLICE", "a number of microseconds")
                .map_or(DEFAULT_SLICE, Duration::from_micros),
            seed: variable("FIBRE_SEED", "a number"),
            neighbours: None,
            pinned_to: None,
            sharing: switch("FIBRE_SHARING").unwrap_or(false),
            moves_started: false,
            blocks: false,
            force_migration: false,
        }
    }
}

impl Settings {
    /// Whether ordinary fibres are pushed to processors when they are new.
    #[inline]
    pub fn pushes(&self) -> bool {
        self.placement == Placement::Push && !self.sharing
    }
}

/// How started fibres move in a cluster whose builder has allowed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// Not at all.
    Never,
    /// When others steal them.
    Stolen,
    /// At each wake-up.
    Forced,
}

impl Moves {
    /// What the environment asks for.
    ///
    /// # Panics
    ///
    /// If it is nonsense.
    pub fn from_environment() -> Self {
        variable("FIBRE_MOVES", "never, stolen or forced").unwrap_or(Self::Stolen)
    }
}

impl FromStr for Moves {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "never" => Ok(Self::Never),
            "stolen" => Ok(Self::Stolen),
            "forced" => Ok(Self::Forced),
            _ => Err(()),
        }
    }
}

/// A value that is 0 or 1.
struct Switch(bool);

impl FromStr for Switch {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "0" => Ok(Self(false)),
            "1" => Ok(Self(true)),
            _ => Err(()),
        }
    }
}

/// The policy that an environment variable names, or the default one.
///
/// # Panics
///
/// If it names none.
fn policy<T>(name: &str) -> T
where
    T: FromStr + Default,
    T::Err: fmt::Display,
{
    let Some(text) = std::env::var_os(name) else {
        return T::default();
    };
    match text.to_string_lossy().parse() {
        Ok(value) => value,
        Err(error) => panic!("{name}: {error}, not {text:?}"),
    }
}

/// How an environment variable that is 0 or 1 stands, if it is set.
///
/// # Panics
///
/// If it is something else.
pub fn switch(name: &str) -> Option<bool> {
    variable(name, "0 or 1").map(|Switch(on)| on)
}

/// The value of an environment variable, if it is set; `wanted` says what it must be.
///
/// # Panics
///
/// If it is something else.
pub fn variable<T: FromStr>(name: &str, wanted: &str) -> Option<T> {
    let text = std::env::var_os(name)?;
    match text.to_str().map(str::parse) {
        Some(Ok(value)) => Some(value),
        _ => panic!("{name} must be {wanted}, not {text:?}"),
    }
}
