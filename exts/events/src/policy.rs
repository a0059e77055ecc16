//! Policies by name, and the rules that the queues go by.

use crate::colour::Colours;

/// What an idle processor takes from others, and what the queues are made of for that.
///
/// ```
/// use fibre_events::{Events, Policy};
///
/// let events = Events::builder().processors(2).policy(Policy::MelyBase).build()?;
/// events.stop();
/// events.run();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// Nothing is stolen: each colour stays on its processor. A queue for each colour.
    Off,
    /// As in libasync-smp: one queue of events for each processor; a thief picks all events of one
    /// colour from it. Events of timers, descriptors and the like come after all that were
    /// [posted](crate::Events::post), within one colour, too. Source: Zeldovich and others,
    /// "Multiprocessor support for event-driven programs" (2003), section 3.
    Libasync,
    /// The same choice as `Libasync` over Mely's queues: one for each colour, which moves as a
    /// whole. Source: Gaud and others, "Efficient workstealing for multicore event-driven systems"
    /// (2010), sections II-B and IV.
    MelyBase,
    /// A thief takes only what is worth its while: a colour with events that take longer than the
    /// theft, and rather one that takes much longer. Source: the same, sections III-B and IV-B.
    #[default]
    TimeLeft,
}

/// How many events of one colour run in a row before it is the next one's turn (Mely, note 4).
pub(crate) const BATCH: usize = 10;

/// How many events the scheduler of `Libasync` looks at for one of the last colour. The paper says
/// "the first few".
pub(crate) const FEW: usize = 4;

/// The bounds of the three intervals of time left, in units of what a theft costs. The paper does
/// not print its own.
pub(crate) const BOUNDS: [u32; 2] = [4, 16];

/// What a theft is taken to cost before one has been measured, in nanoseconds.
pub(crate) const FIRST_COST: u64 = 1000;

/// What thieves choose by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Nothing is stolen.
    Nothing,
    /// The first colour with less than half of the events.
    Base,
    /// A colour of the highest interval.
    TimeLeft,
}

/// Everything that the queues go by.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Whether a processor has one queue of events, and not one of colours.
    pub(crate) by_event: bool,
    pub(crate) choice: Choice,
    pub(crate) batch: usize,
    pub(crate) few: usize,
    pub(crate) bounds: [u32; 2],
    /// What a theft costs, in nanoseconds; measured if `None`.
    pub(crate) cost: Option<u64>,
    pub(crate) colours: Colours,
    /// Whether all processors share one queue.
    pub(crate) shared: bool,
    /// Whether memory of colours is kept for others.
    pub(crate) pools: bool,
    /// How many colours without events each processor remembers.
    pub(crate) resting: usize,
    /// For each processor, all others from the nearest on; `None` for the paper's ring.
    pub(crate) nearest: Option<Box<[Box<[usize]>]>>,
}

impl Rules {
    /// The rules of a policy.
    #[must_use]
    pub fn of(policy: Policy) -> Self {
        let choice = match policy {
            Policy::Off => Choice::Nothing,
            Policy::Libasync | Policy::MelyBase => Choice::Base,
            Policy::TimeLeft => Choice::TimeLeft,
        };
        Self {
            by_event: policy == Policy::Libasync,
            choice,
            batch: BATCH,
            few: FEW,
            bounds: BOUNDS,
            cost: None,
            colours: Colours::Exact,
            shared: false,
            pools: true,
            resting: 1024,
            nearest: None,
        }
    }

    /// Sets the cost of a theft to so many nanoseconds.
    #[must_use]
    pub fn cost(mut self, nanoseconds: u64) -> Self {
        self.cost = Some(nanoseconds);
        self
    }

    /// Has so many colours without events remembered.
    #[must_use]
    pub fn resting(mut self, colours: usize) -> Self {
        self.resting = colours;
        self
    }

    /// Gives the order of victims for each processor.
    #[must_use]
    pub fn nearest(mut self, order: Box<[Box<[usize]>]>) -> Self {
        self.nearest = Some(order);
        self
    }

    /// Has so many events of one colour run in a row.
    #[must_use]
    pub fn batch(mut self, events: usize) -> Self {
        self.batch = events.max(1);
        self
    }

    /// Chooses the table of colours.
    #[must_use]
    pub fn colours(mut self, colours: Colours) -> Self {
        self.colours = colours;
        self
    }
}
