//! Spare processors: what a cluster does when fibres that do not switch keep all of its processors.
//!
//! Each fibre that spins, or blocks its thread in a call that the runtime does not know, keeps one
//! processor. Once such fibres keep all of them, the fibres that could end their waits never run.
//! So the process' monitor ([`super::monitor`]) looks at the processors every [`TICK`]. A processor
//! is *stuck* if it has run one fibre, without a service, for [`LOOKS`] ticks, and its thread has
//! had [`ENOUGH`] of a CPU meanwhile, or sleeps in the kernel now. A thread that merely waits for a
//! CPU is not stuck, and another one would not help.
//!
//! There may be no idle watcher, so the monitor does a watcher's work for each stuck processor: it
//! offers movable fibres to all (`ready/rescue.rs`), fires deadlines, and asks for events. If then
//! all processors are stuck and a fibre is ready that any of them may run, one more spare processor
//! takes part: one that stands aside, or else a new one, up to a bound. It is a processor like the
//! others (`processor/spare.rs`). If spare ones are stuck already, as many more take part. Each of
//! them has to run for [`ENOUGH`] before the next look that finds all stuck, and the more there
//! are, the longer that takes. So at most as many of them are idle as are stuck.
//!
//! The runtime reports that once, with a delay: on a busy machine a thread may sleep in the kernel
//! for a moment, for a lock with a holder that gets no CPU. So each regular processor must have
//! computed, or must sleep at [`LONG_ASLEEP`] looks and have had no CPU in between.
//!
//! When one of the regular processors has not been stuck for [`Spares::timeout`], all spare ones
//! stand aside. If they are needed again soon, that timeout doubles: each call back costs some
//! 30 ms.

use super::cluster_threads::ClusterThreads;
use super::computing;
use crate::config::policy::StealOrder;
use crate::processor::os_thread::cpu_time;
use crate::queue::{Link, Runnable};
use crate::scheduler::domain::Domain;
use crate::sync::{AtomicPtr, HeavyBarrier, Ordering};
use crate::sys::stderr;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io::Write;
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// The time between two looks.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// Looks in a row that find a stuck processor with the same fibre, without a service in between.
const LOOKS: u32 = 2;

/// Looks in a row that find a thread asleep before it is to blame.
const LONG_ASLEEP: u32 = 20;

/// The CPU time that makes a thread count as spinning: a fibre that yields all the time is serviced
/// every 256 times, which takes less even where a yield takes tens of microseconds.
const ENOUGH: Duration = Duration::from_millis(10);

/// How long spare processors stay when they are not needed any more: at first, and at most.
const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(10);

/// How long no processor is started after a start has failed.
const REFUSED: Duration = Duration::from_secs(1);

/// What the monitor has seen of one processor.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    /// The fibre that it runs at this look, for comparison only: its address, negated.
    running: usize,
    /// The fibre that it ran, and how many services it had done.
    state: (usize, u64),
    /// How many looks in a row have found this state.
    looks: u32,
    /// The CPU time of its thread at the first of them.
    cpu: Option<Duration>,
    /// Whether it is stuck, as far as this look has found out.
    stuck: bool,
    /// What shows that its fibre is to blame, and not the machine.
    proof: Proof,
    /// The CPU time of its thread since.
    computed: Duration,
    /// How long it has to compute before a layer above is told, again if it has been.
    tell_at: Duration,
}

/// What shows that a fibre keeps its processor, and not the lack of a CPU.
#[derive(Debug, Default, Clone, Copy)]
struct Proof {
    /// Whether it is shown.
    is_given: bool,
    /// The CPU time of the thread, if it slept in the kernel at the last look.
    asleep_at: Option<Duration>,
    /// Looks in a row that found it asleep, and without CPU time since.
    asleep: u32,
}

impl Proof {
    /// What is shown by one more look: whether the thread has computed for long, or else its CPU
    /// time if it sleeps.
    fn add(&mut self, computes: bool, asleep_at: Option<Duration>) {
        let before = std::mem::replace(&mut self.asleep_at, asleep_at);
        self.asleep = match asleep_at {
            None => 0,
            _ if before == asleep_at => self.asleep.saturating_add(1),
            _ => 1,
        };
        self.is_given = computes || self.asleep >= LONG_ASLEEP;
    }
}

/// What the monitor remembers of a cluster.
#[derive(Debug)]
pub(super) struct Spares {
    /// What it has seen of each processor.
    seen: Vec<Seen>,
    /// Since when some regular processor has not been stuck, while spare ones take part.
    calm: Option<Instant>,
    /// How long that has to last before the spare ones stand aside.
    timeout: Duration,
    /// When the spare ones last stood aside.
    dismissed: Option<Instant>,
    /// When a start last failed.
    refused: Option<Instant>,
    /// Whether spare processors take part, and nobody has been told of it.
    untold: bool,
}

impl Default for Spares {
    fn default() -> Self {
        Self {
            seen: Vec::new(),
            calm: None,
            timeout: SHORT,
            dismissed: None,
            refused: None,
            untold: false,
        }
    }
}

impl Spares {
    /// Looks at the processors of a cluster, and helps them. The monitor only.
    pub(super) fn look(
        &mut self,
        cluster_threads: &Arc<ClusterThreads>,
        barrier: HeavyBarrier,
        now: Instant,
    ) {
        let domain = &cluster_threads.domain;
        if domain.control.must_abandon() {
            return;
        }
        self.observe(domain);
        for index in (0..self.seen.len()).filter(|index| self.is_stuck(*index)) {
            help(domain, index, barrier, now);
        }
        for (index, seen) in self.seen.iter().enumerate() {
            domain.arrivals[index].set_kept(seen.stuck);
        }
        self.tell_of_computing(domain);
        let takes_part = |index: usize| !domain.queues()[index].is_aside();
        let mut parts = (0..self.seen.len()).filter(|index| takes_part(*index));
        if parts.all(|index| self.is_stuck(index)) {
            self.calm = None;
            if is_anything_ready(domain) {
                self.call_some(cluster_threads, now);
            }
            let regular = &self.seen[..domain.regular().min(self.seen.len())];
            if self.untold && regular.iter().all(|seen| seen.proof.is_given) {
                self.untold = false;
                tell(domain);
            }
        } else {
            self.dismiss_if_calm(cluster_threads, now);
        }
    }

    /// Finds out which processors are stuck.
    fn observe(&mut self, domain: &Domain) {
        self.seen.resize(domain.processors(), Seen::default());
        // Processors that begin or end wait for this lock, so nothing takes long under it.
        domain.with_runs(|runs| {
            for (index, seen) in self.seen.iter_mut().enumerate() {
                let running = runs.of(index).map_or(ptr::null_mut(), load);
                // As no address, or it would count as a reference to the fibre.
                seen.running = running.addr().wrapping_neg();
            }
        });
        for (index, seen) in self.seen.iter_mut().enumerate() {
            seen.stuck = seen.look(domain, index);
        }
    }

    /// Tells a layer above of processors that compute while others wait for them.
    fn tell_of_computing(&mut self, domain: &Domain) {
        for (index, seen) in self.seen.iter_mut().enumerate() {
            let is_due = seen.stuck && seen.computed >= seen.tell_at;
            if is_due && computing::tell(domain, index, seen.running, seen.computed) {
                seen.tell_at = 2 * seen.computed;
            }
        }
    }

    /// Whether the last look has found a processor stuck.
    fn is_stuck(&self, index: usize) -> bool {
        self.seen[index].stuck
    }

    /// Has as many more spare processors take part as do already, or one, as far as there are any,
    /// or may be.
    fn call_some(&mut self, cluster_threads: &Arc<ClusterThreads>, now: Instant) {
        let domain = &cluster_threads.domain;
        let spares = &domain.queues()[domain.regular()..];
        let wanted = spares
            .iter()
            .filter(|queue| !queue.is_aside())
            .count()
            .max(1);
        let waits = |index: &usize| domain.queues()[*index].is_aside() && !self.is_stuck(*index);
        let there = (0..self.seen.len()).filter(waits).take(wanted);
        let mut called = 0;
        for spare in there {
            domain.set_aside(spare, false);
            called += 1;
        }
        for spare in self.start_some(cluster_threads, wanted - called, now) {
            domain.set_aside(spare, false);
            called += 1;
        }
        if called == 0 {
            return;
        }
        self.untold = true;
        if let Some(before) = self.dismissed.take() {
            let soon = now.saturating_duration_since(before) < 8 * self.timeout;
            self.timeout = if soon {
                (2 * self.timeout).min(LONG)
            } else {
                SHORT
            };
        }
    }

    /// Starts spare processors, which stand aside: as many as are wanted, or may be.
    fn start_some(
        &mut self,
        cluster_threads: &Arc<ClusterThreads>,
        wanted: usize,
        now: Instant,
    ) -> Range<usize> {
        let domain = &cluster_threads.domain;
        // Both may grow, the former being the larger one.
        let regular = domain.regular();
        let spare = domain.processors() - regular;
        let bound = domain.settings.max_spare.unwrap_or(0);
        let wanted = wanted.min(bound.saturating_sub(spare));
        let refused = self.refused.is_some_and(|then| now < then + REFUSED);
        if wanted == 0 || domain.processors() >= domain.capacity() || refused {
            return 0..0;
        }
        let started = cluster_threads.add_spares(wanted);
        self.refused = started.is_err().then_some(now);
        started.unwrap_or_default()
    }

    /// Makes all spare processors stand aside, if the others have switched for long enough.
    fn dismiss_if_calm(&mut self, cluster_threads: &ClusterThreads, now: Instant) {
        // None of them becomes a regular one meanwhile. If a caller is about to make one regular,
        // the next look is early enough.
        let Some(_nobody_adds) = cluster_threads.try_growing() else {
            return;
        };
        let domain = &cluster_threads.domain;
        let mut there = (domain.regular()..self.seen.len())
            .filter(|index| !domain.queues()[*index].is_aside())
            .peekable();
        let kept = || (0..domain.regular()).all(|index| self.is_stuck(index));
        if there.peek().is_none() || kept() {
            self.calm = None;
            return;
        }
        let since = *self.calm.get_or_insert(now);
        if now.saturating_duration_since(since) >= self.timeout {
            there.for_each(|index| domain.set_aside(index, true));
            self.calm = None;
            self.dismissed = Some(now);
        }
    }
}

impl Seen {
    /// Looks at a processor, which runs the fibre in `running`. `true`: the processor is stuck.
    fn look(&mut self, domain: &Domain, index: usize) -> bool {
        let stats = domain.stats(index);
        let state = (self.running, stats.services());
        let thread = stats.thread().filter(|_| self.running != 0);
        let Some(thread) = thread.filter(|_| stats.works_since().is_some()) else {
            *self = Self::default();
            return false;
        };
        if self.looks == 0 || self.state != state {
            *self = Self {
                state,
                looks: 1,
                cpu: cpu_time(thread),
                ..Self::default()
            };
            return false;
        }
        self.looks = self.looks.saturating_add(1);
        if self.looks <= LOOKS {
            return false;
        }
        let cpu = cpu_time(thread);
        let had = cpu.zip(self.cpu);
        self.computed = had.map_or(Duration::ZERO, |(now, then)| now.saturating_sub(then));
        let computes = self.computed >= ENOUGH;
        let sleeps = !computes && sleeps(thread);
        self.proof.add(computes, cpu.filter(|_| sleeps));
        computes || sleeps
    }
}

/// The fibre that a processor runs.
fn load(running: &AtomicPtr<Link>) -> *mut Link {
    running.load(Ordering::Relaxed)
}

/// Does for a stuck processor what others can do for it.
fn help(domain: &Domain, index: usize, barrier: HeavyBarrier, now: Instant) {
    let queue = &domain.queues()[index];
    domain.poll_for(index, |driver| driver.needs_watch());
    if domain.settings.moves_started {
        domain.fire_for(index, now);
    }
    let mut given = 0;
    if queue.has_own() {
        domain.with_runs(|runs| {
            let rescuer = runs
                .of(index)
                .and_then(|running| queue.rescue(running, barrier));
            if let Some(rescuer) = rescuer {
                given += rescuer.give_away(|fibre| {
                    let goes = may_go(domain, fibre);
                    if goes && fibre.has_started() {
                        fibre.block().wait_slot.leave_home();
                    }
                    goes
                });
            }
        });
    }
    if domain.settings.moves_started || domain.settings.steal_order == StealOrder::Never {
        // Thieves leave the last fibre alone, or take nothing at all.
        given += queue.give_away();
    }
    domain.note_rescued(index, given);
}

/// Whether a fibre that has been taken out of the queues of a stuck processor may run elsewhere.
fn may_go(domain: &Domain, fibre: &Runnable) -> bool {
    fibre.link().may_move() && (domain.settings.moves_started || !fibre.has_started())
}

/// Whether a fibre is ready that any processor may run.
fn is_anything_ready(domain: &Domain) -> bool {
    domain.shared_queues.has_work() || domain.queues().iter().any(|queue| queue.has_shared())
}

/// Whether a thread of this process sleeps in the kernel at this moment. Also if there is no
/// `/proc`; but not if descriptors have run out, as another thread would be of no help.
fn sleeps(thread: i32) -> bool {
    let mut stat = [0; STAT];
    let length = match read_stat(thread, &mut stat) {
        Ok(length) => length,
        Err(error) => return !matches!(error, Errno::MFILE | Errno::NFILE),
    };
    // The name, in brackets, may contain any byte.
    let stat = &stat[..length];
    let name = stat.iter().rposition(|byte| *byte == b')');
    let state = name.and_then(|end| stat.get(end + 2));
    state.is_none_or(|state| *state != b'R')
}

/// More than the beginning of a thread's `stat` takes, up to its state: a number, and a name of 15
/// bytes.
const STAT: usize = 64;

/// Reads the beginning of what the kernel tells about a thread. Allocates nothing.
fn read_stat(thread: i32, stat: &mut [u8; STAT]) -> Result<usize, Errno> {
    let mut path = [0_u8; 40];
    // What is left of the zeros ends the path.
    let written = write!(&mut path[..], "/proc/self/task/{thread}/stat");
    let path = written.ok().and(CStr::from_bytes_until_nul(&path).ok());
    let path = path.ok_or(Errno::NAMETOOLONG)?;
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::read(file, stat)
}

/// Reports, once, that spare processors take part.
fn tell(domain: &Domain) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        stderr::warn(format_args!(
            "fibres keep all {} processors of cluster {:?} without switching, while others are ready: \
             spare processors run these (FIBRE_MAX_SPARE)",
            domain.regular(),
            domain.settings.name
        ));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::cluster_threads::ClusterThreads;
    use crate::config::settings::Settings;
    use crate::idle::parker::Driver;
    use crate::sync::heavy_barrier;
    use crate::topology::Places;
    use std::sync::atomic::AtomicU32;

    /// A cluster without threads, of one regular processor and a spare one that takes part.
    fn cluster_threads() -> ClusterThreads {
        let mut settings = Settings::from_environment();
        settings.max_processors = 3;
        let domain = Arc::new(Domain::new(1, settings));
        assert!(domain.activate_spare());
        domain.set_aside(1, false);
        ClusterThreads::new(domain, Places::default())
    }

    /// A thread that sleeps for a moment whenever it gets a CPU is not to blame.
    #[test]
    fn only_a_thread_that_computes_or_goes_on_sleeping_is_to_blame() {
        let given = |looks: &[(bool, Option<u64>)]| {
            let mut proof = Proof::default();
            let each = looks.iter().map(|(computes, asleep_at)| {
                proof.add(*computes, asleep_at.map(Duration::from_micros));
                proof.is_given
            });
            each.collect::<Vec<_>>()
        };
        assert_eq!(given(&[(false, None), (true, None)]), [false, true]);
        let looks = LONG_ASLEEP as usize;
        let mut sleeps = vec![(false, Some(5)); looks];
        let last = |all: &[_]| given(all).pop();
        assert_eq!(last(&sleeps), Some(true));
        assert_eq!(last(&sleeps[1..]), Some(false));
        // It has had a CPU in between, or waits for one.
        for between in [Some(4), None] {
            sleeps[looks / 2] = (false, between);
            assert_eq!(last(&sleeps), Some(false));
        }
    }

    /// The state of a monitor that has seen the first processor switch for so long that spare ones
    /// are not needed any more.
    fn calm(now: Instant, stuck: [bool; 2]) -> Spares {
        let seen = stuck.map(|stuck| Seen {
            stuck,
            ..Seen::default()
        });
        Spares {
            seen: seen.into(),
            calm: Some(now),
            timeout: Duration::ZERO,
            ..Spares::default()
        }
    }

    /// A processor that stands aside takes nothing that others could run, and for a regular one
    /// that would never end.
    #[test]
    fn who_becomes_a_regular_one_does_not_stand_aside() {
        let (cluster_threads, now) = (cluster_threads(), Instant::now());
        let is_aside = || cluster_threads.domain.queues()[1].is_aside();
        let adds = cluster_threads.growing();
        calm(now, [false; 2]).dismiss_if_calm(&cluster_threads, now);
        assert!(!is_aside(), "it may be a regular one in a moment");
        cluster_threads.domain.activate(1);
        drop(adds);
        calm(now, [false; 2]).dismiss_if_calm(&cluster_threads, now);
        assert!(!is_aside(), "it is");
    }

    #[test]
    fn spare_processors_that_are_not_needed_stand_aside() {
        let (cluster_threads, now) = (cluster_threads(), Instant::now());
        calm(now, [true, false]).dismiss_if_calm(&cluster_threads, now);
        assert!(!cluster_threads.domain.queues()[1].is_aside());
        calm(now, [false; 2]).dismiss_if_calm(&cluster_threads, now);
        assert!(cluster_threads.domain.queues()[1].is_aside());
    }

    /// How many take part doubles until they stand aside.
    #[test]
    fn as_many_come_as_there_are() {
        let mut settings = Settings::from_environment();
        settings.max_spare = Some(20);
        settings.slots = 21;
        let domain = Arc::new(Domain::new(1, settings));
        assert!((0..20).all(|_| domain.activate_spare()));
        let cluster_threads = Arc::new(ClusterThreads::new(domain, Places::default()));
        let mut spares = Spares {
            seen: vec![Seen::default(); 21],
            ..Spares::default()
        };
        let aside = || {
            cluster_threads
                .domain
                .queues()
                .iter()
                .filter(|queue| queue.is_aside())
        };
        let mut call = |_| {
            let before = aside().count();
            spares.call_some(&cluster_threads, Instant::now());
            before - aside().count()
        };
        assert_eq!([0; 7].map(&mut call), [1, 1, 2, 4, 8, 4, 0]);
        (1..21).for_each(|index| cluster_threads.domain.set_aside(index, true));
        assert_eq!([0; 3].map(&mut call), [1, 1, 2]);
    }

    /// There may be more processors than when the stuck ones were looked for.
    #[test]
    fn a_cluster_may_grow_while_it_is_looked_at() {
        let (cluster_threads, now) = (cluster_threads(), Instant::now());
        cluster_threads.domain.activate(2);
        calm(now, [false; 2]).dismiss_if_calm(&cluster_threads, now);
        assert!(
            !cluster_threads
                .domain
                .queues()
                .iter()
                .any(|queue| queue.is_aside())
        );
    }

    /// A driver with sleeps that last until they are interrupted.
    #[derive(Default)]
    struct Counting {
        sleeps: AtomicU32,
        interrupts: AtomicU32,
    }

    impl Driver for Counting {
        fn poll(&self) {}

        fn sleep(&self, _: Option<Instant>) {
            self.sleeps.fetch_add(1, Ordering::AcqRel);
            while self.interrupts.load(Ordering::Acquire) < self.sleeps.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }

        fn interrupt(&self) {
            self.interrupts.fetch_add(1, Ordering::AcqRel);
        }

        fn retire(&self) {}
    }

    impl Counting {
        /// The sleeps that have begun, and the interrupts.
        fn counts(&self) -> [u32; 2] {
            [&self.sleeps, &self.interrupts].map(|count| count.load(Ordering::Acquire))
        }
    }

    /// A processor that was stuck when the monitor looked goes to sleep before the monitor takes
    /// its events, and among those may be the one that was to end that sleep. So `poll_for`
    /// interrupts and unparks the processor, whatever it was told before: the poll may have taken
    /// an interrupt that another waker sent.
    #[test]
    fn who_has_gone_to_sleep_meanwhile_is_woken() {
        let Some(barrier) = heavy_barrier() else {
            return;
        };
        let domain = Domain::new(1, Settings::from_environment());
        let queue = &domain.queues()[0];
        let driver = Arc::new(Counting::default());
        queue.install_driver(Arc::<Counting>::clone(&driver));
        // SAFETY: the queue has no owner, and one thread at a time stands in for it.
        let owner = || unsafe { queue.as_owner() };
        let sleep = || drop(owner().announce(false).arm().unwrap().sleep(None));
        // That has notified it.
        sleep();
        domain.stats(0).set_busy_since(0);
        help(&domain, 0, barrier, Instant::now());
        assert_eq!(driver.counts(), [0, 0]);
        domain.stats(0).set_idle();
        std::thread::scope(|scope| {
            scope.spawn(sleep);
            while driver.counts() == [0, 0] {
                std::thread::yield_now();
            }
            help(&domain, 0, barrier, Instant::now());
        });
        assert_eq!(driver.counts(), [1, 2]);
        // It has said that it sleeps, and does not yet.
        help(&domain, 0, barrier, Instant::now());
        sleep();
        assert_eq!(driver.counts(), [1, 3]);
    }
}
