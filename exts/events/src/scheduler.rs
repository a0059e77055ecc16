//! The scheduler: all colours, and the queues of all processors. Everything that happens to events
//! before and after their handlers run, and nothing that knows fibres: it says whom to wake, and
//! its caller does that.
//!
//! # Where a colour is
//!
//! A colour that is alive has a cell, which a sharded table finds. Its cell says which processor is
//! its home. To post, one
//!
//! 1. takes the lock of the colour's shard, and finds or makes the cell;
//! 2. takes the lock of the home, and looks whether it still is the home: else again;
//! 3. appends the event there.
//!
//! A handler that posts to its own colour does not need the shard, as a colour that runs stays.
//!
//! A thief takes the lock of its victim, takes the colour out and makes itself the home; gives that
//! lock back; takes its own, and brings the colour in. It never has both (Mely, figure 2). An event
//! that is posted between the two is *early*: it goes to the thief, which appends it to what it
//! brings.
//!
//! A colour without events rests at its home, so what is posted later follows it there (the papers
//! call the map sticky). Each processor remembers so many such colours; then it *retires* the one
//! that has rested longest, under the lock of its shard, as nobody else may be about to post then.
//! That lock is taken without the processor's own, so several may choose the same colour. Whoever
//! has tried to retire one therefore looks again whether too many are left.
//!
//! # Invariants
//!
//! 1. A cell's home and slot change under the lock of that home.
//! 2. A colour is in the table from its first event until it is retired, and is retired only while
//!    it rests.
//! 3. Of each colour, one run has been taken and not finished, at most.
//! 4. A lock of a shard is taken before one of a processor, never after; nobody has two locks of
//!    either kind.
//! 5. A processor that sleeps has said so under its lock, after it found nothing there.
//!
//! # Memory ordering
//!
//! All is protected by locks, but the hints: a cell's home outside of its lock, which is checked
//! again inside; lengths, which thieves order victims by; and what thefts cost.

use crate::colour::{BuildColourHasher, Colour, spread};
use crate::core_queue::{CoreQueue, Parcel};
use crate::faults;
use crate::idlers::Idlers;
use crate::policy::{Choice, FIRST_COST, Rules};
use crate::slot::{Cell, Load, Spot};
use crate::victims::ring_from_fullest;
use fibre_core::internal::{ShortGuard, ShortLock, drop_quietly};
use fibre_core::sync::{AtomicU64, AtomicUsize, Ordering, planted};
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

/// How many shards the table of colours has.
const SHARDS: usize = if cfg!(loom) { 1 } else { 64 };

/// Of how many thefts the least time counts.
const THEFTS: u64 = 8;

/// How many cells a shard keeps for other colours.
const KEPT_CELLS: usize = 1024;

/// The processors that a caller has to wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "a processor that is not woken sleeps on"]
pub struct Calls {
    /// The processor that has the event.
    pub owner: Option<usize>,
    /// A processor that may steal it.
    pub thief: Option<usize>,
}

/// A colour with events that have been taken to run.
#[derive(Debug)]
pub struct Run {
    cell: Arc<Cell>,
    /// How many have been taken, and not put back.
    taken: usize,
}

/// What a thief has got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stolen {
    /// The processor that the colour was stolen from.
    pub victim: usize,
    /// The colour that was stolen.
    pub colour: Colour,
    /// How many events it had.
    pub events: usize,
    /// Their weights.
    pub left: u64,
}

/// The colours of one shard.
struct Shard {
    cells: HashMap<Colour, Arc<Cell>, BuildColourHasher>,
    /// Cells for other colours.
    kept: Vec<Arc<Cell>>,
}

/// What a processor's lock protects.
struct State<E> {
    queue: CoreQueue<E>,
    /// Events of colours that are under way to this processor.
    early: Vec<(Arc<Cell>, E)>,
    /// Whether the processor is to be woken when it has something to run.
    sleeps: bool,
    /// Whether events from outside are refused.
    is_closed: bool,
    /// Events that were posted here, and such that have run here, for [`Scheduler::is_quiet`].
    accepted: u64,
    finished: u64,
}

/// One processor. Not to share its cache lines with others.
#[repr(align(128))]
struct Core<E> {
    state: ShortLock<State<E>>,
    /// How many events it has, for thieves.
    len: AtomicUsize,
    /// Its own thefts since it last said what one costs, and the least that one of them took.
    thefts: AtomicU64,
    least: AtomicU64,
}

/// All colours, and the queues of all processors.
pub struct Scheduler<E> {
    rules: Rules,
    shards: Box<[ShortLock<Shard>]>,
    cores: Box<[Core<E>]>,
    idlers: Idlers,
    /// What a theft costs in nanoseconds.
    cost: AtomicU64,
}

impl<E: Load> Scheduler<E> {
    /// A scheduler without colours.
    #[must_use]
    pub fn new(processors: usize, rules: Rules) -> Self {
        let shard = |_| {
            ShortLock::new(Shard {
                cells: HashMap::default(),
                kept: Vec::new(),
            })
        };
        let core = |_| Core {
            state: ShortLock::new(State {
                queue: CoreQueue::new(&rules),
                early: Vec::new(),
                sleeps: false,
                is_closed: false,
                accepted: 0,
                finished: 0,
            }),
            len: AtomicUsize::new(0),
            thefts: AtomicU64::new(0),
            least: AtomicU64::new(u64::MAX),
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            cores: (0..processors).map(core).collect(),
            idlers: Idlers::new(processors),
            cost: AtomicU64::new(rules.cost.unwrap_or(FIRST_COST)),
            rules,
        }
    }

    /// How many processors it has.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.cores.len()
    }

    /// The colour that the table has a colour under.
    #[must_use]
    pub fn entry(&self, colour: Colour) -> Colour {
        self.rules.colours.entry(colour)
    }

    /// Posts an event.
    ///
    /// # Errors
    ///
    /// The event, if the scheduler has been closed.
    pub fn post(&self, colour: Colour, event: E) -> Result<Calls, E> {
        self.post_somehow(colour, event, false)
    }

    /// Posts an event that a closed scheduler accepts, too: it belongs to one that has not
    /// finished, and [`is_quiet`](Self::is_quiet) does not count it.
    pub fn post_inner(&self, colour: Colour, event: E) -> Calls {
        let posted = self.post_somehow(colour, event, true);
        posted.unwrap_or_default()
    }

    /// See [`post`](Self::post).
    fn post_somehow(&self, colour: Colour, event: E, is_inner: bool) -> Result<Calls, E> {
        let colour = self.entry(colour);
        let mut shard = self.shard(&colour).lock();
        let cell = match shard.cells.get(&colour) {
            Some(cell) => cell,
            None => {
                let cell = self.new_cell(&mut shard, &colour);
                shard.cells.entry(colour).or_insert(cell)
            }
        };
        self.put(cell, event, is_inner)
    }

    /// The shard of a colour.
    fn shard(&self, colour: &Colour) -> &ShortLock<Shard> {
        // The table of the shard uses other bits.
        let hash = spread(colour.number()) >> 32;
        &self.shards[hash as usize % SHARDS]
    }

    /// A cell for a new colour: on processor *c* mod *N* (libasync-smp, section 3).
    fn new_cell(&self, shard: &mut Shard, colour: &Colour) -> Arc<Cell> {
        let home = match self.rules.shared {
            true => 0,
            false => (colour.number() % self.cores.len() as u64) as usize,
        };
        let fresh = Cell::new(colour.clone(), home);
        while let Some(mut kept) = shard.kept.pop() {
            if let Some(cell) = Arc::get_mut(&mut kept) {
                *cell = fresh;
                return kept;
            }
        }
        Arc::new(fresh)
    }

    /// Posts an event to a colour that runs, and so has a cell for as long as it does.
    ///
    /// # Errors
    ///
    /// As [`post`](Self::post).
    pub fn post_to_run(&self, run: &Run, event: E) -> Result<Calls, E> {
        self.put(&run.cell, event, false)
    }

    /// Appends an event to a colour that is not retired meanwhile.
    fn put(&self, cell: &Arc<Cell>, event: E, is_inner: bool) -> Result<Calls, E> {
        let (home, mut state) = self.lock_home(cell);
        if state.is_closed && !is_inner {
            return Err(event);
        }
        state.accepted += u64::from(!is_inner);
        let cost = self.cost();
        let number = match cell.spot() {
            Spot::At(number) => number,
            Spot::New => {
                let number = state.queue.adopt(Arc::clone(cell));
                cell.set_spot(Spot::At(number));
                number
            }
            Spot::UnderWay => {
                if !planted(faults::scheduler::FORGETS_EARLY_EVENTS) {
                    state.early.push((Arc::clone(cell), event));
                }
                return Ok(Calls::default());
            }
        };
        state.queue.push(number, event, &self.rules, cost);
        Ok(self.called(home, state))
    }

    /// Takes the lock of the processor where a colour is.
    fn lock_home(&self, cell: &Cell) -> (usize, ShortGuard<'_, State<E>>) {
        loop {
            let home = cell.home();
            let state = self.cores[home].state.lock();
            if cell.home() == home || planted(faults::scheduler::TRUSTS_THE_OLD_HOME) {
                return (home, state);
            }
        }
    }

    /// The processors to wake, now that a processor may have more to run; gives its lock back.
    fn called(&self, home: usize, mut state: ShortGuard<'_, State<E>>) -> Calls {
        let core = &self.cores[home];
        core.len.store(state.queue.len(), Ordering::Relaxed);
        if self.rules.shared {
            let has_work = state.queue.has_work();
            drop(state);
            let owner = has_work.then(|| self.idlers.claim(None)).flatten();
            return Calls { owner, thief: None };
        }
        let owner = (state.sleeps && state.queue.has_work()).then_some(home);
        if owner.is_some() {
            state.sleeps = false;
        }
        // The owner is on its way, and takes one colour itself.
        let spare = owner.is_none() || state.queue.ready() > 1;
        let wanted = spare && !self.idlers.is_empty() && state.queue.can_be_stolen(&self.rules);
        drop(state);
        let thief = wanted.then(|| self.idlers.claim(Some(home))).flatten();
        Calls { owner, thief }
    }

    /// Finishes a run, if the caller has one, and takes the next events of a processor into
    /// `taken`, which is empty. Returns their colour, and whom to wake.
    pub fn next(
        &self,
        processor: usize,
        done: Option<Run>,
        taken: &mut VecDeque<E>,
    ) -> (Option<Run>, Calls) {
        let (mut calls, mut retiring) = (Calls::default(), None);
        let queue = self.queue_of(processor);
        let core = &self.cores[queue];
        let mut done = done;
        if let Some(run) = done.take_if(|run| run.cell.home() != queue) {
            calls = self.finish(run);
        }
        let mut state = core.state.lock();
        if let Some(run) = done {
            retiring = self.finish_here(&mut state, &run);
        }
        let run = self.take(&mut state, taken);
        core.len.store(state.queue.len(), Ordering::Relaxed);
        if calls == Calls::default() {
            // A colour that could not be stolen while it ran may be now.
            let wanted = !self.idlers.is_empty() && state.queue.can_be_stolen(&self.rules);
            drop(state);
            calls.thief = wanted.then(|| self.idlers.claim(Some(processor))).flatten();
        } else {
            drop(state);
        }
        self.retire(queue, retiring);
        (run, calls)
    }

    /// Takes the next events of a queue.
    fn take(&self, state: &mut State<E>, taken: &mut VecDeque<E>) -> Option<Run> {
        debug_assert!(taken.is_empty(), "events would be lost");
        let cell = state.queue.take(&self.rules, taken)?;
        let taken = taken.len();
        Some(Run { cell, taken })
    }

    /// The queue that a processor takes from.
    fn queue_of(&self, processor: usize) -> usize {
        if self.rules.shared { 0 } else { processor }
    }

    /// Finishes a run: its colour may run again.
    pub fn finish(&self, run: Run) -> Calls {
        let (home, mut state) = self.lock_home(&run.cell);
        let retiring = self.finish_here(&mut state, &run);
        drop(run);
        let calls = self.called(home, state);
        self.retire(home, retiring);
        calls
    }

    /// Finishes a run. The caller has the lock of its home. Returns a colour to retire.
    fn finish_here(&self, state: &mut State<E>, run: &Run) -> Option<Arc<Cell>> {
        let Spot::At(number) = run.cell.spot() else {
            return None;
        };
        state.finished += run.taken as u64;
        state.queue.finish(number, &self.rules, self.cost());
        self.to_retire(state)
    }

    /// The colour to retire, if more rest than are remembered.
    fn to_retire(&self, state: &State<E>) -> Option<Arc<Cell>> {
        let is_full = state.queue.resting() > self.rules.resting;
        if !is_full || self.rules.colours.is_fixed() {
            return None;
        }
        state.queue.longest_resting()
    }

    /// Puts the events of a run back that have not run.
    pub fn put_back(&self, run: &mut Run, events: &mut VecDeque<E>) {
        if events.is_empty() {
            return;
        }
        let (_, mut state) = self.lock_home(&run.cell);
        if let Spot::At(number) = run.cell.spot() {
            run.taken -= events.len();
            state.queue.put_back(number, events);
        }
    }

    /// Finishes a run with a last event that goes on without its colour: that event finishes with
    /// another run, which the caller asks for by [`post_inner`](Self::post_inner).
    pub fn release(&self, mut run: Run) -> Calls {
        run.taken -= 1;
        self.finish(run)
    }

    /// Retires a colour of a processor, and others while more rest there than are remembered.
    fn retire(&self, processor: usize, mut retiring: Option<Arc<Cell>>) {
        while let Some(cell) = retiring {
            self.forget(cell);
            if planted(faults::scheduler::RETIRES_ONCE) {
                return;
            }
            let state = self.cores[processor].state.lock();
            retiring = self.to_retire(&state);
        }
    }

    /// Forgets a colour, if it rests.
    fn forget(&self, cell: Arc<Cell>) {
        let careless = planted(faults::scheduler::RETIRES_WITHOUT_THE_SHARD);
        let mut guard = (!careless).then(|| self.shard(&cell.colour).lock());
        let (_, mut state) = self.lock_home(&cell);
        let Spot::At(number) = cell.spot() else {
            return;
        };
        if !state.queue.retire(number) {
            return;
        }
        cell.set_spot(Spot::New);
        drop(state);
        let mut shard = match guard.take() {
            Some(shard) => shard,
            None => self.shard(&cell.colour).lock(),
        };
        let Some((key, entered)) = shard.cells.remove_entry(&cell.colour) else {
            unreachable!("a colour that rests is in the table");
        };
        assert!(Arc::ptr_eq(&entered, &cell), "a colour was alive twice");
        drop(entered);
        let is_kept = self.rules.pools && shard.kept.len() < KEPT_CELLS;
        let mut cell = cell;
        let empty = Cell::new(Colour::default(), 0);
        let gone = Arc::get_mut(&mut cell).map(|cell| mem::replace(cell, empty));
        let cell = if is_kept && gone.is_some() {
            shard.kept.push(cell);
            None
        } else {
            Some(cell)
        };
        drop(shard);
        // The key is the program's, and its end may post.
        drop_quietly((key, gone, cell));
    }

    /// Lets a processor without work sleep, as far as the scheduler is concerned: whoever has
    /// something for it wakes it from now on. Returns `false` if it has something to run already.
    #[must_use]
    pub fn sleep(&self, processor: usize) -> bool {
        let queue = self.queue_of(processor);
        let mut state = self.cores[queue].state.lock();
        if state.queue.has_work() {
            return false;
        }
        if self.rules.shared {
            self.idlers.enter(processor);
            return true;
        }
        if planted(faults::scheduler::SLEEPS_IN_SILENCE) {
            drop(state);
            self.cores[queue].state.lock().sleeps = true;
        } else {
            state.sleeps = true;
            drop(state);
        }
        if self.rules.choice != Choice::Nothing {
            self.idlers.enter(processor);
        }
        true
    }

    /// Marks a processor as awake again.
    pub fn wake(&self, processor: usize) {
        self.idlers.leave(processor);
        if !self.rules.shared {
            self.cores[processor].state.lock().sleeps = false;
        }
    }

    /// Steals a colour for a processor, if there is one that the policy lets it steal.
    pub fn steal(&self, thief: usize) -> Option<Stolen> {
        if self.rules.choice == Choice::Nothing || self.rules.shared {
            return None;
        }
        if let Some(nearest) = &self.rules.nearest {
            let mut victims = nearest[thief].iter().copied();
            return victims.find_map(|victim| self.steal_from(victim, thief));
        }
        let lengths: Vec<usize> = self.lengths().collect();
        let mut victims = ring_from_fullest(&lengths).filter(|victim| *victim != thief);
        victims.find_map(|victim| self.steal_from(victim, thief))
    }

    /// How many events each processor has, as of a moment ago.
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        let cores = self.cores.iter();
        cores.map(|core| core.len.load(Ordering::Relaxed))
    }

    /// Steals a colour from one processor.
    fn steal_from(&self, victim: usize, thief: usize) -> Option<Stolen> {
        let core = &self.cores[victim];
        let mut state = core.state.lock();
        let parcel = state.queue.steal(&self.rules)?;
        parcel.cell.leave_for(thief);
        core.len.store(state.queue.len(), Ordering::Relaxed);
        drop(state);
        let stolen = Stolen {
            victim,
            colour: parcel.cell.colour.clone(),
            events: parcel.events.len(),
            left: parcel.left,
        };
        self.migrate(thief, parcel);
        Some(stolen)
    }

    /// Brings in what was stolen, and what was posted to it meanwhile.
    fn migrate(&self, thief: usize, mut parcel: Parcel<E>) {
        let core = &self.cores[thief];
        let mut state = core.state.lock();
        let cell = Arc::clone(&parcel.cell);
        let early = state.early.extract_if(.., |(of, _)| Arc::ptr_eq(of, &cell));
        let early: Vec<E> = early.map(|(_, event)| event).collect();
        if planted(faults::scheduler::EARLY_EVENTS_FIRST) {
            let stolen = mem::replace(&mut parcel.events, early.into());
            parcel.events.extend(stolen);
        } else {
            parcel.events.extend(early);
        }
        let number = state.queue.migrate(parcel, &self.rules, self.cost());
        cell.set_spot(Spot::At(number));
        core.len.store(state.queue.len(), Ordering::Relaxed);
    }

    /// What a theft costs in nanoseconds.
    pub fn cost(&self) -> u64 {
        self.cost.load(Ordering::Relaxed)
    }

    /// Says how long a theft by a processor has taken, in nanoseconds.
    ///
    /// A theft costs what the quickest of the last eight of a thief took, unless the rules have a
    /// cost. A mean would not do: the kernel may well take the CPU away in the middle of a theft,
    /// and after one such time nothing would be worth a theft, so that none could correct it.
    pub fn theft_took(&self, thief: usize, nanoseconds: u64) {
        if self.rules.cost.is_some() {
            return;
        }
        // Only the thief changes its own two.
        let core = &self.cores[thief];
        let least = core.least.load(Ordering::Relaxed).min(nanoseconds.max(1));
        let thefts = core.thefts.load(Ordering::Relaxed) + 1;
        let is_full = thefts == THEFTS;
        if is_full {
            self.cost.store(least, Ordering::Relaxed);
        }
        let (least, thefts) = if is_full {
            (u64::MAX, 0)
        } else {
            (least, thefts)
        };
        core.least.store(least, Ordering::Relaxed);
        core.thefts.store(thefts, Ordering::Relaxed);
    }

    /// Refuses events from now on.
    pub fn close(&self) {
        for core in &self.cores {
            core.state.lock().is_closed = true;
        }
    }

    /// Takes out all events that nobody has taken to run.
    pub fn take_all(&self) -> Vec<E> {
        let mut all = Vec::new();
        for core in &self.cores {
            let mut state = core.state.lock();
            state.queue.take_all(&self.rules, &mut all);
            let early = mem::take(&mut state.early);
            core.len.store(0, Ordering::Relaxed);
            drop(state);
            all.extend(early.into_iter().map(|(_, event)| event));
        }
        all
    }

    /// Whether all events that were accepted have finished. Says so for ever once it does, if the
    /// scheduler has been closed.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let (mut accepted, mut finished) = (0, 0);
        for core in &self.cores {
            let state = core.state.lock();
            accepted += state.accepted;
            finished += state.finished;
        }
        accepted == finished
    }

    /// How many colours the table has.
    #[must_use]
    pub fn colours(&self) -> usize {
        let shards = self.shards.iter();
        shards.map(|shard| shard.lock().cells.len()).sum()
    }
}

impl Run {
    /// The colour that runs.
    #[must_use]
    pub fn colour(&self) -> &Colour {
        &self.cell.colour
    }
}
