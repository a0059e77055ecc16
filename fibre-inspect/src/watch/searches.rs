//! When the watch searches for stuck fibres, and which it has told.
//!
//! A search copies the process (`stuck`), so there is one only if a fibre has waited for
//! some seconds for what may never come, and has not been judged; then once more when that wait is
//! four times as old, and so on. A search that a thread has not answered in time is repeated soon,
//! and then later and later. Between two searches there is a pause of 200 times as long as the last
//! one took, and of 2000 times as long as all stood still for it. All stand still for the longer
//! the more stacks there are, so with very many fibres the watch does not search.

use crate::output::write_error;
use crate::sample::stuck::{StuckCounts, snapshot};
use fibre_core::Waiting;
use fibre_core::internal::live_fibres;
use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

/// How old a wait is when it is first judged.
const FIRST: Duration = Duration::from_secs(5);

/// By how much older a wait is when it is judged again.
const AGAIN: u32 = 4;

/// The shortest pause between two searches, and how much longer it is than the last one took.
const PAUSE: Duration = Duration::from_secs(10);
const REST: u32 = 200;

/// How much longer it is than all have stood still.
const MOVING: u32 = 2000;

/// The most fibres that the watch searches among.
const MOST: u64 = 10_000;

/// Why there is no search among more.
const TOO_MANY: &str =
    "there are so many that all would stand still for long; fibre::stuck() searches nevertheless";

/// A wait, by its fibre and its number, and its age.
pub(super) type Aged = ((u64, u32), Duration);

/// The searches.
#[derive(Debug)]
pub(super) struct Searches {
    /// The ages of waits when they were judged last.
    judged: HashMap<(u64, u32), Duration>,
    /// The waits of the last look.
    waits: Vec<Aged>,
    /// The fibres in cycles that the last look has shown. Looks tell cycles, and say more.
    in_cycles: HashSet<u64>,
    /// Whether there has been a look since sets were last told.
    looked: bool,
    /// The sets that searches have found, and that have not been told.
    held: Vec<Vec<u64>>,
    /// The fibres that have been told, also for another reason.
    told: HashSet<u64>,
    /// The fibres that a search has told.
    found: HashSet<u64>,
    /// When the next search may begin.
    due: Instant,
    /// Whether a failure has been told.
    failed: bool,
    /// How many searches have come too early, one after the other.
    early: u32,
}

impl Searches {
    /// There has been none.
    pub(super) fn new() -> Self {
        Self {
            judged: HashMap::new(),
            waits: Vec::new(),
            in_cycles: HashSet::new(),
            looked: false,
            held: Vec::new(),
            told: HashSet::new(),
            found: HashSet::new(),
            due: Instant::now(),
            failed: false,
            early: 0,
        }
    }

    /// Notes the waits that a look has shown, of those that may last for ever, and the fibres in
    /// cycles.
    pub(super) fn note(&mut self, waits: Vec<Aged>, in_cycles: HashSet<u64>) {
        let judged = |wait: &Aged| Some((wait.0, *self.judged.get(&wait.0)?));
        self.judged = waits.iter().filter_map(judged).collect();
        self.waits = waits;
        self.in_cycles = in_cycles;
        self.looked = true;
    }

    /// Whether the next look is needed: there is a wait that has never been judged, or a set that
    /// has not been told.
    pub(super) fn is_pending(&self) -> bool {
        let is_new = |(wait, _): &Aged| !self.judged.contains_key(wait);
        !self.held.is_empty() || self.waits.iter().any(is_new)
    }

    /// Whether there is a wait that is to be judged.
    fn is_wanted(&self) -> bool {
        self.waits
            .iter()
            .any(|(wait, age)| match self.judged.get(wait) {
                Some(before) => *age >= *before * AGAIN,
                None => *age >= FIRST,
            })
    }

    /// Searches if that is due. Returns the sets of stuck fibres that an earlier search has found,
    /// once a look has followed.
    pub(super) fn search(&mut self) -> Vec<Vec<u64>> {
        let looked = std::mem::take(&mut self.looked);
        let sets = if looked { self.take_held() } else { Vec::new() };
        if Instant::now() >= self.due && self.is_wanted() {
            self.search_now();
        }
        sets
    }

    /// Searches, and keeps what it has found until the next look: that sees every cycle which has
    /// come since the last one.
    fn search_now(&mut self) {
        let begun = Instant::now();
        let found = if live_fibres() > MOST {
            Err(io::Error::other(TOO_MANY))
        } else {
            snapshot::find(None)
        };
        let stood = StuckCounts::read().paused * MOVING;
        let rest = PAUSE.max(begun.elapsed() * REST).max(stood);
        self.due = Instant::now() + self.pause_after(found.as_ref().err(), rest);
        match found {
            Ok(sets) => {
                self.judged.extend(self.waits.iter().copied());
                self.hold(numbers(sets));
            }
            Err(error) => {
                self.note_failure(&error);
                if !std::mem::replace(&mut self.failed, true) {
                    write_error(&format!("fibre: cannot search for stuck fibres: {error}\n"));
                }
            }
        }
    }

    /// The pause after a search, which is `rest` unless that has come too early: then it is short,
    /// and each time twice as long.
    fn pause_after(&mut self, failure: Option<&io::Error>, rest: Duration) -> Duration {
        if failure.is_none_or(|failure| failure.kind() != io::ErrorKind::TimedOut) {
            self.early = 0;
            return rest;
        }
        self.early += 1;
        rest.min(PAUSE.saturating_mul(1 << (self.early - 1).min(16)))
    }

    /// Notes that a search has failed. One that was merely too early is repeated after the pause: a
    /// thread has had no CPU to answer on, or somebody has kept a lock.
    fn note_failure(&mut self, failure: &io::Error) {
        if failure.kind() != io::ErrorKind::TimedOut {
            self.judged.extend(self.waits.iter().copied());
        }
    }

    /// Notes that these fibres have been told.
    pub(super) fn note_told(&mut self, fibres: impl IntoIterator<Item = u64>) {
        self.told.extend(fibres);
    }

    /// Notes that a search has told these fibres.
    #[cfg(test)]
    pub(super) fn note_found(&mut self, fibres: impl IntoIterator<Item = u64>) {
        self.found.extend(fibres);
    }

    /// Whether a search has told all of these fibres.
    pub(super) fn has_found(&self, fibres: impl IntoIterator<Item = u64>) -> bool {
        fibres.into_iter().all(|fibre| self.found.contains(&fibre))
    }

    /// Keeps sets until the next look, but not those that are kept already.
    fn hold(&mut self, sets: Vec<Vec<u64>>) {
        for set in sets {
            if !self.held.contains(&set) {
                self.held.push(set);
            }
        }
    }

    /// Takes out what was held, and notes it as told: the sets with a fibre that has not been told.
    /// Those with a cycle that has not been told are held until it has, or is over.
    fn take_held(&mut self) -> Vec<Vec<u64>> {
        let is_new = |fibre: &u64| !self.told.contains(fibre);
        let is_left = |fibre: &u64| self.in_cycles.contains(fibre) && is_new(fibre);
        let held = std::mem::take(&mut self.held).into_iter();
        let held = held.filter(|set| set.iter().any(is_new));
        let (held, sets): (Vec<_>, Vec<_>) = held.partition(|set| set.iter().any(is_left));
        self.held = held;
        self.found.extend(sets.iter().flatten().copied());
        self.note_told(sets.iter().flatten().copied());
        sets
    }
}

/// The numbers of the fibres in sets.
fn numbers(sets: Vec<Vec<Waiting>>) -> Vec<Vec<u64>> {
    let of_set = |set: Vec<Waiting>| set.iter().map(|fibre| fibre.id).collect();
    sets.into_iter().map(of_set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look that shows no cycle.
    fn note(searches: &mut Searches, waits: Vec<Aged>) {
        searches.note(waits, HashSet::new());
    }

    #[test]
    fn a_wait_is_judged_when_it_is_old_and_again_when_it_is_much_older() {
        let mut searches = Searches::new();
        let wait = |age: u64| vec![((7, 1), Duration::from_secs(age))];
        note(&mut searches, wait(4));
        assert!(searches.is_pending() && !searches.is_wanted());
        note(&mut searches, wait(5));
        assert!(searches.is_wanted());
        searches.judged.extend(wait(5));
        note(&mut searches, wait(19));
        assert!(!searches.is_pending() && !searches.is_wanted());
        note(&mut searches, wait(20));
        assert!(searches.is_wanted());
        // Another wait of the same fibre.
        note(&mut searches, vec![((7, 2), Duration::from_secs(1))]);
        assert!(searches.is_pending() && searches.judged.is_empty());
    }

    #[test]
    fn a_search_that_comes_too_early_is_repeated() {
        let mut searches = Searches::new();
        note(&mut searches, vec![((7, 1), Duration::from_secs(5))]);
        let early = io::Error::from(io::ErrorKind::TimedOut);
        searches.note_failure(&early);
        assert!(searches.is_pending() && searches.is_wanted());
        let rest = PAUSE * 3;
        let pauses = [Some(&early), Some(&early), Some(&early), None, Some(&early)]
            .map(|failure| searches.pause_after(failure, rest));
        assert_eq!(pauses, [PAUSE, PAUSE * 2, rest, rest, PAUSE]);
        searches.note_failure(&io::ErrorKind::Unsupported.into());
        assert!(!searches.is_pending() && !searches.is_wanted());
    }

    /// What is told once a look has followed the search that found these sets.
    fn told(searches: &mut Searches, sets: &[&[u64]]) -> Vec<Vec<u64>> {
        searches.hold(sets.iter().map(|set| set.to_vec()).collect());
        assert!(searches.is_pending(), "a look must follow");
        searches.take_held()
    }

    #[test]
    fn a_set_is_told_once() {
        let mut searches = Searches::new();
        assert_eq!(told(&mut searches, &[&[1, 2], &[3]]).len(), 2);
        assert_eq!(told(&mut searches, &[&[1, 2], &[4]]), [[4]]);
        searches.note_told([5, 6]);
        assert_eq!(told(&mut searches, &[&[5, 6], &[6, 7]]), [[6, 7]]);
        assert!(!searches.is_pending());
    }

    #[test]
    fn what_a_search_finds_waits_for_the_next_look() {
        let mut searches = Searches::new();
        searches.hold(vec![vec![1, 2, 3], vec![4]]);
        searches.hold(vec![vec![4]]);
        // The cycle came after the look before the search.
        searches.note(Vec::new(), HashSet::from([1, 2]));
        assert_eq!(searches.search(), [[4]]);
        assert!(searches.has_found([4]) && !searches.has_found([4, 1]));
        assert!(searches.is_pending(), "the cycle is told first");
        searches.note(Vec::new(), HashSet::from([1, 2]));
        searches.note_told([1, 2]);
        assert_eq!(searches.search(), [[1, 2, 3]]);
        assert!(!searches.is_pending());
        // A cycle that a time limit has ended.
        searches.hold(vec![vec![5, 6]]);
        assert_eq!(searches.search(), [[0; 0]; 0], "no look has followed");
        searches.note(Vec::new(), HashSet::from([5, 6]));
        assert_eq!(searches.search(), [[0; 0]; 0]);
        note(&mut searches, Vec::new());
        assert_eq!(searches.search(), [[5, 6]]);
    }
}
