//! A schedule at work, in one run.

use super::priorities::Priorities;
use super::switches::{Switch, Switches};
use super::tree::Tree;
use super::{Kind, Schedule};
use crate::random::{Random, mix};
use std::collections::BTreeMap;

/// The most switches of a run that are noted. Runs with more are not made shorter.
const MOST_NOTED: usize = 100_000;

/// The most switches that are tried alone.
const MOST_FORKS: usize = 200;

/// Separates what the runtime draws from the choices among fibres: a run with other choices has the
/// same draws.
const DRAWS: u64 = 0xd1b5_4a32_d192_ed03;

/// A schedule at work.
#[derive(Debug)]
pub(crate) struct Picker {
    way: Way,
    draws: Random,
    /// The fibre that was chosen last, or has left its stack last.
    last: Option<usize>,
    /// How that has left its stack.
    left: Left,
    /// How often each fibre has left its stack, by their places in the order of their appearance.
    steps: Vec<u64>,
    /// Where the run has left the default order.
    switches: Vec<Switch>,
    /// Where it could have, the first places, if only its switches decide.
    forks: Vec<Switch>,
}

/// How the choices are made.
#[derive(Debug)]
enum Way {
    InOrder,
    Random(Random),
    ByPriority(Priorities),
    By(BTreeMap<(usize, u64), usize>),
    Tree(Tree),
}

/// How a fibre has left its stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// It has been told to give way, and could have gone on.
    Told,
    /// It has yielded by itself.
    Yielded,
    /// It waits, or has ended.
    Stopped,
}

impl Picker {
    /// The choices that follow from this seed. An exhaustive schedule makes them in order.
    pub(crate) fn seeded(schedule: Schedule, seed: u64) -> Self {
        let random = Random::new(seed);
        let way = match schedule.0 {
            Kind::InOrder => Way::InOrder,
            Kind::Random => Way::Random(random),
            Kind::Pct { depth } => Way::ByPriority(Priorities::pct(random, depth)),
            Kind::Pos => Way::ByPriority(Priorities::pos(random)),
            Kind::Exhaustive { .. } => Way::Tree(Tree::default()),
        };
        Self::new(way, seed)
    }

    /// The default order, but for these switches.
    pub(crate) fn by_switches(switches: &Switches, seed: u64) -> Self {
        Self::new(Way::By(switches.by_place()), seed)
    }

    /// The way that is walked now.
    pub(crate) fn by_tree(tree: Tree, seed: u64) -> Self {
        Self::new(Way::Tree(tree), seed)
    }

    fn new(way: Way, seed: u64) -> Self {
        Self {
            way,
            draws: Random::new(mix(seed ^ DRAWS)),
            last: None,
            left: Left::Stopped,
            steps: Vec::new(),
            switches: Vec::new(),
            forks: Vec::new(),
        }
    }

    /// The place in `ready`, which is not empty, of the fibre that goes on. Fibres are known by
    /// small numbers, in the order of their appearance.
    pub(crate) fn choose(&mut self, ready: &[usize]) -> usize {
        let default = self.default(ready);
        let place = match &mut self.way {
            _ if ready.len() < 2 => default,
            Way::InOrder => 0,
            Way::Random(random) => random.below(ready.len()),
            Way::ByPriority(priorities) => priorities.choose(ready, self.last),
            Way::By(_) => {
                self.note_forks(ready, default);
                self.switch(ready).unwrap_or(default)
            }
            Way::Tree(_) => self.branch(ready, default),
        };
        if place != default {
            self.note(ready[place]);
        }
        self.last = ready.get(place).copied();
        place
    }

    /// The place of the fibre that goes on in the default order.
    fn default(&self, ready: &[usize]) -> usize {
        let goes_on = (self.left == Left::Told).then_some(self.last).flatten();
        let place = goes_on.and_then(|last| ready.iter().position(|&fibre| fibre == last));
        place.unwrap_or(0)
    }

    /// Where the run is: the fibre that ran last, and how often it has left its stack.
    fn here(&self) -> Option<(usize, u64)> {
        let last = self.last?;
        Some((last, self.steps.get(last).copied().unwrap_or(0)))
    }

    /// The place of the fibre that is to run here, if the run leaves the default order.
    fn switch(&self, ready: &[usize]) -> Option<usize> {
        let Way::By(switches) = &self.way else {
            return None;
        };
        let to = switches.get(&self.here()?)?;
        ready.iter().position(|fibre| fibre == to)
    }

    /// The place of the fibre on the way through the tree.
    fn branch(&mut self, ready: &[usize], default: usize) -> usize {
        let (last, left) = (self.last, self.left);
        let Way::Tree(tree) = &mut self.way else {
            return default;
        };
        // One that has yielded by itself lets others go first.
        let may = |place: &usize| left != Left::Yielded || Some(ready[*place]) != last;
        let others = (0..ready.len()).filter(|place| *place != default && may(place));
        let branch = match others.clone().count() {
            0 => 0,
            others => tree.branch(others + 1, left != Left::Stopped),
        };
        let mut others = others;
        match branch {
            0 => default,
            other => others.nth(other - 1).unwrap_or(default),
        }
    }

    /// Notes that the run leaves the default order, for this fibre.
    fn note(&mut self, to: usize) {
        if let Some((from, step)) = self.here().filter(|_| self.switches.len() <= MOST_NOTED) {
            self.switches.push(Switch { from, step, to });
        }
    }

    /// Notes the switches that could be taken here.
    fn note_forks(&mut self, ready: &[usize], default: usize) {
        if let Some((from, step)) = self.here().filter(|_| self.forks.len() < MOST_FORKS) {
            let others = ready
                .iter()
                .enumerate()
                .filter(|(place, _)| *place != default);
            let forks = others.map(|(_, &to)| Switch { from, step, to });
            self.forks.extend(forks);
        }
    }

    /// The switches that the run could have taken, the first ones only.
    pub(crate) fn forks(&self) -> &[Switch] {
        &self.forks
    }

    /// This fibre has left its stack. It is the one that was chosen last, or the first one.
    pub(crate) fn left(&mut self, fibre: usize, left: Left) {
        self.last = Some(fibre);
        self.left = left;
        if self.steps.len() <= fibre {
            self.steps.resize(fibre + 1, 0);
        }
        self.steps[fibre] += 1;
        if let (Way::ByPriority(priorities), Left::Yielded) = (&mut self.way, left) {
            priorities.demote(fibre);
        }
    }

    /// A number for the runtime.
    pub(crate) fn draw(&mut self) -> u32 {
        (self.draws.next() >> 32) as u32
    }

    /// Whether the running fibre gives way at a point where others are ready. If it does, it may
    /// be chosen again at once.
    pub(crate) fn gives_way(&self) -> bool {
        !matches!(self.way, Way::InOrder)
    }

    /// Whether the running fibre leaves the default order when it gives way now.
    pub(crate) fn is_about_to_switch(&self) -> bool {
        let Way::By(switches) = &self.way else {
            return false;
        };
        // The first fibre has not been chosen.
        let (last, step) = self.here().unwrap_or((0, 0));
        switches.contains_key(&(last, step + 1))
    }

    /// The fibre that runs.
    pub(crate) fn running(&self) -> usize {
        self.last.unwrap_or(0)
    }

    /// Where the run has left the default order. `None`: too often, or it has no other one.
    pub(crate) fn switches(&self) -> Option<Switches> {
        let is_known = self.gives_way() && self.switches.len() <= MOST_NOTED;
        is_known.then(|| Switches(self.switches.clone()))
    }

    /// The tree that has been walked; an empty one if none has.
    pub(crate) fn take_tree(&mut self) -> Tree {
        match &mut self.way {
            Way::Tree(tree) => std::mem::take(tree),
            _ => Tree::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choices of a picker among three fibres that are always ready.
    fn choices_of(mut picker: Picker) -> (Vec<usize>, Option<Switches>) {
        picker.left(0, Left::Told);
        let choices = (0..200).map(|_| {
            let choice = picker.choose(&[0, 1, 2]);
            picker.left(choice, Left::Told);
            choice
        });
        (choices.collect(), picker.switches())
    }

    fn choices(schedule: Schedule, seed: u64) -> Vec<usize> {
        choices_of(Picker::seeded(schedule, seed)).0
    }

    const SEEDED: [Schedule; 3] = [Schedule::random(), Schedule::pct(3), Schedule::pos()];

    #[test]
    fn choices_follow_from_the_seed() {
        for schedule in SEEDED {
            assert_eq!(choices(schedule, 7), choices(schedule, 7));
            let all: Vec<_> = (0..20).map(|seed| choices(schedule, seed)).collect();
            assert!(all.iter().any(|choices| choices != &all[0]), "{schedule:?}");
        }
        assert_eq!(choices(Schedule::in_order(), 1), [0; 200]);
    }

    #[test]
    fn the_switches_of_a_run_repeat_it() {
        for schedule in SEEDED {
            for seed in 0..20 {
                let (choices, switches) = choices_of(Picker::seeded(schedule, seed));
                let switches = switches.expect("few enough");
                let again = choices_of(Picker::by_switches(&switches, seed));
                assert_eq!(again, (choices, Some(switches)));
            }
        }
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

    /// A fibre stands still for ten steps of others more often than in a random walk: there with
    /// two thirds to the power of ten.
    #[test]
    fn pos_lets_fibres_stand_still() {
        let stands = |schedule| {
            let stands = |seed| {
                choices(schedule, seed)[..10]
                    .iter()
                    .all(|&fibre| fibre != 2)
            };
            (0..1000).filter(|&seed| stands(seed)).count()
        };
        let (random, pos) = (stands(Schedule::random()), stands(Schedule::pos()));
        assert!(random < 40 && pos > 2 * random, "{random} {pos}");
    }

    #[test]
    fn a_fibre_that_yields_lets_others_run() {
        for schedule in [Schedule::pct(1), Schedule::pos()] {
            let mut picker = Picker::seeded(schedule, 3);
            for _ in 0..10 {
                let first = picker.choose(&[0, 1]);
                picker.left(first, Left::Yielded);
                assert_eq!(picker.choose(&[0, 1]), 1 - first);
                picker.left(1 - first, Left::Yielded);
            }
        }
    }
}
