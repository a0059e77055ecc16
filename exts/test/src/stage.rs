//! What a run plays on: its time, its choices, and whether it has come to an end.
//!
//! A stage directs the one processor of a run's cluster ([`Director`]). Its phases:
//!
//! ```text
//!   Waiting ──► Playing ──► Ending ──► Over
//!                  └──────────────────►┘
//! ```
//!
//! It waits until the closure of the test begins, which *plays* until it returns. Then what is
//! ready goes on until nothing is (*ending*). The run is over when that is so, or when the stage
//! has seen what ends it before. From then on the fibres are the cluster's, which is stopped: they
//! run in order, and nothing is noted any more.
//!
//! The time is one word, which all may read; everything else lies under one lock. The processor's
//! thread takes it between two fibres, and running fibres for some instructions, without a switch.

use crate::invariants::Invariants;
use crate::network::Network;
use crate::random::mix;
use crate::schedule::account::Account;
use crate::schedule::picker::{Left, Picker};
use crate::schedule::switches::Switches;
use crate::trace::{Event, Trace};
use fibre_core::internal::{Director, IdleAction, with_director};
use fibre_core::{SwitchReason, WaitKind, WaitObject, name};
use fibre_io::simulated::Socket;
use fibre_io::stand_in;
use fibre_sync::Event as Signal;
use std::any::Any;
use std::backtrace::Backtrace;
use std::collections::{HashMap, VecDeque};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long, in the time of the machine, another thread may take to show that it wakes what seems
/// to be deadlocked.
const GRACE: Duration = Duration::from_millis(20);

/// How a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The closure has returned, or panicked, and nothing can run any more.
    Done,
    /// Nothing can run, and nothing is due.
    Deadlock,
    /// This fibre waits for something outside.
    Outside(u64, WaitObject),
    /// This fibre has moved to another cluster.
    Moved(u64),
    /// This fibre has failed, and nobody learns of it.
    Unseen(u64),
    /// Another thread has woken a fibre.
    Woken,
    /// There have been more switches than there may be.
    Endless,
    /// The invariant at this place does not hold.
    Broken(usize),
    /// A fibre has not switched for long, in the time of the machine.
    Stuck,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Playing,
    Ending,
    Over(Verdict),
}

/// What a run plays on.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The nanoseconds that have passed.
    elapsed: AtomicU64,
    /// What the monotonic clock showed when the processor first asked.
    birth: OnceLock<Duration>,
    /// How many switches there have been.
    switches: AtomicU64,
    /// How many there may be.
    most_switches: u64,
    /// How another thread's wake-up is waited for, and what is said meanwhile.
    kind: RunKind,
    /// Whether the run has failed.
    has_failed: AtomicBool,
    /// What random bytes follow from, and how often they have been read.
    noise: (u64, AtomicU64),
    pub(crate) invariants: Invariants,
    state: Mutex<State>,
    /// The simulated network. Its lock is taken alone, or behind that of the state.
    network: Mutex<Network>,
    /// Notified when the run is over.
    over: Condvar,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunKind {
    /// It is the first one with its choices.
    First,
    /// It repeats a failed one, and says nothing of panics.
    Repeats,
    /// It repeats a failed one, and keeps an account of its switches.
    Tells,
}

/// What lies under the lock.
#[derive(Debug)]
struct State {
    phase: Phase,
    picker: Picker,
    trace: Trace,
    /// The fibres that wait until nothing can run.
    settlers: VecDeque<Arc<Signal>>,
    /// Whether the running fibre gives way because it has been told to.
    told_to_give_way: bool,
    /// The live fibres that are of hosts, and which hosts. A fibre is of the host of the one that
    /// has started it.
    on_hosts: HashMap<u64, usize>,
    /// The host of the fibre that runs. When those are seen that it has started, it may have ended.
    runs_on: Option<usize>,
    account: Account,
}

/// Separates random bytes from other choices.
const NOISE: u64 = 0xa3ec_647e_86b1_1d5f;

impl Stage {
    /// The stage of a run with these choices. What is random besides follows from the seed.
    pub(crate) fn new(picker: Picker, seed: u64, most_switches: u64, kind: RunKind) -> Self {
        Self {
            elapsed: AtomicU64::new(0),
            birth: OnceLock::new(),
            switches: AtomicU64::new(0),
            most_switches,
            kind,
            has_failed: AtomicBool::new(false),
            noise: (mix(seed ^ NOISE), AtomicU64::new(0)),
            invariants: Invariants::default(),
            state: Mutex::new(State {
                phase: Phase::Waiting,
                picker,
                trace: Trace::default(),
                settlers: VecDeque::new(),
                told_to_give_way: false,
                on_hosts: HashMap::new(),
                runs_on: None,
                account: Account::default(),
            }),
            network: Mutex::new(Network::new(seed)),
            over: Condvar::new(),
        }
    }

    /// How much time has passed.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed.load(Ordering::Relaxed))
    }

    /// What the monotonic clock shows; `real` reads the machine's.
    pub(crate) fn monotonic(&self, real: impl FnOnce() -> Duration) -> Duration {
        *self.birth.get_or_init(real) + self.elapsed()
    }

    /// Whether the calling thread is the processor of this run.
    pub(crate) fn is_callers(&self) -> bool {
        Self::of_caller(|stage| ptr::eq(stage, self)) == Some(true)
    }

    /// Panics if the calling thread is not the processor of this run.
    pub(crate) fn refuse_others(&self) {
        assert!(
            self.is_callers(),
            "fibre-test: hosts and links are of one run, and only its fibres can use them"
        );
    }

    /// Calls `f` with the stage that the calling thread is the processor of, if it is one's.
    pub(crate) fn of_caller<R>(f: impl FnOnce(&Self) -> R) -> Option<R> {
        with_director(|director| {
            let director: &dyn Any = director;
            director.downcast_ref().map(f)
        })
        .flatten()
    }

    /// The closure begins.
    pub(crate) fn begin(&self) {
        self.lock().phase = Phase::Playing;
    }

    /// The closure has returned or panicked.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Playing {
            state.phase = Phase::Ending;
        }
    }

    /// Has `signal` set when nothing can run.
    pub(crate) fn settle(&self, signal: Arc<Signal>) {
        self.lock().settlers.push_back(signal);
    }

    /// Waits until the run is over, or no fibre has switched for as long as `patience`. Blocks the
    /// thread.
    pub(crate) fn wait(&self, patience: Duration) -> Verdict {
        let mut state = self.lock();
        loop {
            match state.phase {
                Phase::Over(Verdict::Deadlock) => break,
                Phase::Over(verdict) => return verdict,
                _ => {}
            }
            let before = self.switches.load(Ordering::Relaxed);
            let (after, timeout) = self
                .over
                .wait_timeout(state, patience)
                .unwrap_or_else(PoisonError::into_inner);
            state = after;
            let stands = self.switches.load(Ordering::Relaxed) == before;
            if timeout.timed_out() && stands && !matches!(state.phase, Phase::Over(_)) {
                state.phase = Phase::Over(Verdict::Stuck);
            }
        }
        // Another thread may be about to wake one of them.
        let is_deadlocked = |state: &mut State| state.phase == Phase::Over(Verdict::Deadlock);
        let grace = match self.kind {
            RunKind::First => GRACE,
            RunKind::Repeats | RunKind::Tells => Duration::ZERO,
        };
        let waited = self.over.wait_timeout_while(state, grace, is_deadlocked);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match state.phase {
            Phase::Over(verdict) => verdict,
            _ => Verdict::Deadlock,
        }
    }

    /// Calls the network, and tells those whom that concerns.
    pub(crate) fn with_network<R>(&self, call: impl FnOnce(&mut Network) -> R) -> R {
        let mut network = self.network();
        network.set_now(self.elapsed.load(Ordering::Relaxed));
        let called = call(&mut network);
        let mut effects = network.take_effects();
        drop(network);
        let mut state = self.lock();
        if state.plays() {
            let notes = effects.notes.drain(..);
            notes.for_each(|note| state.trace.note(Event::Network, note));
        }
        drop(state);
        effects.wake();
        called
    }

    /// The fibre with this number, and those that it starts, are of this host.
    pub(crate) fn puts_on_host(&self, fibre: u64, host: usize) {
        self.lock().on_hosts.insert(fibre, host);
    }

    /// How many live fibres are of hosts.
    pub(crate) fn live_on_hosts(&self) -> usize {
        self.lock().on_hosts.len()
    }

    /// The name of the host that a fibre is of.
    pub(crate) fn host_of(&self, fibre: u64) -> Option<String> {
        let host = *self.lock().on_hosts.get(&fibre)?;
        Some(self.network().host_name(host).to_owned())
    }

    /// The number of the run so far.
    pub(crate) fn hash(&self) -> u64 {
        self.lock().trace.hash()
    }

    /// How many switches there may be.
    pub(crate) fn most_switches(&self) -> u64 {
        self.most_switches
    }

    /// How many switches there have been.
    pub(crate) fn switches(&self) -> u64 {
        self.switches.load(Ordering::Relaxed)
    }

    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills a buffer with bytes that follow from the seed. Takes no lock, as what holds one may
    /// need random bytes, a new `HashMap` for instance.
    pub(crate) fn fill(&self, buffer: &mut [u8]) {
        let (seed, count) = &self.noise;
        for chunk in buffer.chunks_mut(8) {
            let number = count.fetch_add(1, Ordering::Relaxed);
            let bytes = mix(seed ^ mix(number)).to_ne_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }

    /// Whether nothing is said of panics: of those that a repeated run has again, and of those that
    /// follow from the end of a failed one.
    pub(crate) fn is_quiet(&self) -> bool {
        self.kind != RunKind::First || self.has_failed.load(Ordering::Relaxed)
    }

    /// Notes that the run has failed, and is about to be unwound.
    pub(crate) fn note_failed(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// The choices of the run, which is over, and its account.
    pub(crate) fn take(&self) -> (Picker, Account) {
        let mut state = self.lock();
        let picker = Picker::by_switches(&Switches::default(), 0);
        let picker = std::mem::replace(&mut state.picker, picker);
        (picker, std::mem::take(&mut state.account))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run, if it still goes on.
    fn finish(&self, mut state: MutexGuard<'_, State>, verdict: Verdict) {
        if matches!(state.phase, Phase::Playing | Phase::Ending) {
            state.phase = Phase::Over(verdict);
            self.over.notify_all();
        }
    }

    /// What the clock shows at this moment, if it comes.
    fn nanoseconds_at(&self, moment: Instant) -> u64 {
        // This thread's clock is this stage's.
        let wait = moment.saturating_duration_since(Instant::now());
        let wait = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX / 2);
        self.elapsed.load(Ordering::Relaxed).saturating_add(wait)
    }

    /// Makes the clock show this.
    fn pass_until(&self, state: &mut State, now: u64) {
        self.elapsed.store(now, Ordering::Relaxed);
        state.trace.note(Event::Time, now);
    }
}

impl State {
    /// Notes that the last fibre that ran has started those that are new among these.
    fn note_new(&mut self, ready: &[u64]) {
        if self.phase == Phase::Waiting {
            // That of the test is known before it plays.
            for &fibre in ready {
                self.trace.place_of(fibre);
            }
        }
        let Some(host) = self.runs_on else {
            return;
        };
        for &fibre in ready {
            if !self.trace.knows(fibre) {
                // One that a host has started on another host is known already.
                self.on_hosts.entry(fibre).or_insert(host);
            }
        }
    }

    /// Whether the run goes on.
    fn plays(&self) -> bool {
        matches!(self.phase, Phase::Playing | Phase::Ending)
    }

    /// Notes who runs, and where that is if it leaves the default order here. Called by the running
    /// fibre.
    fn note_running(&mut self) {
        let running = self.picker.running();
        self.account.runs(running, name());
        if self.picker.is_about_to_switch() {
            self.account.gives_way(running, Backtrace::force_capture());
        }
    }
}

impl Director for Stage {
    fn choose(&self, ready: &[u64]) -> usize {
        let mut state = self.lock();
        state.note_new(ready);
        if !state.plays() {
            return 0;
        }
        let switches = self.switches.load(Ordering::Relaxed);
        self.switches.store(switches + 1, Ordering::Relaxed);
        if switches >= self.most_switches {
            self.finish(state, Verdict::Endless);
            return 0;
        }
        let places: Vec<_> = ready
            .iter()
            .map(|&fibre| state.trace.place_of(fibre))
            .collect();
        let chosen = state.picker.choose(&places);
        state.runs_on = state.on_hosts.get(&ready[chosen]).copied();
        state.trace.note(Event::Ready, places.len() as u64);
        state.trace.note(Event::Chosen, places[chosen] as u64);
        chosen
    }

    fn gives_way(&self) -> bool {
        let mut state = self.lock();
        let gives_way = state.plays() && state.picker.gives_way();
        state.told_to_give_way = gives_way;
        if gives_way && self.kind == RunKind::Tells {
            state.note_running();
        }
        gives_way
    }

    fn draw(&self) -> u32 {
        let mut state = self.lock();
        let draw = state.picker.draw();
        if state.plays() {
            state.trace.note(Event::Drawn, draw.into());
        }
        draw
    }

    fn is_quiet(&self) -> bool {
        Self::is_quiet(self)
    }

    fn failed_unseen(&self, fibre: u64) {
        let state = self.lock();
        self.finish(state, Verdict::Unseen(fibre));
    }

    fn left(&self, fibre: u64, reason: SwitchReason, awaited: Option<WaitObject>) {
        let mut state = self.lock();
        if reason == SwitchReason::Ends {
            state.on_hosts.remove(&fibre);
        }
        let plays = state.plays();
        drop(state);
        if !plays {
            return;
        }
        // Without the lock, as a check may read the time, and a socket asks the network.
        let broken = self.invariants.broken();
        let tells = self.kind == RunKind::Tells;
        let object = awaited.filter(|_| tells).map(words_of);
        let mut state = self.lock();
        let told = std::mem::take(&mut state.told_to_give_way);
        let place = state.trace.place_of(fibre);
        let left = match reason {
            SwitchReason::Yields if told => Left::Told,
            SwitchReason::Yields => Left::Yielded,
            _ => Left::Stopped,
        };
        state.picker.left(place, left);
        if tells {
            let host = state.on_hosts.get(&fibre);
            let host = host.map(|&host| self.network().host_name(host).to_owned());
            state.account.left(place, (fibre, host), reason, object);
        }
        let kind = awaited.map_or(0, |awaited| awaited.kind() as u64);
        state.trace.note(Event::Left, (reason as u64) << 8 | kind);
        if let Some(place) = broken {
            return self.finish(state, Verdict::Broken(place));
        }
        if reason == SwitchReason::Moves {
            return self.finish(state, Verdict::Moved(fibre));
        }
        if let Some(awaited) = awaited.filter(|&awaited| is_outside(awaited)) {
            self.finish(state, Verdict::Outside(fibre, awaited));
        }
    }

    fn woken_from_outside(&self) {
        let mut state = self.lock();
        if state.plays() || state.phase == Phase::Over(Verdict::Deadlock) {
            state.phase = Phase::Over(Verdict::Woken);
            self.over.notify_all();
        }
    }

    fn nothing_ready(&self, next: Option<Instant>) -> IdleAction {
        let mut state = self.lock();
        if let Phase::Waiting | Phase::Over(_) = state.phase {
            return IdleAction::Sleeps;
        }
        let due = self.network().next_due();
        let now = self.elapsed.load(Ordering::Relaxed);
        if due.is_some_and(|due| due <= now) {
            drop(state);
            self.with_network(Network::fire);
            return IdleAction::Looks;
        }
        if let Some(signal) = state.settlers.pop_front() {
            drop(state);
            signal.set();
            return IdleAction::Looks;
        }
        let timer = next.map(|moment| self.nanoseconds_at(moment));
        // The network first: a call that gives up at this moment finds what comes now.
        match timer.into_iter().chain(due).min() {
            _ if state.phase == Phase::Ending => self.finish(state, Verdict::Done),
            Some(moment) => {
                self.pass_until(&mut state, moment);
                drop(state);
                if due == Some(moment) {
                    self.with_network(Network::fire);
                }
                return IdleAction::Looks;
            }
            None => self.finish(state, Verdict::Deadlock),
        }
        IdleAction::Sleeps
    }
}

/// Whether the kit cannot know when such a wait ends.
fn is_outside(awaited: WaitObject) -> bool {
    match awaited.kind() {
        WaitKind::SelectOutside | WaitKind::Blocking | WaitKind::Cluster => true,
        WaitKind::Io => socket_of(awaited).is_none(),
        _ => false,
    }
}

/// The simulated socket that a fibre waits for, if it is one.
fn socket_of(awaited: WaitObject) -> Option<Arc<dyn Socket>> {
    let is_io = awaited.kind() == WaitKind::Io;
    awaited.number().filter(|_| is_io).and_then(stand_in)
}

/// What a fibre waits for, in words. Not under the locks of the stage.
pub(crate) fn words_of(awaited: WaitObject) -> String {
    match socket_of(awaited) {
        Some(socket) => socket.to_string(),
        None => awaited.to_string(),
    }
}
