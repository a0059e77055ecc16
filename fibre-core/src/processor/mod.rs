//! A processor: the kernel thread that runs fibres.
//!
//! ```text
//!   ┌─► find_work: own queue, staging,    ──► execute: resume, then act ─┐
//!   │        │     others', background                                   │
//!   │        │ nothing                                                   │
//!   │        ▼                                                           │
//!   └── go_idle: announce, look once more, sleep until woken ◄───────────┘
//! ```
//!
//! Every [`SERVICE_INTERVAL`] switches at most, and more often when fibres run for long, it also
//! looks at its requests, its timers, the events of its [`Driver`] and the queues of others, so
//! that busy fibres starve none of them.
//!
//! Files:
//!
//! * `execute`: resumes one fibre, and does what follows once it has left its stack;
//! * `activation`: runs activities, which are idle between their runs;
//! * `activity_stack`: what it keeps for them;
//! * `run_loop`: the run loop, with and without a record of events;
//! * `hooked`: the run loop of clusters with switch hooks;
//! * `directed`: that of clusters under test;
//! * `own_locals`: that of clusters with fibres that have thread-locals of their own;
//! * `control`: carries out what the cluster's handles ask for; `order`: whether it then goes on,
//!   and what it has carried out;
//! * `rouse`: makes waiting fibres unwind;
//! * `service`: when it next looks at all of that;
//! * `poll`: when a busy processor asks for events;
//! * `time_slice`: when a fibre that never blocks has run for long enough;
//! * `idle`: what a processor without work does;
//! * `idle_state`: what it remembers of having found nothing;
//! * `spin`: whether it spins before it sleeps;
//! * `watch`: how an idle processor looks after processors that one fibre keeps;
//! * `spare`: how a spare processor that is not needed stands aside;
//! * `calls`: how often a spare processor is called;
//! * `hold`: holds a fibre that waits in the panic hook;
//! * `held`: how long a fibre has been held;
//! * `next_fibre`: what one fibre leaves to the processor before the next one runs;
//! * `home`: whether the fibres that it runs are at home here;
//! * `memory`: stacks and memory of ended fibres, for new ones;
//! * `place`: where fibres that are spawned here go; `spawn_turn`: the next processor;
//! * `prefetch`: makes the CPU fetch what a fibre needs before it runs;
//! * `local`: what a layer above keeps with a processor, so that it needs no lock;
//! * `lock_turn`: how long its fibre has had a lock that it waited for;
//! * `call_state`: what its fibre, or a hook, is in the middle of;
//! * `here`: the processor that this thread is, and the fibre that it runs;
//! * `overflow_hook`: what the overflow report learns about fibres;
//! * `os_thread`: kernel threads that the runtime starts, and what they must not inherit;
//! * `exit`: a call of `exit` on a processor's thread;
//! * `exit_state`: what stays of a processor's thread and memory at its end.
//!
//! [`Driver`]: crate::idle::parker::Driver

mod activation;
mod activity_stack;
mod call_state;
mod calls;
mod control;
mod directed;
mod execute;
pub(crate) mod exit;
mod exit_state;
mod held;
mod here;
mod hold;
mod home;
mod hooked;
mod idle;
mod idle_state;
mod local;
mod lock_turn;
mod memory;
mod next_fibre;
mod order;
pub(crate) mod os_thread;
mod overflow_hook;
mod own_locals;
mod place;
mod poll;
mod prefetch;
mod rouse;
mod run_loop;
mod service;
mod spare;
mod spawn_turn;
mod spin;
mod time_slice;
mod watch;

pub use directed::with_director;
pub(crate) use exit_state::ExitState;
pub use here::{in_fibre, spread_next_spawn, with_processor_local};
pub(crate) use here::{running, spreads_next_spawn, with_running};
pub use local::ProcessorLocal;
use lock_turn::LockTurn;
pub use lock_turn::Turn;
pub(crate) use overflow_hook::OVERFLOW_HOOK;
pub(crate) use own_locals::end_of_fibre;
pub use prefetch::{WakeHints, fetch_all};
pub(crate) use spin::Spin;

use crate::arch;
use crate::fibre::block_cache::BlockCache;
use crate::fibre::{ControlBlock, FibreList, FibreRef, IdleMemory, ThreadMemory};
use crate::frames::mixups::ThreadLocals;
use crate::idle::monitor_call::MONITOR;
use crate::queue::{Link, Runnable};
use crate::ready::{Owner, ReadyQueue};
use crate::scheduler::counts::ProcessorStats;
use crate::scheduler::domain::Domain;
use crate::scheduler::queue_counts::MOST_QUEUED;
use crate::scheduler::steal::{StealMode, Thief};
use crate::stack::context::Action;
use crate::sync::readers::Readers;
use crate::sync::{AtomicPtr, Ordering};
use crate::sys::{current, fork};
use crate::trace::{self, TracePhase};
use crate::wait::timer::{BATCH, Timers};
use call_state::CallState;
use crossbeam_utils::CachePadded;
use held::Held;
use home::Home;
use idle_state::IdleState;
use memory::Memory;
use next_fibre::NextFibre;
use order::{Order, OrderState};
use poll::Polling;
use service::Service;
use spawn_turn::SpawnTurn;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::{Duration, Instant};
use time_slice::Slices;
use watch::Watcher;

/// The most switches between two looks at timers and events.
const SERVICE_INTERVAL: u32 = 256;

/// The fewest, however long fibres run: a look costs a system call.
const SHORTEST_INTERVAL: u32 = 4;

/// The intended time between two such looks; the number of switches is adapted to it.
const SERVICE_PERIOD: Duration = Duration::from_micros(200);

/// Staged fibres that a busy processor takes at each service.
const STAGED_AT_ONCE: usize = 8;

/// One processor. See the module text. Only its own thread has one; others see its ready queue and
/// its counts, by way of the domain.
pub(crate) struct Processor {
    /// The processor's place in the domain.
    index: usize,
    /// The state that it shares with the others of its cluster.
    domain: Arc<Domain>,
    /// Where its thread's own thread control block is.
    thread_pointer: usize,
    /// What it counts, which is the domain's.
    stats: NonNull<ProcessorStats>,
    /// Its ready queue, the one of `domain.queues()`.
    ready: Arc<ReadyQueue>,
    /// The fibre that runs on this thread; null between two fibres. Written by this thread only;
    /// others may look while the domain has it ([`Domain::runs`]).
    running: AtomicPtr<Link>,
    /// What a fibre that has left its stack, or has got none, leaves to the processor.
    next: NextFibre,
    /// The turn with a lock that was begun last here.
    pub(crate) lock_turn: LockTurn,
    /// What the running fibre, or a hook, is in.
    call_state: CallState,
    /// Whether the fibres that it runs are at home here.
    home: Home,
    /// Deadlines of fibres that wait here, those of `domain.timers(…)`.
    timers: Arc<CachePadded<Timers<ControlBlock>>>,
    /// Stacks and memory of ended fibres.
    memory: Memory,
    /// What a layer above keeps here.
    local: ProcessorLocal,
    /// Fibres that have started here, unless the domain's fibre list has them all.
    fibre_list: FibreList,
    /// Looks at the fibre list while a fibre runs.
    readers: Readers,
    /// Where the next fibre goes that is spawned here.
    spawn_turn: SpawnTurn,
    /// When it next looks at timers and events.
    service: Service,
    /// The cluster's birth, for `busy_since`.
    epoch: Instant,
    /// How long fibres go on.
    slices: Slices,
    /// When it is time to ask for events.
    polling: Polling,
    /// What it remembers of having found nothing to run.
    idle: IdleState,
    /// How long it has held a fibre that waits in the panic hook.
    held: Held,
    /// What it steals with.
    thief: Thief,
    /// What it knows of the processors that it looks after while it sleeps.
    watcher: Watcher,
    /// Which orders it has obeyed.
    obeyed: OrderState,
    /// What builds with debug assertions know of the thread's own variables.
    pub(crate) thread_locals: ThreadLocals,
}

/// What a processor does next.
#[must_use]
enum Next {
    /// It runs this fibre.
    Run(Runnable),
    /// It has found nothing, or has slept: it looks again.
    Again,
    /// It leaves its loop: it has been told to, or the domain is over.
    End,
}

impl Processor {
    /// The processor `index` of a domain that began at `epoch`, or of one that it is to join.
    ///
    /// # Safety
    ///
    /// It is the only one with this index, and this thread is its thread.
    #[must_use]
    pub(crate) unsafe fn new(domain: Arc<Domain>, index: usize, epoch: Instant) -> Self {
        let thread_locals = ThreadLocals::of_thread(domain.settings.moves_started);
        Self {
            index,
            thread_pointer: arch::thread_pointer(),
            stats: NonNull::from(domain.stats(index)),
            ready: Arc::clone(domain.queue(index)),
            running: AtomicPtr::new(ptr::null_mut()),
            next: NextFibre::default(),
            lock_turn: LockTurn::default(),
            call_state: CallState::default(),
            home: Home::new(index, &domain.settings),
            timers: Arc::clone(domain.timers(index)),
            memory: Memory::new(&domain.settings, epoch),
            local: ProcessorLocal::default(),
            fibre_list: FibreList::new(),
            readers: Readers::new(domain.fibre_lists.shared.is_some()),
            spawn_turn: SpawnTurn::new(),
            service: Service::new(epoch, SERVICE_INTERVAL),
            epoch,
            slices: Slices::new(
                epoch,
                domain.settings.slice,
                domain.hooks.director().is_some(),
            ),
            polling: Polling::default(),
            idle: IdleState::new(epoch, domain.settings.spin),
            held: Held::default(),
            thief: Thief::new(index, &domain.settings),
            watcher: Watcher::new(index),
            obeyed: OrderState::default(),
            thread_locals,
            domain,
        }
    }

    /// Runs fibres until the domain is over, and returns what it leaves behind. Blocks the thread.
    #[inline(never)]
    pub(crate) fn run(&self, memory: ThreadMemory) -> ExitState {
        current::set(Arc::as_ptr(&self.ready).cast(), ptr::from_ref(self).cast());
        let now = Instant::now();
        self.service.last.set(now);
        self.note_busy(now);
        // A spare processor, which is not among those that it goes round, begins with the first.
        if self.index < self.domain.regular() {
            self.spawn_turn.turn.set(self.index);
        }
        self.domain.show_running(self.index, &self.running);
        MONITOR.call();
        let unused = IdleMemory::new(memory, &self.obeyed.holding, self.blocks());
        self.show_fibre_list(&unused);
        if self.domain.settings.own_thread_locals {
            self.run_threads();
        } else if !self.domain.hooks.is_empty() {
            self.run_hooked();
        } else if trace::is_on() {
            self.run_recorded();
        } else {
            self.run_fibres();
        }
        self.add_up(self.service.planned.get() - self.service.left.get());
        self.give_up_runner();
        current::set(ptr::null(), ptr::null());
        self.domain.hide_running(self.index);
        self.hide_fibre_list();
        let exit_state = if self.obeyed.leaving.get() {
            self.leave_fibres()
        } else {
            ExitState::Nothing
        };
        self.retire_driver();
        exit_state
    }

    /// Says that the processor will not sleep again in its driver. If the processors share one
    /// driver, the last of them says it.
    fn retire_driver(&self) {
        let last = self.domain.count_ended();
        let one = self.domain.shared_queues.has_one_driver();
        if let Some(driver) = self.ready.driver().filter(|_| last || !one) {
            driver.retire();
        }
    }

    /// Takes the fibre that another one has made way for.
    #[inline]
    fn take_successor(&self) -> Option<Runnable> {
        let successor = self.next.successor.take()?;
        // A rescuer knows only of the fibre before.
        self.own().pass_gate();
        if self.count_switch(1) == Order::GoOn {
            return Some(successor);
        }
        // The processor is to end, and leaves this fibre with the others.
        self.own().push_next(successor);
        None
    }

    /// The next fibre to run; sleeps until there is one. `None`: it is all over.
    #[inline(always)]
    fn next(&self) -> Option<Runnable> {
        match self.find_work() {
            Next::Run(fibre) => Some(fibre),
            Next::Again => self.idle_until_work(),
            Next::End => None,
        }
    }

    /// [`next`](Self::next) for a processor that has found nothing. It may be noted as woken for
    /// nothing while a fibre comes at any moment; so its state on leaving counts.
    #[inline(never)]
    fn idle_until_work(&self) -> Option<Runnable> {
        loop {
            let next = match self.go_idle() {
                Next::Again => self.find_work(),
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

    /// Looks in its own queue, then in others'.
    #[inline(always)]
    fn find_work(&self) -> Next {
        let order = self.count_switch(0);
        if order != Order::GoOn
            && let Some(next) = self.find_by_order(order)
        {
            return next;
        }
        // SAFETY: between two fibres.
        let found = unsafe { self.own().pop() }.or_else(|| self.find_elsewhere());
        match found {
            Some(fibre) => {
                self.idle.refusals.set(0);
                Next::Run(fibre)
            }
            None => {
                self.service
                    .vain_looks
                    .set(self.service.vain_looks.get() + 1);
                Next::Again
            }
        }
    }

    /// Looks at what others have: the staging queue, other processors, the background (thesis,
    /// section 3.2.2).
    #[inline(never)]
    fn find_elsewhere(&self) -> Option<Runnable> {
        if self.has_to_rouse()
            && let Some(roused) = self.rouse_next()
        {
            return Some(roused);
        }
        if self.ready.is_aside() {
            return self.take_own_background();
        }
        self.take_staged()
            .or_else(|| self.thief.steal(&self.domain, self.mode()))
            .or_else(|| self.take_background())
    }

    /// Takes a fibre from the staging queue.
    fn take_staged(&self) -> Option<Runnable> {
        self.adopt(self.domain.shared_queues.pop_staged().node()?)
    }

    /// Takes a fibre of the background; those that have started here come first.
    fn take_background(&self) -> Option<Runnable> {
        self.take_own_background()
            .or_else(|| self.take_common_background())
    }

    /// Takes a fibre of the background that has started here.
    fn take_own_background(&self) -> Option<Runnable> {
        // SAFETY: between two fibres, and the gate has been passed.
        unsafe { self.own().pop_background() }
    }

    /// Takes a fibre of the background that has not started, or may move.
    fn take_common_background(&self) -> Option<Runnable> {
        self.adopt(self.domain.shared_queues.pop_background().node()?)
    }

    /// Makes a fibre from a queue of the whole cluster one that is at home here.
    fn adopt(&self, fibre: Runnable) -> Option<Runnable> {
        fibre.block().set_home(Arc::as_ptr(&self.ready));
        self.ready.notice(fibre.link());
        Some(fibre)
    }

    /// Counts towards the next service; `held`: how many fibres the caller has taken out of the
    /// queue.
    #[inline]
    fn count_switch(&self, held: usize) -> Order {
        match self.service.left.get() {
            0 => self.service(held),
            left => {
                self.service.left.set(left - 1);
                Order::GoOn
            }
        }
    }

    /// Looks at what a busy processor would otherwise never see.
    #[cold]
    fn service(&self, held: usize) -> Order {
        if self.domain.control.is_any() {
            self.obeyed.holding.set(held > 0);
            if self.obey() == Order::End {
                return Order::End;
            }
        }
        self.own().pass_gate();
        fork::hear_no_more();
        let now = Instant::now();
        let switches = self.service.planned.get() + 1;
        self.add_up(switches);
        let turns = self.turns_since_service(switches);
        let before = self.service.last.replace(now);
        self.adapt_interval(now - before);
        if self.polling.is_due(switches, before, now) {
            self.poll_events();
        }
        self.fire_timers(now, turns);
        self.memory.stacks.decay(now, &self.domain.stacks);
        self.stats().count_service();
        let queued = || Some(self.own().count(MOST_QUEUED)? + held);
        self.answer(queued);
        if self.ready.is_aside() {
            self.stand_aside();
        } else {
            self.help_others();
        }
        if held == 0 && self.has_to_rouse() {
            // Those that are ready have had their turn, and the next service is near.
            self.plan_service(self.service.left.get().min(SHORTEST_INTERVAL));
            return Order::Rouse;
        }
        Order::GoOn
    }

    /// Adds so many looks for a fibre to what others may read. Those that found none are no
    /// switches.
    fn add_up(&self, looks: u32) {
        let stats = self.stats();
        // The look of a service that comes with a look in vain is counted with the next one.
        let vain = stats.add_looks(looks, self.service.vain_looks.get());
        self.service.vain_looks.set(vain);
        stats.stack_misses.set(self.memory.stacks.misses());
    }

    /// Takes some of the fibres that others have behind those that are here, so that nothing
    /// starves though all processors are busy with their own. Others may still take them from here:
    /// the next fibre may run for long.
    fn help_others(&self) {
        if let Some(fibre) = self.take_own_background() {
            self.own().push_now(fibre);
        }
        if let Some(fibre) = self.thief.steal(&self.domain, StealMode::SkipWaking) {
            self.ready.push_shared(fibre);
        }
        if self.domain.shared_queues.idle.is_any() {
            // Idle processors come for what is there for all.
            return;
        }
        let staged = std::iter::from_fn(|| self.take_staged()).take(STAGED_AT_ONCE);
        for fibre in staged.chain(self.take_common_background()) {
            self.ready.push_shared(fibre);
        }
    }

    /// How many of the fibres in the queue of started fibres have had their turn in so many
    /// switches, since the last service. If that queue is empty, all switches count, as nobody
    /// would have to wait.
    fn turns_since_service(&self, switches: u32) -> u32 {
        let others = self.own().take_shared_turns();
        if self.own().has_started() {
            switches.saturating_sub(others)
        } else {
            switches
        }
    }

    /// Sets the switches until the next service.
    fn plan_service(&self, switches: u32) {
        self.service.planned.set(switches);
        self.service.left.set(switches);
    }

    /// Wakes fibres that have reached their deadlines: a batch at most, and no more than have had
    /// their `turns` since the last time, so that the queue does not grow. The next batch comes
    /// soon.
    fn fire_timers(&self, now: Instant, turns: u32) {
        self.begin_phase(TracePhase::FiresTimers);
        let more = self.timers.fire(now, turns.min(BATCH));
        self.begin_phase(TracePhase::Nothing);
        if more {
            self.plan_service(self.service.left.get().min(BATCH));
        }
    }

    /// Delivers the events that are there.
    fn poll_events(&self) {
        if let Some(driver) = self.ready.driver() {
            self.begin_phase(TracePhase::Polls);
            driver.poll();
            self.end_poll(driver);
            self.polling.begin(driver.delivered());
        }
    }

    /// Counts a point where the running fibre could let others go first. `true`: it has run for so
    /// long that it should.
    #[inline]
    pub(crate) fn slice_is_over(&self) -> bool {
        self.slices.run.count() && self.end_slice()
    }

    /// The part of [`slice_is_over`](Self::slice_is_over) that reads the clock. A fibre that never
    /// switches otherwise has the processor serviced here.
    #[cold]
    fn end_slice(&self) -> bool {
        if let Some(gives_way) = self.gives_way() {
            return gives_way;
        }
        let now = Instant::now();
        if now - self.service.last.get() >= SERVICE_PERIOD {
            let left = self.service.left.replace(0);
            self.service.planned.set(self.service.planned.get() - left);
        }
        // The fibre that was to run next has waited long enough to be worth a wake-up.
        self.own().offer_next();
        self.slices.run.is_over_at(now)
    }

    /// Notes that the running fibre has begun to publish its wait, or has finished that.
    pub(crate) fn set_publishing(&self, publishing: bool) {
        self.call_state.publishing.set(publishing);
    }

    /// Notes the domain that the running fibre goes to when it leaves the cluster next; and whether
    /// the fibre will come back, and is counted here until then.
    pub(crate) fn set_destination(&self, destination: Arc<Domain>, stays_counted: bool) {
        self.next
            .destination
            .set(Some((destination, stays_counted)));
    }

    /// Makes `successor` run next; the running fibre makes way for it.
    #[inline]
    pub(crate) fn succeed_by(&self, successor: Runnable) {
        self.next.successor.fill(successor);
    }

    /// Has `successor` run next, and says how the running fibre makes way: it goes behind the
    /// others once fibres have done so for long.
    #[inline]
    pub(crate) fn change_places(&self, successor: Runnable) -> Action {
        self.succeed_by(successor);
        if self.slices.way.count() && self.slices.way.is_over_at(Instant::now()) {
            self.slices.way.restart();
            return Action::Yield;
        }
        Action::MakeWay
    }

    /// Whether a fibre that waits at home has its home here.
    #[inline]
    pub(crate) fn is_home_of(&self, fibre: FibreRef) -> bool {
        // SAFETY: the caller is about to wake the fibre, so it waits and is alive.
        ptr::eq(unsafe { fibre.as_ref() }.home(), Arc::as_ptr(&self.ready))
    }

    /// Whether this thread should spin for what another processor is about to do: it has nothing
    /// else to run, and the other one can run meanwhile.
    #[inline]
    pub(crate) fn may_spin(&self) -> bool {
        self.domain.spins() && self.own().is_empty()
    }

    /// Halves or doubles the number of switches between services, so that their
    /// distance in time stays near [`SERVICE_PERIOD`].
    fn adapt_interval(&self, elapsed: Duration) {
        let interval = self.service.interval.get();
        let next = if elapsed > SERVICE_PERIOD {
            (interval / 2).max(SHORTEST_INTERVAL)
        } else if elapsed < SERVICE_PERIOD / 2 {
            (interval * 2).min(SERVICE_INTERVAL)
        } else {
            interval
        };
        self.service.interval.set(next);
        self.plan_service(next);
    }

    /// The state that the processor shares with the others of its cluster.
    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// What it counts.
    #[inline]
    pub(crate) fn stats(&self) -> &ProcessorStats {
        // SAFETY: the domain keeps its counts as long as it lives, which this processor's share
        // of it sees to.
        unsafe { self.stats.as_ref() }
    }

    /// The processor's place in the domain.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The processor's ready queue.
    pub(crate) fn ready(&self) -> &Arc<ReadyQueue> {
        &self.ready
    }

    /// The same, as its owner sees it.
    #[inline(always)]
    fn own(&self) -> Owner<'_> {
        // SAFETY: only its own thread has a processor, and a queue has one processor.
        unsafe { self.ready.as_owner() }
    }

    /// Deadlines of fibres that wait here.
    pub(crate) fn timers(&self) -> &Timers<ControlBlock> {
        &self.timers
    }

    /// Memory of fibres that ended here.
    #[inline]
    pub(crate) fn blocks(&self) -> &BlockCache {
        &self.memory.blocks
    }

    /// The fibre that runs on this thread.
    #[inline]
    pub(crate) fn running(&self) -> Option<FibreRef> {
        // The block begins with its node.
        NonNull::new(self.running.load(Ordering::Relaxed).cast())
    }

    /// Whether another processor of the cluster has nothing to run.
    pub(crate) fn others_idle(&self) -> bool {
        // The caller's own processor does not rest.
        let queues = self.domain.queues();
        queues.iter().any(|queue| queue.is_idle())
    }

    /// Whether a fibre that leaves its stack here runs nowhere else before it has run here again:
    /// no other processor takes any, or there is none. A processor that is added later may take
    /// some, but spares those that wait at home.
    #[inline]
    pub(crate) fn keeps_fibres(&self) -> bool {
        self.home.keeps || (self.home.keeps_alone && self.domain.processors() == 1)
    }

    /// Whether the fibres that have started here stay, whatever processors are added.
    pub(crate) fn never_gives_fibres_away(&self) -> bool {
        self.home.keeps
    }

    /// Whether waits with a limit may end at home, too.
    #[inline]
    pub(crate) fn limits_at_home(&self) -> bool {
        self.home.limits
    }

    /// Whether a fibre that yields would come back at once. Counts as a switch,
    /// so that a lone fibre which yields in a loop still gets serviced.
    #[inline]
    pub(crate) fn yields_to_nobody(&self) -> bool {
        let left = self.service.left.get();
        let nobody = left > 0 && self.own().is_empty();
        if nobody {
            self.service.left.set(left - 1);
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
