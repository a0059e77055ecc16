//! Deadlocks: fibres that wait for each other, and processes with fibres that all wait for ever.
//!
//! A look makes one cluster after the other stand still, and notes what each fibre waits for, and
//! the number of that wait. The watch reports a finding if the next look, a second later, finds the
//! same waits, each more than a second old by then.
//!
//! **Why that is not a false alarm.** Clusters stand still one after the other, so one look may
//! show waits that never existed at the same time. But if two looks show a wait, it has lasted from
//! the first to the second, as a later wait of the same fibre has another number. So all of these
//! waits existed at once at some time between the looks.
//!
//! * In a *cycle* each fibre then waits for an object of the next one. A fibre gives an object back
//!   only by running. So none of them goes on by itself: only a limit of one of the waits can end
//!   them, or a cancellation, or a thread that gives back an object that is not its own.
//! * *All wait* if five things hold: all fibres of all clusters wait at that time; no descriptor
//!   could end a wait; no deadline is armed; the program handles no signal; and each of its threads
//!   has waited in a futex, without a limit, from one look to the next (`outside`). Then nothing is
//!   left in the process that could run. (This ignores memory that other processes share.)
//!
//! Looks come once a second, and later if one took long, so that the clusters stand still for a
//! two-hundredth of the time at most. When no processor has been busy for some looks, no fibre can
//! change anything, and the next look comes only when one is. But if nothing except threads of the
//! program keeps all fibres from waiting for ever, these may come to rest without any fibre: then
//! looks go on, with pauses that double up to about a minute.

use super::outside::{self, Still};
use super::searches::Searches;
use crate::cycles::cycles;
use crate::descriptors::with_shared_descriptors;
use crate::form::text;
use crate::gather::gather;
use crate::report::Report;
use crate::sample::stuck::snapshot::may_be_stuck;
use crate::stack::modules::Modules;
use fibre_core::internal::{ClusterView, FibreView, FibreVisitor, ProcessorView, inspect, observe};
use fibre_core::{StuckProcessor, WaitKind, WaitObject};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// How long a lock of the runtime is waited for.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The age of a wait, and the time between two looks.
const LONG: Duration = Duration::from_secs(1);

/// How much longer there is no look than the last one took.
const REST: u32 = 200;

/// Looks at a process at rest before there is none until a processor is busy.
const LOOKS_AT_REST: u32 = 3;

/// How often the pause between looks doubles while a process at rest waits for threads.
const DOUBLINGS: u32 = 6;

/// Fibres that may come between the count and the standstill.
const MORE: usize = 4096;

/// A fibre that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait {
    id: u64,
    object: WaitObject,
    /// The number of the wait.
    number: u32,
    /// Whether it has lasted long enough.
    is_old: bool,
    /// For how long it has lasted.
    age: Duration,
    /// The fibre or thread that has the object.
    owner: Option<u64>,
}

impl Wait {
    /// What another wait of the same fibre differs in.
    fn identity(&self) -> Identity {
        (self.id, self.object, self.number)
    }
}

/// A wait, by its fibre, its object and its number.
type Identity = (u64, WaitObject, u32);

/// What one look shows.
#[derive(Debug, Default)]
struct Look {
    waits: Vec<Wait>,
    /// Fibres of all clusters, those included that have not started.
    live: usize,
    /// The threads of the processors.
    processors: Vec<i32>,
    /// Whether something goes on, or may: a fibre runs, or could; a deadline is armed; or something
    /// was not seen.
    goes_on: bool,
}

impl FibreVisitor for Look {
    fn cluster(&mut self, cluster: ClusterView<'_>) {
        self.waits.reserve(cluster.live + cluster.live / 8 + MORE);
        self.live += cluster.live;
        self.goes_on |= cluster.timed;
    }

    fn processor(&mut self, processor: ProcessorView) {
        self.processors.push(processor.thread);
    }

    fn fibre(&mut self, fibre: FibreView<'_>) {
        let waits = fibre.awaited().filter(|_| fibre.is_still());
        let Some(object) = waits.filter(|_| self.waits.len() < self.waits.capacity()) else {
            self.goes_on = true;
            return;
        };
        self.waits.push(Wait {
            id: fibre.id(),
            object,
            number: fibre.wait_number(),
            is_old: fibre.since().is_some_and(|since| since.elapsed() >= LONG),
            age: fibre
                .since()
                .map_or(Duration::ZERO, |since| since.elapsed()),
            owner: fibre.owner(),
        });
    }

    fn unseen(&mut self, _: StuckProcessor) {
        self.goes_on = true;
    }

    fn missed(&mut self) {
        self.goes_on = true;
    }

    fn unread(&mut self, _: &str) {
        self.goes_on = true;
    }
}

impl Look {
    /// The fibres of each cycle of its waits, old and young, in its order.
    fn cycles(&self) -> Vec<Vec<u64>> {
        let owned = self.waits.iter();
        let owned = owned.filter_map(|wait| Some((wait.id, wait.owner?)));
        cycles(&owned.collect::<Vec<_>>())
    }
}

/// What a look suspects.
#[derive(Debug, Default, PartialEq, Eq)]
struct Suspicion {
    /// The cycles, each beginning with its lowest number.
    cycles: Vec<Vec<Identity>>,
    /// All waits, if nothing could end any of them, except threads of the program.
    all: Option<Vec<Identity>>,
    /// These threads, if they wait, too.
    threads: Option<Still>,
}

impl Suspicion {
    /// What this look, with these cycles, gives reason to suspect. `still` finds the threads of the
    /// program that wait, if none can end a wait.
    fn new(look: &Look, cycles: &[Vec<u64>], still: impl FnOnce(&[i32]) -> Option<Still>) -> Self {
        let by_id: HashMap<u64, &Wait> = look.waits.iter().map(|wait| (wait.id, wait)).collect();
        let is_old = |cycle: &&Vec<u64>| cycle.iter().all(|id| by_id[id].is_old);
        let cycles = cycles.iter().filter(is_old).map(|cycle| {
            let mut cycle = cycle.clone();
            let lowest = (0..cycle.len()).min_by_key(|at| cycle[*at]);
            cycle.rotate_left(lowest.unwrap_or(0));
            cycle.iter().map(|id| by_id[id].identity()).collect()
        });
        let outside = [WaitKind::Io, WaitKind::SelectOutside];
        let can_end = |wait: &Wait| outside.contains(&wait.object.kind()) || !wait.is_old;
        let is_over = !look.goes_on
            && !look.waits.is_empty()
            && look.waits.len() == look.live
            && !look.waits.iter().any(can_end);
        let all = is_over.then(|| {
            let mut waits: Vec<_> = look.waits.iter().map(Wait::identity).collect();
            waits.sort_unstable_by_key(|(id, ..)| *id);
            waits
        });
        Self {
            cycles: cycles.collect(),
            threads: all.as_ref().and_then(|_| still(&look.processors)),
            all,
        }
    }

    /// Whether all fibres wait for ever, unless a thread of the program ends a wait.
    fn is_up_to_threads(&self) -> bool {
        // A cycle says more.
        self.all.is_some() && self.cycles.is_empty()
    }
}

/// What two looks have found.
#[derive(Debug, PartialEq, Eq)]
enum Deadlock {
    /// These fibres wait for each other.
    Cycle(Vec<u64>),
    /// All fibres wait.
    All,
    /// Nobody else can wake these fibres.
    Stuck(Vec<u64>),
}

/// The looks.
#[derive(Debug)]
pub(crate) struct Deadlocks {
    /// What the last look suspected.
    suspicion: Suspicion,
    /// What has been told.
    told: HashSet<u64>,
    /// When the next look is due.
    due: Instant,
    /// How many looks in a row have found the process as it was at the one before, and what the
    /// processors had done by the last one.
    at_rest: (u32, Option<u64>),
    /// Whether the last look has found that a thread of the program may still end a wait, and
    /// nothing else.
    threads_run: bool,
    /// By how many doublings the next pause between looks at a process at rest is longer.
    doublings: u32,
    /// Whether the next look may tell, and is not to be put off.
    may_tell: bool,
    /// The searches for stuck fibres.
    searches: Searches,
}

impl Deadlocks {
    /// Nothing has been looked at.
    pub(crate) fn new() -> Self {
        Self {
            suspicion: Suspicion::default(),
            told: HashSet::new(),
            due: Instant::now() + LONG,
            at_rest: (0, None),
            threads_run: false,
            doublings: 0,
            may_tell: false,
            searches: Searches::new(),
        }
    }

    /// When the next look is due. `None`: not before a processor is busy.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.is_at_rest() || self.threads_run).then_some(self.due)
    }

    /// Whether fibres give no reason for another look. A processor that is busy again gives one,
    /// so nobody should sleep through that.
    pub(super) fn is_at_rest(&self) -> bool {
        self.at_rest.0 >= LOOKS_AT_REST && !self.searches.is_pending()
    }

    /// How long to wait until the next look, unless this one took long.
    fn next_pause(&mut self) -> Duration {
        if std::mem::take(&mut self.may_tell) {
            return LONG;
        }
        let doublings = if self.is_at_rest() { self.doublings } else { 0 };
        self.doublings = (doublings + 1).min(DOUBLINGS);
        LONG * (1 << doublings)
    }

    /// Notes that a processor may have been busy.
    pub(crate) fn note_busy(&mut self) {
        if self.at_rest.0 >= LOOKS_AT_REST {
            self.due = Instant::now() + LONG;
        }
        self.at_rest.0 = 0;
        self.threads_run = false;
    }

    /// Looks if that is due. Returns the reports of what is new.
    pub(crate) fn look(&mut self) -> Vec<String> {
        if self.due().is_none_or(|due| Instant::now() < due) {
            return Vec::new();
        }
        let services = || observe(TIMEOUT, &mut |_| {});
        let before = services();
        let begun = Instant::now();
        let mut look = Look::default();
        with_shared_descriptors(|| inspect(&mut look, TIMEOUT));
        let took = begun.elapsed();
        let may_be_stuck = look
            .waits
            .iter()
            .filter(|wait| may_be_stuck(wait.object.kind()));
        let aged = may_be_stuck.map(|wait| ((wait.id, wait.number), wait.age));
        let aged = aged.collect();
        let cycles = look.cycles();
        let found = self.found(Suspicion::new(&look, &cycles, outside::still));
        // Young cycles, too: the next looks tell them, if they last.
        let in_cycles = cycles.into_iter().flatten();
        self.searches.note(aged, in_cycles.collect());
        for deadlock in &found {
            match deadlock {
                Deadlock::Cycle(fibres) => self.searches.note_told(fibres.iter().copied()),
                _ => self
                    .searches
                    .note_told(look.waits.iter().map(|wait| wait.id)),
            }
        }
        let rests = before.is_some() && before == self.at_rest.1;
        self.at_rest = (if rests { self.at_rest.0 + 1 } else { 0 }, services());
        self.due = Instant::now() + self.next_pause().max(took * REST);
        found.iter().filter_map(report).collect()
    }

    /// Searches for stuck fibres if that is due. Returns the reports of what is new. Not to be
    /// called on a thread with descriptors of its own.
    pub(crate) fn search(&mut self) -> Vec<String> {
        let sets = self.searches.search().into_iter();
        sets.filter_map(|set| report(&Deadlock::Stuck(set)))
            .collect()
    }

    /// What this look and the one before have found that has not been told.
    fn found(&mut self, suspicion: Suspicion) -> Vec<Deadlock> {
        let before = std::mem::replace(&mut self.suspicion, suspicion);
        let now = &self.suspicion;
        let seen_twice = |cycle: &&Vec<Identity>| before.cycles.contains(cycle);
        let mut found: Vec<_> = now
            .cycles
            .iter()
            .filter(seen_twice)
            .filter(|cycle| !self.searches.has_found(cycle.iter().map(|(id, ..)| *id)))
            .filter(|cycle| self.told.insert(number(cycle)))
            .map(|cycle| Deadlock::Cycle(cycle.iter().map(|(id, ..)| *id).collect()))
            .collect();
        let all = now.all.as_ref().filter(|_| now.is_up_to_threads());
        let is_found = |all: &&Vec<Identity>| self.searches.has_found(all.iter().map(|it| it.0));
        let untold = all
            .filter(|all| !is_found(all))
            .map(|all| number(all))
            .filter(|all| !self.told.contains(all));
        let rested = before.threads.is_some();
        let rest = now.threads.is_some();
        self.threads_run = untold.is_some();
        match untold {
            Some(all) if rest && before.threads == now.threads && before.all == now.all => {
                self.told.insert(all);
                self.threads_run = false;
                found.push(Deadlock::All);
            }
            // The threads have come to rest. If they stay so, the next look tells.
            Some(_) if rest && !rested => self.may_tell = true,
            _ => {}
        }
        found
    }
}

/// A number for these waits.
fn number(waits: &[Identity]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (id, _, number) in waits {
        (id, number).hash(&mut hasher);
    }
    hasher.finish()
}

/// The report of a deadlock, with the stacks of its fibres; `None`: it is over.
fn report(deadlock: &Deadlock) -> Option<String> {
    let begun = Instant::now();
    let modules = Modules::read();
    let mut found = gather(&modules);
    let mut text = String::from("fibre: deadlock: ");
    let _ = match deadlock {
        Deadlock::Cycle(ids) => {
            found.fibres.retain(|fibre| ids.contains(&fibre.id));
            let mut report = Report::new(found, &modules, begun);
            let is_its = |cycle: &&Vec<u64>| cycle.len() == ids.len() && cycle.contains(&ids[0]);
            let cycle = report.cycles.iter().find(is_its)?.clone();
            let written = text::write_circle(&report, &cycle, &mut text);
            written.and_then(|()| text::write_groups(&mut report, &mut text))
        }
        Deadlock::Stuck(ids) => {
            found.fibres.retain(|fibre| ids.contains(&fibre.id));
            let mut report = Report::new(found, &modules, begun);
            let (noun, them) = if ids.len() == 1 {
                ("fibre waits", "it")
            } else {
                ("fibres wait", "them")
            };
            let count = ids.len();
            let written = writeln!(text, "{count} {noun}, and nobody else can wake {them}");
            written.and_then(|()| text::write_groups(&mut report, &mut text))
        }
        Deadlock::All => {
            let count = found.fibres.len();
            let mut report = Report::new(found, &modules, begun);
            let all = match count {
                1 => "the only fibre waits".to_owned(),
                _ => format!("all {count} fibres wait"),
            };
            let written = writeln!(
                text,
                "{all}, and no timer, descriptor, signal or thread of the program can end that"
            );
            written.and_then(|()| text::write_groups(&mut report, &mut text))
        }
    };
    let _ = writeln!(text, "end of the report of process {}", std::process::id());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait for a mutex of an owner's.
    fn wait(id: u64, number: u32, owner: Option<u64>) -> Wait {
        Wait {
            id,
            object: WaitObject::placeless(WaitKind::Mutex),
            number,
            is_old: true,
            age: LONG,
            owner,
        }
    }

    /// A look that shows these waits, of all fibres that there are.
    fn look(waits: &[Wait]) -> Look {
        Look {
            waits: waits.to_vec(),
            live: waits.len(),
            ..Look::default()
        }
    }

    /// What several looks in a row tell.
    fn told(looks: &[Look], threads: &[Option<Still>]) -> Vec<Vec<Deadlock>> {
        let mut deadlocks = Deadlocks::new();
        let each = looks.iter().zip(threads);
        let each = each.map(|(look, threads)| {
            let suspicion = Suspicion::new(look, &look.cycles(), |_| threads.clone());
            deadlocks.found(suspicion)
        });
        each.collect()
    }

    #[test]
    fn a_circle_is_told_once_when_it_has_been_seen_twice() {
        let cycle = || look(&[wait(7, 1, Some(3)), wait(3, 2, Some(7)), wait(9, 3, None)]);
        let found = told(&[cycle(), cycle(), cycle()], &[None, None, None]);
        assert_eq!(found, [vec![], vec![Deadlock::Cycle(vec![3, 7])], vec![]]);
    }

    #[test]
    fn waits_that_differ_are_no_circle() {
        let with = |number| look(&[wait(7, number, Some(3)), wait(3, 2, Some(7))]);
        assert_eq!(
            told(&[with(1), with(4), with(5)], &[None, None, None]),
            [[], [], []]
        );
        let mut young = with(1);
        young.waits[0].is_old = false;
        let mut still_young = with(1);
        still_young.waits[0].is_old = false;
        assert_eq!(told(&[young, still_young], &[None, None]), [[], []]);
    }

    #[test]
    fn looks_go_on_as_long_as_only_threads_may_end_the_waits() {
        let still = |turns| Some(vec![(10, turns)]);
        let mut deadlocks = Deadlocks::new();
        deadlocks.at_rest.0 = LOOKS_AT_REST;
        assert_eq!(deadlocks.due(), None);
        let mut look_at = |threads: Option<Still>| {
            let found =
                deadlocks.found(Suspicion::new(&look(&[wait(1, 1, None)]), &[], |_| threads));
            let pause = deadlocks.next_pause().as_secs();
            (found, deadlocks.due().map(|_| pause))
        };
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert_eq!(look_at(None), (vec![], Some(pause)));
        }
        // The threads rest at that moment, and have run between the looks.
        for (turns, pause) in [(1, 1), (2, 64), (3, 64)] {
            assert_eq!(look_at(still(turns)), (vec![], Some(pause)));
        }
        assert_eq!(look_at(None), (vec![], Some(64)));
        assert_eq!(look_at(still(4)), (vec![], Some(1)));
        assert_eq!(look_at(still(4)), (vec![Deadlock::All], None));
        assert_eq!(look_at(still(4)), (vec![], None));
        // Until a processor is busy, which the watch waits for.
        assert!(deadlocks.is_at_rest());
        deadlocks.note_busy();
        assert!(!deadlocks.is_at_rest());
        assert_eq!(deadlocks.next_pause(), LONG);
    }

    #[test]
    fn what_a_search_has_told_is_not_told_again() {
        let mut deadlocks = Deadlocks::new();
        deadlocks.searches.note_found([1]);
        let all = || look(&[wait(1, 1, None)]);
        for _ in 0..2 {
            let suspicion = Suspicion::new(&all(), &[], |_| Some(vec![(10, 5)]));
            assert_eq!(deadlocks.found(suspicion), []);
            assert!(!deadlocks.threads_run);
        }
    }

    #[test]
    fn all_wait_only_if_nothing_goes_on() {
        let all = || look(&[wait(1, 1, None), wait(2, 2, Some(1))]);
        let still = || Some(vec![(10, 5)]);
        let found = told(&[all(), all(), all()], &[still(), still(), still()]);
        assert_eq!(found, [vec![], vec![Deadlock::All], vec![]]);
        // A thread that may end a wait, or has run in between.
        assert_eq!(told(&[all(), all()], &[still(), None]), [[], []]);
        assert_eq!(
            told(&[all(), all()], &[still(), Some(vec![(10, 6)])]),
            [[], []]
        );
        let spoilt = |spoil: fn(&mut Look)| {
            let looks = [all(), all()].map(|mut look| {
                spoil(&mut look);
                look
            });
            told(&looks, &[still(), still()])
        };
        assert_eq!(spoilt(|_| {}), [vec![], vec![Deadlock::All]]);
        let spoils: [fn(&mut Look); 4] = [
            |look| look.goes_on = true,
            |look| look.live += 1,
            |look| look.waits[0].is_old = false,
            |look| look.waits.clear(),
        ];
        for spoil in spoils {
            assert_eq!(spoilt(spoil), [[], []]);
        }
        for io in [
            WaitObject::numbered(WaitKind::Io, 5),
            WaitObject::placeless(WaitKind::SelectOutside),
        ] {
            let with_io = || {
                let mut look = all();
                look.waits[0].object = io;
                look
            };
            assert_eq!(told(&[with_io(), with_io()], &[still(), still()]), [[], []]);
        }
    }
}
