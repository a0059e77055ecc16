//! Which of the ready fibres runs next.
//!
//! | file | idea |
//! |---|---|
//! | `switches` | where a run leaves the default order, as a text, too |
//! | `priorities` | schedules that give priorities: PCT and POS |
//! | `tree` | all schedules within a bound of preemptions |
//! | `account` | what is said of a run's switches |
//! | `picker` | a schedule at work, in one run |
//! | `shorten` | fewer switches that fail as well |

pub(crate) mod account;
pub(crate) mod picker;
mod priorities;
pub(crate) mod shorten;
pub(crate) mod switches;
pub(crate) mod tree;

/// The order of the ready fibres' turns in a run.
///
/// ```
/// use fibre_test::{Schedule, Sim};
///
/// for schedule in [Schedule::in_order(), Schedule::random(), Schedule::pct(3), Schedule::pos()] {
///     let _ = Sim::builder().schedule(schedule).seeds(10).run(|_| {
///         assert_eq!(fibre::spawn(|| 6 * 7).join().unwrap(), 42);
///     });
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule(Kind);

/// The kinds of schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    InOrder,
    Random,
    Pct { depth: u32 },
    Pos,
    Exhaustive { preemptions: u32 },
}

impl Schedule {
    /// The order of a cluster with one processor: a fibre goes on until it waits, yields or ends,
    /// and the one runs next that has been ready for longest. The same for all seeds, but for the
    /// arm that a selection tries first, random bytes, and the chance of a network. The default.
    #[must_use]
    pub const fn in_order() -> Self {
        Self(Kind::InOrder)
    }

    /// A random walk: at each switch point any of the ready fibres goes on, each as probably as the
    /// others. It finds what needs few switches at many possible places.
    #[must_use]
    pub const fn random() -> Self {
        Self(Kind::Random)
    }

    /// Random priorities, which change at `depth - 1` random places: at each switch point the ready
    /// fibre with the highest priority goes on. It finds what needs few switches at rare places,
    /// such as one fibre that stands still while others do much. A fault of depth `d` needs `d`
    /// steps in a certain order; most need two or three. A depth of zero counts as one.
    ///
    /// A fibre that yields by itself goes behind all others, so that fibres which yield until
    /// another one has done something do not keep that from running.
    ///
    /// Source: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with
    /// probabilistic guarantees of finding bugs" (2010). How long a run will be is not known here,
    /// so places early in a run are more probable than late ones.
    #[must_use]
    pub const fn pct(depth: u32) -> Self {
        Self(Kind::Pct { depth })
    }

    /// Partial order sampling: each step of each fibre, from one switch point to the next, gets a
    /// random priority of its own, and the highest one among the ready goes on. A random walk makes
    /// a fibre with many steps late and one with few early; here orders are drawn more evenly, and
    /// a fibre may stand still for many steps of others. A fibre that yields by itself goes behind
    /// all others.
    ///
    /// Source: Yuan, Yang, Gu, "Partial order aware concurrency sampling" (2018), the variant
    /// *BasicPOS*. The full one also draws anew for steps that meet the chosen one at the same
    /// object; the runtime does not say which object a step is about.
    #[must_use]
    pub const fn pos() -> Self {
        Self(Kind::Pos)
    }

    /// Every order with at most so many preemptions, one run for each: first those without any,
    /// then those with one more, so the first failing one has as few as can be. A preemption is a
    /// switch away from a fibre that could have gone on. Where a fibre waits or ends, each of the
    /// ready ones goes on in some run. [`Report::is_complete`](crate::Report::is_complete) says
    /// whether all have been run; with [`Builder::seeds`](crate::Builder::seeds), no more than that
    /// many are.
    ///
    /// Most faults need at most two preemptions. The number of runs grows with the number of switch
    /// points to the power of `preemptions`, so tests for this are small. A fibre that yields by
    /// itself lets others go first, and another one than the next in order counts as a preemption.
    /// The arm that a selection tries first follows from the seed, as a network's chance does, and
    /// is not varied.
    ///
    /// Source: Musuvathi, Qadeer, "Iterative context bounding for systematic testing of
    /// multithreaded programs" (2007).
    ///
    /// ```
    /// use fibre::sync::Mutex;
    /// use fibre_test::{Schedule, Sim};
    ///
    /// let report = Sim::builder().schedule(Schedule::exhaustive(2)).run(|_| {
    ///     let count = Mutex::new(0);
    ///     fibre::scope(|scope| {
    ///         scope.spawn(|| *count.lock() += 1);
    ///         scope.spawn(|| *count.lock() += 1);
    ///     });
    ///     assert_eq!(*count.lock(), 2);
    /// });
    /// assert!(report.is_complete());
    /// ```
    #[must_use]
    pub const fn exhaustive(preemptions: u32) -> Self {
        Self(Kind::Exhaustive { preemptions })
    }

    /// The most preemptions of a schedule that runs all.
    pub(crate) fn preemptions(self) -> Option<u32> {
        match self.0 {
            Kind::Exhaustive { preemptions } => Some(preemptions),
            _ => None,
        }
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::in_order()
    }
}
