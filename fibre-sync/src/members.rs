//! The member list of a group: its fibres, their results, and the first failure.
//!
//! All of it is under one short lock, with one list of callers that wait for something to end. A
//! fibre is entered before it starts; its result is kept before the fibre is counted down, which
//! happens once. So a caller that finds no fibre running finds every result.
//!
//! A caller that has gathered what it wants *settles* the group when it takes the last result, in
//! one step: from then on no fibre is entered, and the failures of fibres are consequences. So a
//! group has either settled or failed first. What its body does afterwards counts as ever.
//!
//! Each end wakes all waiting callers, usually only the group's body. The user's values are dropped
//! outside of the lock.

use crate::faults;
use crate::selection::{ListArm, Listed};
use crate::wait_list::{ListWait, Locked, WaitList};
use fibre_core::internal::{Outcome, Unwind, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitKind, WaitObject};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};

/// Why a group fails.
#[derive(Debug)]
pub enum Failure<E> {
    /// A fibre, or the body, has returned an error.
    Error(E),
    /// A fibre has panicked.
    Panicked(Box<dyn Any + Send>),
    /// The time is over.
    TimedOut,
    /// Somebody has cancelled the group, or the caller.
    Cancelled,
}

/// Fibres are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished;

/// How a gathering has ended.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathered {
    /// What was wanted is there.
    Enough,
    /// So few fibres are left that it cannot come.
    TooFew,
    /// The group has failed.
    Failed,
    /// The limit came first.
    Over,
}

/// What a caller gathers.
struct Goal<T> {
    /// How many results that count; `None` for all results.
    wanted: Option<usize>,
    /// Whether a result counts.
    counts: fn(&T) -> bool,
}

impl<T> Goal<T> {
    /// How the gathering ends, if it does.
    fn end<E>(&self, state: &State<T, E>) -> Option<Gathered> {
        if state.failed {
            return Some(Gathered::Failed);
        }
        let (there, running) = (state.results.len(), state.running);
        let Some(wanted) = self.wanted else {
            return (running == 0).then_some(Gathered::Enough);
        };
        // Most looks need not count.
        if there < wanted && running >= wanted {
            return None;
        }
        let counts = |result: &&T| (self.counts)(result);
        match state.results.values().filter(counts).count() {
            good if good >= wanted => Some(Gathered::Enough),
            good if good + running < wanted => Some(Gathered::TooFew),
            _ => None,
        }
    }

    /// Takes the results in the order of ends: as many as are wanted, with those in between that do
    /// not count, or all that are there.
    fn take<E>(&self, state: &mut State<T, E>) -> Vec<T> {
        let (mut taken, mut good) = (Vec::new(), 0);
        while self.wanted.is_none_or(|wanted| good < wanted)
            && let Some(result) = state.take_any()
        {
            good += usize::from((self.counts)(&result));
            taken.push(result);
        }
        taken
    }
}

/// The member list.
#[derive(Debug)]
pub struct Members<T, E> {
    state: Locked<State<T, E>>,
    /// How many fibres may run at once.
    most: usize,
}

/// What the lock protects.
#[derive(Debug)]
pub(crate) struct State<T, E> {
    /// How many fibres have been entered, and have not ended.
    running: usize,
    /// How many fibres with a result have been entered: the number of the next one.
    entered: u64,
    /// Results that have not been taken, by the number of their fibre.
    results: BTreeMap<u64, T>,
    /// The numbers of fibres in the order they ended. Those of results that were taken in another
    /// order are passed over.
    order: VecDeque<u64>,
    /// The number of the fibre with the next result in the order of starts.
    next: u64,
    /// Whether it has failed. Stays when the failure is taken.
    failed: bool,
    /// Whether it has settled.
    settled: bool,
    /// The first failure.
    failure: Option<Failure<E>>,
    /// The callers that wait for something to end.
    waiting: WaitList,
}

impl<T, E> State<T, E> {
    /// Takes the result of the fibre that ended first.
    fn take_first(&mut self) -> Option<T> {
        let results = &mut self.results;
        std::iter::from_fn(|| self.order.pop_front()).find_map(|number| results.remove(&number))
    }

    /// Takes a result: that of the fibre that ended first, as far as that is known.
    fn take_any(&mut self) -> Option<T> {
        let first = self.take_first();
        // A caller that takes results in the order of starts forgets the other one.
        first.or_else(|| self.results.pop_first().map(|(_, result)| result))
    }

    /// Takes the result of the fibre that was started first.
    fn take_next(&mut self) -> Option<T> {
        let result = self.results.remove(&self.next);
        if result.is_some() {
            self.next += 1;
            // Nobody asks for the other order.
            self.order.clear();
        }
        result
    }
}

impl<T, E> Members<T, E> {
    /// Members, at most so many fibres at once.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            state: Locked::new(State {
                running: 0,
                entered: 0,
                results: BTreeMap::new(),
                order: VecDeque::new(),
                next: 0,
                failed: false,
                settled: false,
                failure: None,
                waiting: WaitList::new(),
            }),
            most,
        }
    }

    /// Enters a fibre, and returns its number among those with a result. Blocks the fibre (or
    /// thread) while there are as many as there may be. `None`: the group has failed.
    pub fn enter(&self, has_result: bool) -> Option<u64> {
        let enters = |state: &mut State<T, E>| match state.running < self.most {
            _ if state.failed || state.settled => Some(None),
            false => None,
            true => {
                let number = state.entered;
                state.running += 1;
                state.entered += u64::from(has_result);
                Some(Some(number))
            }
        };
        self.wait_until(Limit::None, enters).flatten()
    }

    /// Keeps the result of the fibre with this number, which has not been counted down.
    pub fn keep(&self, number: u64, result: T) {
        if planted(faults::group::COUNTS_DOWN_BEFORE_IT_KEEPS) {
            self.ended();
        }
        let mut state = self.state.lock();
        let superfluous = match state.failed {
            true => Some(result),
            false => {
                state.order.push_back(number);
                state.results.insert(number, result)
            }
        };
        drop(state);
        drop(superfluous);
    }

    /// Keeps the result of a fibre that was entered without one, as if it had been started now. It
    /// has not been counted down.
    pub fn keep_unasked(&self, result: T) {
        let number = {
            let mut state = self.state.lock();
            let number = state.entered;
            state.entered += 1;
            number
        };
        self.keep(number, result);
    }

    /// Wakes all that wait, as something has changed that they look at.
    pub fn tell(&self) {
        let all = self.state.lock().waiting.claim_all(0);
        all.resume();
    }

    /// Waits until `look` finds something, or the group has failed (`None`). Blocks the fibre (or
    /// thread).
    pub fn wait_for<R>(&self, mut look: impl FnMut() -> Option<R>) -> Option<R> {
        let look = |state: &mut State<T, E>| match look() {
            None if state.failed => Some(None),
            None => None,
            found => Some(found),
        };
        self.wait_until(Limit::None, look).flatten()
    }

    /// Counts down a fibre, which has ended.
    pub fn ended(&self) {
        let mut state = self.state.lock();
        state.running = state.running.saturating_sub(1);
        let all = state.waiting.claim_all(0);
        drop(state);
        all.resume();
    }

    /// Notes the failure of a fibre, unless the group has failed or settled, and drops the results
    /// that nobody will take. The first panic of a destructor goes on when all are gone. Returns
    /// a failure that does not count.
    pub fn fail(&self, failure: Failure<E>) -> Option<Failure<E>> {
        self.fail_if(failure, |state| !state.settled)
    }

    /// Notes a failure of the body, or one that somebody has asked for, unless the group has
    /// failed. Otherwise as [`fail`](Self::fail).
    pub fn fail_body(&self, failure: Failure<E>) -> Option<Failure<E>> {
        self.fail_if(failure, |_| true)
    }

    /// Notes a failure, if it counts and is the first one.
    fn fail_if(&self, failure: Failure<E>, counts: fn(&State<T, E>) -> bool) -> Option<Failure<E>> {
        let mut state = self.state.lock();
        let is_first = !state.failed || planted(faults::group::LAST_FAILURE_COUNTS);
        let (superfluous, results) = match is_first && counts(&state) {
            false => (Some(failure), BTreeMap::new()),
            true => {
                state.failed = true;
                let results = std::mem::take(&mut state.results);
                (state.failure.replace(failure), results)
            }
        };
        let all = state.waiting.claim_all(0);
        drop(state);
        all.resume();
        let mut panics = Unwind::none();
        panics.note_drops(results.into_values());
        // There are none if the failure does not count.
        panics.go_on_if_none_does();
        superfluous
    }

    /// Drops the results that nobody has taken or will take. The first panic goes on when all are
    /// gone.
    pub fn drop_results(&self) {
        let results = std::mem::take(&mut self.state.lock().results);
        let mut panics = Unwind::none();
        panics.note_drops(results.into_values());
        panics.go_on();
    }

    /// The next result in the order of ends; `None` if none will come.
    pub fn next(&self) -> Option<T> {
        self.take(State::take_first)
    }

    /// The next result in the order of starts; `None` if none will come.
    pub fn next_in_order(&self) -> Option<T> {
        self.take(State::take_next)
    }

    /// Waits for what `take` takes.
    fn take(&self, take: fn(&mut State<T, E>) -> Option<T>) -> Option<T> {
        let look = |state: &mut State<T, E>| match take(state) {
            None if state.failed || state.running == 0 => Some(None),
            None => None,
            result => Some(result),
        };
        self.wait_until(Limit::None, look).flatten()
    }

    /// Waits for so many results that count, or for all if that is `None`, and takes them, with
    /// those that do not count in between. Then, or when they cannot come, or when the limit has,
    /// the group settles; all that is there is taken if it is less. If a limit scope unwinds the
    /// wait, nothing has been taken.
    pub fn gather(
        &self,
        wanted: Option<usize>,
        counts: fn(&T) -> bool,
        limit: Limit,
    ) -> (Vec<T>, Gathered) {
        let goal = Goal { wanted, counts };
        let settle = |state: &mut State<T, E>, end| {
            state.settled = !planted(faults::group::SETTLES_LATE);
            (goal.take(state), end)
        };
        let look = |state: &mut State<T, E>| goal.end(state).map(|end| settle(state, end));
        let gathered = self.wait_until(limit, look).unwrap_or_else(|| {
            let mut state = self.state.lock();
            // It may have come at the last moment.
            let end = goal.end(&state).unwrap_or(Gathered::Over);
            settle(&mut state, end)
        });
        let mut state = self.state.lock();
        state.settled = true;
        // Those that wait to start fibres.
        let all = state.waiting.claim_all(0);
        drop(state);
        all.resume();
        gathered
    }

    /// Waits until no fibre is left.
    ///
    /// # Errors
    ///
    /// [`Unfinished`], if the limit came first.
    pub fn wait_for_all(&self, limit: Limit) -> Result<(), Unfinished> {
        let look = |state: &mut State<T, E>| (state.running == 0).then_some(());
        self.wait_until(limit, look).ok_or(Unfinished)
    }

    /// How many fibres run.
    pub fn running(&self) -> usize {
        self.state.lock().running
    }

    /// Whether there has been a failure.
    pub fn has_failed(&self) -> bool {
        self.state.lock().failed
    }

    /// Whether it has settled.
    pub fn is_settled(&self) -> bool {
        self.state.lock().settled
    }

    /// Takes the first failure.
    pub fn take_failure(&self) -> Option<Failure<E>> {
        self.state.lock().failure.take()
    }

    /// [`next`](Self::next) or [`next_in_order`](Self::next_in_order), as an arm of a selection.
    #[cfg_attr(loom, allow(dead_code, reason = "groups are not in models"))]
    pub(crate) fn next_arm(&self, in_order: bool) -> ListArm<NextOf<'_, T, E>> {
        let members = self;
        ListArm::new(NextOf { members, in_order })
    }

    /// The end of all fibres, as an arm of a selection.
    #[cfg_attr(loom, allow(dead_code, reason = "groups are not in models"))]
    pub(crate) fn end_arm(&self) -> ListArm<EndOf<'_, T, E>> {
        ListArm::new(EndOf(self))
    }

    /// Waits until `look`, under the lock, finds something; `None` if the limit comes first. Blocks
    /// the fibre (or thread).
    fn wait_until<R>(
        &self,
        limit: Limit,
        mut look: impl FnMut(&mut State<T, E>) -> Option<R>,
    ) -> Option<R> {
        yield_point();
        loop {
            let mut found = None;
            let enter = |state: &mut State<T, E>| {
                found = look(state);
                found.is_none()
            };
            let awaited = WaitObject::placeless(WaitKind::Scope);
            // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it; those that
            // are claimed are resumed.
            let outcome = unsafe {
                ListWait::new(awaited, limit).in_list(
                    &self.state,
                    |state| &mut state.waiting,
                    enter,
                )
            };
            match outcome {
                Outcome::TimedOut | Outcome::Cancelled => return None,
                Outcome::Woken(_) | Outcome::NotParked if found.is_some() => return found,
                Outcome::Woken(_) | Outcome::NotParked => {}
            }
        }
    }
}

impl<T, E> Drop for Members<T, E> {
    /// Drops what is left, each by itself. A panic ends here: the group has ended already.
    fn drop(&mut self) {
        let (results, failure) = {
            let mut state = self.state.lock();
            (std::mem::take(&mut state.results), state.failure.take())
        };
        let mut panics = Unwind::none();
        panics.note_drops(failure);
        panics.note_drops(results.into_values());
    }
}

/// A wait for a result.
#[cfg_attr(loom, allow(dead_code, reason = "groups are not in models"))]
pub(crate) struct NextOf<'a, T, E> {
    /// The member list.
    members: &'a Members<T, E>,
    /// Whether it is that of the fibre which was entered next.
    in_order: bool,
}

impl<T, E> Listed for NextOf<'_, T, E> {
    type State = State<T, E>;
    type Output = Option<T>;

    fn locked(&self) -> &Locked<State<T, E>> {
        &self.members.state
    }

    fn list(state: &mut State<T, E>) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State<T, E>) -> Option<Option<T>> {
        let result = match self.in_order {
            true => state.take_next(),
            false => state.take_first(),
        };
        match result {
            None => (state.failed || state.running == 0).then_some(None),
            result => Some(result),
        }
    }

    fn is_there(&self, state: &State<T, E>) -> bool {
        let has = |number: &u64| state.results.contains_key(number);
        let result = match self.in_order {
            true => has(&state.next),
            false => state.order.iter().any(has),
        };
        result || state.failed || state.running == 0
    }

    fn handed(&self) -> Option<Option<T>> {
        None
    }
}

/// A wait for the end of all fibres.
#[cfg_attr(loom, allow(dead_code, reason = "groups are not in models"))]
pub(crate) struct EndOf<'a, T, E>(&'a Members<T, E>);

impl<T, E> Listed for EndOf<'_, T, E> {
    type State = State<T, E>;
    type Output = ();

    fn locked(&self) -> &Locked<State<T, E>> {
        &self.0.state
    }

    fn list(state: &mut State<T, E>) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State<T, E>) -> Option<()> {
        self.is_there(state).then_some(())
    }

    fn is_there(&self, state: &State<T, E>) -> bool {
        state.running == 0
    }

    fn handed(&self) -> Option<()> {
        None
    }
}
