//! A processor: the kernel thread that runs fibres.
//!
//! ```text
//!   ┌─► find_work: own queue, staging,    ──► execute: resume, then act ─┐
//!   │        │     others', background                                   │
//!   │        │ nothing                                                   │
//!   │        ▼                                                           │
//!   └── rest: announce, look once more, sleep until woken ◄──────────────┘
//! ```
//!
//! Every [`SERVICE_INTERVAL`] switches at most, and more often when fibres run for
//! long, it also looks at its orders, its timers, the events of its [`Halt`] and the
//! queues of others, so that fibres which keep it busy starve none of them.
//!
//! [`Halt`]: crate::parker::Halt

mod execute;
mod foresight;
mod informant;
mod obey;
mod pocket;
mod polling;
mod rest;
mod slice;
mod spin;
mod watching;

pub use execute::{in_fibre, with_pocket};
pub use foresight::{Traces, fetch_all};
pub use informant::INFORMANT;
pub use pocket::Pocket;
pub use spin::Spin;

use crate::context::Action;
use crate::current;
use crate::domain::Domain;
use crate::fibre::memory::BlockCache;
use crate::fibre::{ControlBlock, FibreRef, Roster};
use crate::queue::Popped;
use crate::ready::ReadyQueue;
use crate::stack::{StackCache, StackError};
use crate::steal::{Mood, Thief};
use crate::sync::heavy_barrier;
use crate::timer::{BATCH, Timers};
use crossbeam_utils::CachePadded;
use polling::Polling;
use slice::Slice;
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use watching::Watcher;

/// Switches between two looks at timers and events, at most.
const SERVICE_INTERVAL: u32 = 256;

/// And at least, however long fibres run: a look costs a system call.
const SHORTEST_INTERVAL: u32 = 4;

/// The time between two such looks that the number of switches is adapted to.
const SERVICE_PERIOD: Duration = Duration::from_micros(200);

/// Staged fibres that a busy processor takes at each service.
const STAGED_AT_ONCE: usize = 8;

/// See the module text. Only its own thread has one; others see its ready queue
/// and its tally, by way of the domain.
pub struct Processor {
    /// Its place in the domain.
    index: usize,
    /// What it shares with the others of its cluster.
    domain: Arc<Domain>,
    /// Its ready queue, the one of `domain.queues()`.
    ready: Arc<ReadyQueue>,
    /// The fibre whose stack this thread is on.
    running: Cell<Option<FibreRef>>,
    /// The fibre to run next, whatever is in the queue.
    successor: Cell<Option<FibreRef>>,
    /// Whether the running fibre is about to wait, and others may wake it already. Kept in builds with
    /// debug assertions only.
    publishing: Cell<bool>,
    /// Where the fibre goes that is about to leave the cluster, and whether it is still counted here.
    destination: Cell<Option<(Arc<Domain>, bool)>>,
    /// Whether all that it runs is at home here from then on (forced migration).
    adopts: bool,
    /// Whether fibres that have started here stay.
    keeps: bool,
    /// Whether they do as long as it is the only processor.
    keeps_alone: bool,
    /// Whether waits with a limit may end at home, too: cancellers can have all see what they do.
    limits_at_home: bool,
    /// Deadlines of fibres that wait here, those of `domain.timers(…)`.
    timers: Arc<CachePadded<Timers<ControlBlock>>>,
    /// Stacks of ended fibres.
    stacks: StackCache,
    /// Memory of ended fibres.
    blocks: BlockCache,
    /// What a layer above keeps here.
    pocket: Pocket,
    /// Fibres that have started here, unless the domain has them all.
    roster: Roster,
    /// Where the next fibre spawned here goes.
    turn: Cell<usize>,
    /// Switches left until the next service.
    until_service: Cell<u32>,
    /// How many that were when they were set, less those that have been cut off since.
    planned: Cell<u32>,
    /// Switches from one service to the next.
    service_interval: Cell<u32>,
    /// When the last service was.
    last_service: Cell<Instant>,
    /// The cluster's birth, for `busy_since`.
    epoch: Instant,
    /// How long the running fibre has gone on without a switch.
    slice: Slice,
    /// How long fibres have made way for others without letting all of them run.
    stretch: Slice,
    /// Whether it is time to ask for events.
    polling: Polling,
    /// Whether the next rest begins with a spin.
    spin: Spin,
    /// How it steals.
    thief: Thief,
    /// What it knows of those that it looks after while it sleeps.
    watcher: Watcher,
    /// Times in a row that the queue was not empty and gave nothing.
    refusals: Cell<u32>,
    /// Whether it has cancelled its fibres.
    cancelled: Cell<bool>,
    /// Whether it has been told to end, whatever it leaves.
    leaving: Cell<bool>,
    /// Why the fibre that is about to run was refused the stack it wanted.
    refusal: Cell<Option<StackError>>,
}

impl Processor {
    /// The processor `index` of a domain that began at `epoch`.
    #[must_use]
    pub fn new(domain: Arc<Domain>, index: usize, epoch: Instant) -> Self {
        Self {
            index,
            ready: Arc::clone(&domain.queues()[index]),
            running: Cell::new(None),
            successor: Cell::new(None),
            publishing: Cell::new(false),
            destination: Cell::new(None),
            adopts: domain.settings.force_migration,
            keeps: !domain.settings.moves_started,
            keeps_alone: index == 0 && !domain.settings.blocks,
            limits_at_home: heavy_barrier().is_some(),
            timers: Arc::clone(domain.timers(index)),
            stacks: StackCache::new(domain.settings.wipe_stacks, epoch),
            blocks: BlockCache::new(),
            pocket: Pocket::default(),
            roster: Roster::new(),
            turn: Cell::new(index),
            // There may be orders already.
            until_service: Cell::new(0),
            planned: Cell::new(0),
            service_interval: Cell::new(SERVICE_INTERVAL),
            last_service: Cell::new(epoch),
            epoch,
            slice: Slice::new(epoch, domain.settings.slice),
            stretch: Slice::new(epoch, domain.settings.slice),
            polling: Polling::default(),
            spin: Spin::new(domain.settings.spin),
            thief: Thief::new(index, &domain.settings),
            watcher: Watcher::new(index),
            refusals: Cell::new(0),
            cancelled: Cell::new(false),
            leaving: Cell::new(false),
            refusal: Cell::new(None),
            domain,
        }
    }

    /// The processor that this thread is. Null on a foreign thread.
    ///
    /// Do not keep the result across a switch.
    #[inline]
    pub fn current() -> *const Self {
        current::processor().cast()
    }

    /// Runs fibres until the domain is over. Blocks the thread. `false`: it has left fibres
    /// where they are, and must stay where it is itself.
    #[must_use]
    pub fn run(&self) -> bool {
        current::set(Arc::as_ptr(&self.ready).cast(), ptr::from_ref(self).cast());
        let now = Instant::now();
        self.last_service.set(now);
        self.note_busy(now);
        self.show_roster();
        let mut next = self.next();
        // One call, into which the whole of a switch is inlined.
        while let Some(fibre) = next {
            self.execute(fibre);
            next = self.take_successor().or_else(|| self.next());
        }
        current::set(ptr::null(), ptr::null());
        self.hide_roster();
        let clean = !self.leaving.get() || self.leave_fibres();
        self.retire_halt();
        clean
    }

    /// Says that the processor will not sleep again; the last one does if they sleep in one.
    fn retire_halt(&self) {
        let last = self.domain.count_ended();
        let one = self.domain.commons.has_one_halt();
        if let Some(halt) = self.ready.halt().filter(|_| last || !one) {
            halt.retire();
        }
    }

    /// The fibre for which another one has made way.
    #[inline]
    fn take_successor(&self) -> Option<FibreRef> {
        let successor = self.successor.get()?;
        self.successor.set(None);
        if self.count_switch() {
            return Some(successor);
        }
        // The processor is to end, and leaves this one with the others.
        // SAFETY: the fibre is new, and in no queue.
        unsafe { self.ready.push_next(ControlBlock::node(successor)) };
        None
    }

    /// The next fibre to run; sleeps until there is one. `None`: it is all over.
    #[inline]
    fn next(&self) -> Option<FibreRef> {
        loop {
            if let Some(fibre) = self.find_work() {
                return Some(fibre);
            }
            if self.rest() {
                return None;
            }
        }
    }

    /// Own queue, then others'. `None`: there is nothing, or it is to end.
    #[inline]
    fn find_work(&self) -> Option<FibreRef> {
        if !self.count_switch() {
            return None;
        }
        let found = match self.ready.pop() {
            // SAFETY: ready queues hold fibres only.
            Some(node) => Some(unsafe { ControlBlock::from_node(node) }),
            None => self.find_elsewhere(),
        };
        if found.is_some() {
            self.refusals.set(0);
        }
        found
    }

    /// What others have: the staging queue, other processors, the background (thesis,
    /// section 3.2.2).
    #[inline(never)]
    fn find_elsewhere(&self) -> Option<FibreRef> {
        let found = self
            .take_staged()
            .or_else(|| self.thief.steal(&self.domain, self.mood()))
            .or_else(|| self.take_background());
        self.note_work(|| found.is_some());
        found
    }

    /// Takes a fibre from the staging queue.
    fn take_staged(&self) -> Option<FibreRef> {
        self.adopt(self.domain.commons.pop_staged())
    }

    /// Takes a fibre of the background, of which those that have started here come first.
    fn take_background(&self) -> Option<FibreRef> {
        let own = self.ready.pop_background();
        // SAFETY: ready queues hold fibres only.
        own.map(|node| unsafe { ControlBlock::from_node(node) })
            .or_else(|| self.take_common_background())
    }

    /// Takes a fibre of the background that has started nowhere, or may move.
    fn take_common_background(&self) -> Option<FibreRef> {
        self.adopt(self.domain.commons.pop_background())
    }

    /// Makes a fibre from a queue of the whole cluster one that is at home here.
    fn adopt(&self, popped: Popped) -> Option<FibreRef> {
        let Popped::Node(node) = popped else {
            return None;
        };
        // SAFETY: ready queues hold fibres only.
        let fibre = unsafe { ControlBlock::from_node(node) };
        // SAFETY: just taken out, so it is ours.
        let block = unsafe { fibre.as_ref() };
        block.set_home(Arc::as_ptr(&self.ready));
        self.ready.notice(block.link());
        Some(fibre)
    }

    /// Counts towards the next service. `false`: the processor is to end.
    #[inline]
    fn count_switch(&self) -> bool {
        match self.until_service.get() {
            0 => self.service(),
            left => {
                self.until_service.set(left - 1);
                true
            }
        }
    }

    /// Looks at what a busy processor would otherwise never see. `false`: it is to end.
    #[cold]
    fn service(&self) -> bool {
        if self.domain.orders.is_any() && !self.obey() {
            return false;
        }
        let now = Instant::now();
        let switches = self.planned.get() + 1;
        let turns = self.turns_since_service(switches);
        let before = self.last_service.replace(now);
        self.adapt_interval(now - before);
        if self.polling.is_due(switches, before, now) {
            self.poll_events();
        }
        self.fire_timers(now, turns);
        self.stacks.decay(now, &self.domain.stacks);
        self.domain.tally(self.index).count_service();
        self.help_others();
        true
    }

    /// Takes some of what others have behind what is here, so that nothing starves though all
    /// processors are busy with their own. Others may still take it from here: the next fibre
    /// may run for long.
    fn help_others(&self) {
        if let Some(node) = self.ready.pop_background() {
            // SAFETY: just taken out.
            unsafe { self.ready.push_now(node) };
        }
        if let Some(fibre) = self.thief.steal(&self.domain, Mood::Patient) {
            // SAFETY: just taken from another's queue.
            unsafe { self.ready.push_shared(ControlBlock::node(fibre)) };
        }
        if self.domain.commons.idle.is_any() {
            // Who is idle comes for what is there for all.
            return;
        }
        let staged = std::iter::from_fn(|| self.take_staged()).take(STAGED_AT_ONCE);
        for fibre in staged.chain(self.take_common_background()) {
            // SAFETY: just taken out.
            unsafe { self.ready.push_shared(ControlBlock::node(fibre)) };
        }
    }

    /// How many of those who wait in the queue of started fibres have had their turn in so many switches,
    /// since the last service; all switches count if nobody is there, who would have to wait for others.
    fn turns_since_service(&self, switches: u32) -> u32 {
        let others = self.ready.take_shared_turns();
        if self.ready.has_started() {
            switches.saturating_sub(others)
        } else {
            switches
        }
    }

    /// Decides on the next service.
    fn plan_service(&self, switches: u32) {
        self.planned.set(switches);
        self.until_service.set(switches);
    }

    /// Wakes those whose time is up, a batch of them at most, and no more than have had their
    /// `turns` since the last ones: the queue does not grow. The next batch comes soon.
    fn fire_timers(&self, now: Instant, turns: u32) {
        if self.timers.fire(now, turns.min(BATCH)) {
            self.plan_service(self.until_service.get().min(BATCH));
        }
    }

    /// Delivers the events that are there.
    fn poll_events(&self) {
        if let Some(halt) = self.ready.halt() {
            halt.poll();
            self.polling.begin(halt.delivered());
        }
    }

    /// Counts a point at which the running fibre could let others go first. `true`: it
    /// has run for so long that it should.
    #[inline]
    pub fn slice_is_over(&self) -> bool {
        self.slice.count() && self.end_slice()
    }

    /// The part of [`slice_is_over`](Self::slice_is_over) that reads the clock. Who never
    /// switches otherwise has the processor serviced here.
    #[cold]
    fn end_slice(&self) -> bool {
        let now = Instant::now();
        if now - self.last_service.get() >= SERVICE_PERIOD {
            let left = self.until_service.replace(0);
            self.planned.set(self.planned.get() - left);
        }
        // Who was to run next has waited for long enough to be worth a wake-up.
        self.ready.offer_lone();
        self.slice.is_over_at(now)
    }

    /// Notes that the running fibre has begun to publish its wait, or is done with that.
    pub fn set_publishing(&self, publishing: bool) {
        self.publishing.set(publishing);
    }

    /// In builds with debug assertions, a panic if the running fibre publishes a wait: whoever finds
    /// the waiter may have queued the fibre, which then must not be queued, or wait, a second time.
    #[inline(always)]
    pub fn assert_may_leave(&self) {
        debug_assert!(
            !self.publishing.get(),
            "a fibre leaves its stack while it publishes a wait"
        );
    }

    /// Notes where the running fibre goes, which leaves the cluster next; and whether it will come back,
    /// and is counted here until then.
    pub fn set_destination(&self, destination: Arc<Domain>, stays_counted: bool) {
        self.destination.set(Some((destination, stays_counted)));
    }

    /// Has `successor`, which is in no queue, run next, and says how the running fibre makes
    /// way: it goes behind the others once fibres have done so for long.
    #[inline]
    pub fn change_places(&self, successor: FibreRef) -> Action {
        self.successor.set(Some(successor));
        if self.stretch.count() && self.stretch.is_over_at(Instant::now()) {
            self.stretch.restart();
            return Action::Yield;
        }
        Action::MakeWay
    }

    /// Whether a fibre that waits at home does so here.
    #[inline]
    pub fn is_home_of(&self, fibre: FibreRef) -> bool {
        // SAFETY: who asks is about to wake it, so it waits and is alive.
        ptr::eq(unsafe { fibre.as_ref() }.home(), Arc::as_ptr(&self.ready))
    }

    /// Whether this thread does best to spin for what another processor is about to do:
    /// it has nothing else to do, and the other one can run meanwhile.
    #[inline]
    pub fn may_spin(&self) -> bool {
        self.domain.spins() && self.ready.is_empty()
    }

    /// Halves or doubles the number of switches between services, so that their
    /// distance in time stays near [`SERVICE_PERIOD`].
    fn adapt_interval(&self, elapsed: Duration) {
        let interval = self.service_interval.get();
        let next = if elapsed > SERVICE_PERIOD {
            (interval / 2).max(SHORTEST_INTERVAL)
        } else if elapsed < SERVICE_PERIOD / 2 {
            (interval * 2).min(SERVICE_INTERVAL)
        } else {
            interval
        };
        self.service_interval.set(next);
        self.plan_service(next);
    }

    /// What the processor shares with the others of its cluster.
    pub fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// Its place in the domain.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its ready queue.
    pub fn ready(&self) -> &Arc<ReadyQueue> {
        &self.ready
    }

    /// Places a fibre that is spawned here.
    ///
    /// # Safety
    ///
    /// The fibre is new, and this thread is the processor.
    #[inline]
    pub unsafe fn place(&self, fibre: FibreRef) {
        // SAFETY: the fibre is new, hence the caller's.
        let ordinary = unsafe { fibre.as_ref() }.link().is_ordinary();
        let node = ControlBlock::node(fibre);
        // SAFETY: passed on.
        unsafe {
            if !(ordinary && self.domain.settings.pushes()) {
                self.domain.place(fibre, Some(self.index), self.next_turn());
            } else if self.domain.processors() == 1 {
                // Nobody is there to steal it, so it need not be where thieves look.
                self.ready.push_local(node);
            } else {
                self.domain
                    .push_out(node, Some(self.index), self.next_turn());
            }
        }
    }

    /// The round-robin of fibres spawned here.
    fn next_turn(&self) -> usize {
        let turn = self.turn.get();
        let next = turn + 1;
        self.turn.set(if next == self.domain.processors() {
            0
        } else {
            next
        });
        turn
    }

    /// Deadlines of fibres that wait here.
    pub fn timers(&self) -> &Timers<ControlBlock> {
        &self.timers
    }

    /// Memory of fibres that ended here.
    #[inline]
    pub fn blocks(&self) -> &BlockCache {
        &self.blocks
    }

    /// The fibre whose stack this thread is on.
    #[inline]
    pub fn running(&self) -> Option<FibreRef> {
        self.running.get()
    }

    /// Whether another processor of the cluster has nothing to do.
    pub fn others_rest(&self) -> bool {
        // This one does not rest.
        let queues = self.domain.queues();
        queues.iter().any(|queue| queue.is_resting())
    }

    /// Whether a fibre that runs here and leaves its stack runs nowhere else before it has been here again: no
    /// other processor takes any, or there is none. One that is added may, which minds those who wait at home.
    #[inline]
    pub fn keeps_fibres(&self) -> bool {
        self.keeps || (self.keeps_alone && self.domain.processors() == 1)
    }

    /// Whether waits with a limit may end at home, too.
    #[inline]
    pub fn limits_at_home(&self) -> bool {
        self.limits_at_home
    }

    /// Whether a fibre that yields would come back at once. Counts as a switch,
    /// so that a lone fibre which yields in a loop still gets serviced.
    #[inline]
    pub fn yields_to_nobody(&self) -> bool {
        let left = self.until_service.get();
        let nobody = left > 0 && self.ready.is_empty();
        if nobody {
            self.until_service.set(left - 1);
        }
        nobody
    }
}

impl std::fmt::Debug for Processor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
