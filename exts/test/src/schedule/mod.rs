//! Which of the ready fibres runs next.

use crate::random::Random;

/// The most powers of two that a change of priorities can be away from a run's beginning.
const REACH: usize = 14;

/// The order of the ready fibres' turns in a run.
///
/// ```
/// use fibre_test::{Schedule, Sim};
///
/// for schedule in [Schedule::in_order(), Schedule::random(), Schedule::pct(3)] {
///     Sim::builder().schedule(schedule).seeds(10).run(|_| {
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
}

impl Schedule {
    /// The order of a cluster with one processor: a fibre goes on until it waits, yields or ends,
    /// and the one runs next that has been ready for longest. The same for all seeds, but for the
    /// arm that a selection tries first. The default.
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
}

impl Default for Schedule {
    fn default() -> Self {
        Self::in_order()
    }
}

/// A schedule at work, in one run.
#[derive(Debug)]
pub(crate) struct Picker {
    schedule: Schedule,
    random: Random,
    /// Of PCT: the priorities by the fibres' places in the order of their appearance.
    priorities: Vec<i64>,
    /// Of PCT: the steps where the fibre that runs loses its priority, the last one first.
    changes: Vec<u64>,
    /// Of PCT: the lowest priority so far.
    lowest: i64,
    /// How many choices there have been.
    steps: u64,
    /// The fibre that was chosen last.
    last: Option<usize>,
}

impl Picker {
    /// The choices that follow from this seed.
    pub(crate) fn new(schedule: Schedule, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut changes = Vec::new();
        if let Kind::Pct { depth } = schedule.0 {
            let mut place = || {
                let power = 1 << random.below(REACH);
                power + random.below(power as usize) as u64
            };
            changes = (1..depth).map(|_| place()).collect();
            changes.sort_unstable_by(|one, other| other.cmp(one));
        }
        Self {
            schedule,
            random,
            priorities: Vec::new(),
            changes,
            lowest: 0,
            steps: 0,
            last: None,
        }
    }

    /// The place in `ready`, which is not empty, of the fibre that goes on. Fibres are known by
    /// small numbers, in the order of their appearance.
    pub(crate) fn choose(&mut self, ready: &[usize]) -> usize {
        let place = match self.schedule.0 {
            _ if ready.is_empty() => 0,
            Kind::InOrder => 0,
            Kind::Random => self.random.below(ready.len()),
            Kind::Pct { .. } => self.choose_by_priority(ready),
        };
        self.last = ready.get(place).copied();
        place
    }

    /// [`choose`](Self::choose) of PCT.
    fn choose_by_priority(&mut self, ready: &[usize]) -> usize {
        self.steps += 1;
        for &fibre in ready {
            while self.priorities.len() <= fibre {
                // Above all those that are given later.
                let priority = self.random.next() >> 2;
                self.priorities.push(priority as i64 + 1);
            }
        }
        while self
            .changes
            .pop_if(|change| *change <= self.steps)
            .is_some()
        {
            self.demote_last();
        }
        let priority = |&place: &usize| self.priorities[ready[place]];
        (0..ready.len()).max_by_key(priority).unwrap_or(0)
    }

    /// Puts the fibre that ran last behind all others.
    fn demote_last(&mut self) {
        if let Some(priority) = self.last.and_then(|last| self.priorities.get_mut(last)) {
            self.lowest -= 1;
            *priority = self.lowest;
        }
    }

    /// The fibre that ran last has yielded by itself.
    pub(crate) fn yielded(&mut self) {
        if matches!(self.schedule.0, Kind::Pct { .. }) {
            self.demote_last();
        }
    }

    /// A number for the runtime.
    pub(crate) fn draw(&mut self) -> u32 {
        (self.random.next() >> 32) as u32
    }

    /// Whether the running fibre gives way at a point where others are ready. If it does, it may
    /// be chosen again at once.
    pub(crate) fn gives_way(&self) -> bool {
        self.schedule.0 != Kind::InOrder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choices of a picker among three fibres that are always ready.
    fn choices(schedule: Schedule, seed: u64) -> Vec<usize> {
        let mut picker = Picker::new(schedule, seed);
        (0..200).map(|_| picker.choose(&[0, 1, 2])).collect()
    }

    #[test]
    fn choices_follow_from_the_seed() {
        for schedule in [Schedule::random(), Schedule::pct(3)] {
            assert_eq!(choices(schedule, 7), choices(schedule, 7));
            let all: Vec<_> = (0..20).map(|seed| choices(schedule, seed)).collect();
            assert!(all.iter().any(|choices| choices != &all[0]), "{schedule:?}");
        }
        assert_eq!(choices(Schedule::in_order(), 1), [0; 200]);
    }

    #[test]
    fn pct_changes_fibres_as_often_as_its_depth_says() {
        for depth in 0..5 {
            for seed in 0..100 {
                let choices = choices(Schedule::pct(depth), seed);
                let changes = choices.windows(2).filter(|pair| pair[0] != pair[1]).count();
                assert!(
                    changes <= depth.saturating_sub(1) as usize,
                    "{depth} {seed}"
                );
            }
        }
        let reaches = |seed| {
            let choices = choices(Schedule::pct(2), seed);
            choices.windows(2).any(|pair| pair[0] != pair[1])
        };
        assert!((0..100).any(reaches), "no change");
    }

    #[test]
    fn pct_lets_others_run_when_one_yields() {
        let mut picker = Picker::new(Schedule::pct(1), 3);
        let first = picker.choose(&[0, 1]);
        assert_eq!(picker.choose(&[0, 1]), first);
        picker.yielded();
        assert_eq!(picker.choose(&[0, 1]), 1 - first);
    }
}
