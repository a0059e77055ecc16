//! The run loop of clusters under test, where a [`Director`] decides.
//!
//! It differs from the others in two places. Before each switch the director chooses among all that
//! is ready: what it does not choose goes back into the queue, so that whoever else looks there
//! (dumps, orders of handles) sees it. And when nothing is ready the director is asked before the
//! processor sleeps. A deadline fires before the next switch once the clock shows it: the next
//! service, when it fires elsewhere, comes by counts that depend on the machine.

use super::hooked::reason_of;
use super::next_fibre::NextRun;
use super::run_loop::TraceSink;
use super::{Next, Processor};
use crate::fibre::director::{Director, IdleAction};
use crate::queue::Runnable;
use crate::stack::context::Action;
use crate::wait::timer::BATCH;
use std::time::Instant;

/// Tells the director when fibres leave their stacks, and another recorder of all.
struct Directed<'a, R> {
    director: &'a dyn Director,
    inner: &'a R,
}

impl<R: TraceSink> TraceSink for Directed<'_, R> {
    type Kind = R::Kind;
    const IS_SILENT: bool = false;

    fn resumes(&self, fibre: &mut Runnable) {
        self.inner.resumes(fibre);
    }

    fn enters(&self, fibre: &Runnable) {
        self.inner.enters(fibre);
    }

    fn left(&self, fibre: &Runnable, action: Action) {
        let waits = matches!(action, Action::Park | Action::ParkAtHome);
        let awaited = waits.then(|| fibre.block().wait_slot.awaited()).flatten();
        // The panic hook of a fibre that is held waits, and nobody runs meanwhile.
        if action != Action::Hold {
            self.director.left(fibre.id(), reason_of(action), awaited);
        }
        self.inner.left(fibre, action);
    }

    fn number_of(&self, fibre: &Runnable) -> u64 {
        self.inner.number_of(fibre)
    }

    fn woken_early(&self, number: u64, woken: bool) -> bool {
        self.inner.woken_early(number, woken)
    }

    fn succeeds(&self, successor: &Runnable) {
        self.inner.succeeds(successor);
    }
}

/// The fibres that a director chooses from: they are here only during the choice.
#[derive(Default)]
struct Choice {
    ready: Vec<Runnable>,
    numbers: Vec<u64>,
}

impl Processor {
    /// The run loop of a processor in a cluster under test, with what records events.
    pub(super) fn run_by(&self, director: &dyn Director, inner: &impl TraceSink) {
        let recorder = Directed { director, inner };
        let mut choice = Choice::default();
        loop {
            let successor = self.take_successor();
            if let Some(successor) = &successor {
                recorder.succeeds(successor);
            }
            // Its spawner has been promised that a new one runs at once.
            let is_fixed = successor.as_ref().is_some_and(|it| !it.has_started());
            let Some(first) = successor.or_else(|| self.next_by(director)) else {
                return;
            };
            choice.ready.push(first);
            if !is_fixed {
                // SAFETY: between two fibres.
                let others = std::iter::from_fn(|| unsafe { self.own().pop() });
                choice.ready.extend(others);
            }
            let fibre = self.choose(director, &mut choice);
            let chosen = self.execute(NextRun::by_the_loop(fibre), &recorder);
            debug_assert!(chosen.is_none(), "these fibres are no threads");
        }
    }

    /// [`next`](Self::next), where the director is asked before the processor sleeps.
    fn next_by(&self, director: &dyn Director) -> Option<Runnable> {
        loop {
            if self.own().has_foreign() {
                director.woken_from_outside();
            }
            self.fire_all_due();
            let next = match self.find_work() {
                Next::Again if self.is_left_alone() => {
                    match director.nothing_ready(self.timers.next()) {
                        IdleAction::Looks => Next::Again,
                        IdleAction::Sleeps => self.go_idle(),
                    }
                }
                Next::Again => self.go_idle(),
                other => other,
            };
            match next {
                Next::Run(fibre) => {
                    self.note_work();
                    return Some(fibre);
                }
                Next::Again => {}
                Next::End => return None,
            }
        }
    }

    /// Whether nothing is ready, and no handle wants something.
    fn is_left_alone(&self) -> bool {
        self.own().is_empty()
            && !self.domain.shared_queues.has_work()
            && !self.domain.control.is_any()
    }

    /// Wakes all fibres that have reached their deadlines.
    fn fire_all_due(&self) {
        if let Some(next) = self.timers.next() {
            let now = Instant::now();
            if next <= now {
                while self.timers.fire(now, BATCH) {}
            }
        }
    }

    /// Lets the director choose, and queues the fibres that it has not chosen.
    fn choose(&self, director: &dyn Director, choice: &mut Choice) -> Runnable {
        let Choice { ready, numbers } = choice;
        numbers.clear();
        numbers.extend(ready.iter().map(Runnable::id));
        let place = director.choose(numbers).min(ready.len() - 1);
        let chosen = ready.remove(place);
        ready
            .drain(..)
            .for_each(|other| self.own().push_local(other));
        chosen
    }

    /// What the director, if there is one, says about the running fibre's giving way at this point.
    pub(super) fn gives_way(&self) -> Option<bool> {
        let director = self.domain.hooks.director()?;
        self.slices.run.restart();
        Some(!self.own().is_empty() && director.gives_way())
    }
}

/// Calls `f` with the director of the cluster that this thread is a processor of. `None`: it is no
/// processor's, or nothing decides for the cluster.
#[must_use]
pub fn with_director<R>(f: impl FnOnce(&dyn Director) -> R) -> Option<R> {
    Processor::here(|here| here.domain.hooks.director().map(|director| f(&**director))).flatten()
}
