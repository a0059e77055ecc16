//! Schedules where the ready fibre with the highest priority goes on: PCT and POS.

use crate::random::Random;

/// The most powers of two that a change of priorities can be away from a run's beginning.
const REACH: usize = 14;

/// The priorities of the fibres of a run.
#[derive(Debug)]
pub(super) struct Priorities {
    random: Random,
    /// By the fibres' places in the order of their appearance. `None`: to be drawn.
    priorities: Vec<Option<i64>>,
    /// The steps where the fibre that runs loses its priority, the last one first.
    changes: Vec<u64>,
    /// Whether a step uses up its priority, as in POS.
    for_a_step: bool,
    /// The lowest priority so far.
    lowest: i64,
    /// How many choices there have been.
    steps: u64,
}

impl Priorities {
    /// The priorities of PCT, with this depth.
    pub(super) fn pct(mut random: Random, depth: u32) -> Self {
        let mut place = || {
            let power = 1 << random.below(REACH);
            power + random.below(power as usize) as u64
        };
        let mut changes: Vec<_> = (1..depth).map(|_| place()).collect();
        changes.sort_unstable_by(|one, other| other.cmp(one));
        Self {
            changes,
            ..Self::pos(random)
        }
        .kept()
    }

    /// The priorities of POS.
    pub(super) fn pos(random: Random) -> Self {
        Self {
            random,
            priorities: Vec::new(),
            changes: Vec::new(),
            for_a_step: true,
            lowest: 0,
            steps: 0,
        }
    }

    /// Lets fibres keep their priorities.
    fn kept(self) -> Self {
        Self {
            for_a_step: false,
            ..self
        }
    }

    /// The place in `ready`, which is not empty, of the fibre that goes on.
    pub(super) fn choose(&mut self, ready: &[usize], last: Option<usize>) -> usize {
        self.steps += 1;
        for &fibre in ready {
            self.draw_for(fibre);
        }
        while self
            .changes
            .pop_if(|change| *change <= self.steps)
            .is_some()
        {
            last.into_iter().for_each(|last| self.demote(last));
        }
        let priority = |&place: &usize| self.priorities[ready[place]];
        let place = (0..ready.len()).max_by_key(priority).unwrap_or(0);
        if self.for_a_step {
            self.priorities[ready[place]] = None;
        }
        place
    }

    /// Gives a priority to a fibre without one.
    fn draw_for(&mut self, fibre: usize) {
        if self.priorities.len() <= fibre {
            self.priorities.resize(fibre + 1, None);
        }
        let random = &mut self.random;
        // Above all those that are given to fibres that yield.
        self.priorities[fibre].get_or_insert_with(|| (random.next() >> 2) as i64 + 1);
    }

    /// Puts a fibre behind all others.
    pub(super) fn demote(&mut self, fibre: usize) {
        self.draw_for(fibre);
        self.lowest -= 1;
        self.priorities[fibre] = Some(self.lowest);
    }
}
