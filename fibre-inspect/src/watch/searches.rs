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
    /// The fibres in cycles that the last look suspects. The next look tells them, and says more.
    suspected: HashSet<u64>,
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
            suspected: HashSet::new(),
            told: HashSet::new(),
            found: HashSet::new(),
            due: Instant::now(),
            failed: false,
            early: 0,
        }
    }

    /// Notes the waits that a look has shown, of those that may last for ever, and the fibres in
    /// cycles that it suspects.
    pub(super) fn note(&mut self, waits: Vec<Aged>, suspected: HashSet<u64>) {
        let judged = |wait: &Aged| Some((wait.0, *self.judged.get(&wait.0)?));
        self.judged = waits.iter().filter_map(judged).collect();
        self.waits = waits;
        self.suspected = suspected;
    }

    /// Whether there is a wait that has never been judged.
    pub(super) fn is_pending(&self) -> bool {
        self.waits
            .iter()
            .any(|(wait, _)| !self.judged.contains_key(wait))
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

    /// Searches if that is due. Returns the sets of stuck fibres that have not been told.
    pub(super) fn search(&mut self) -> Vec<Vec<u64>> {
        if Instant::now() < self.due || !self.is_wanted() {
            return Vec::new();
        }
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
            Ok(sets) => self.judge(numbers(sets)),
            Err(error) => {
                self.note_failure(&error);
                if !std::mem::replace(&mut self.failed, true) {
                    write_error(&format!("fibre: cannot search for stuck fibres: {error}\n"));
                }
                Vec::new()
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

    /// Whether a search has told all of these fibres.
    pub(super) fn has_found(&self, fibres: impl IntoIterator<Item = u64>) -> bool {
        fibres.into_iter().all(|fibre| self.found.contains(&fibre))
    }

    /// Keeps the sets with a fibre that has not been told, and notes them as told. A set with a
    /// suspected fibre is left to a later search, which finds it told.
    fn judge(&mut self, mut sets: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
        sets.retain(|set| set.iter().any(|fibre| !self.told.contains(fibre)));
        let is_left = |set: &Vec<u64>| set.iter().any(|fibre| self.suspected.contains(fibre));
        let (left, sets): (Vec<_>, Vec<_>) = sets.into_iter().partition(is_left);
        let is_judged = |((fibre, _), _): &&Aged| !left.iter().flatten().any(|id| id == fibre);
        self.judged
            .extend(self.waits.iter().filter(is_judged).copied());
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

    /// A look that suspects no cycle.
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

    #[test]
    fn a_set_is_told_once() {
        let mut searches = Searches::new();
        assert_eq!(searches.judge(vec![vec![1, 2], vec![3]]).len(), 2);
        assert_eq!(searches.judge(vec![vec![1, 2], vec![4]]), [[4]]);
        searches.note_told([5, 6]);
        assert_eq!(searches.judge(vec![vec![5, 6], vec![6, 7]]), [[6, 7]]);
    }

    #[test]
    fn a_suspected_cycle_is_left_to_the_looks() {
        let mut searches = Searches::new();
        let waits = [1, 2, 3, 4].map(|fibre| ((fibre, 1), Duration::from_secs(5)));
        searches.note(waits.to_vec(), HashSet::from([1, 2]));
        assert_eq!(searches.judge(vec![vec![1, 2, 3], vec![4]]), [[4]]);
        assert!(searches.has_found([4]) && !searches.has_found([4, 1]));
        assert!(
            searches.is_wanted(),
            "the set that was left is judged later"
        );
        // The next look has told the cycle.
        searches.note_told([1, 2]);
        note(&mut searches, waits.to_vec());
        assert_eq!(searches.judge(vec![vec![1, 2, 3], vec![4]]), [[1, 2, 3]]);
        assert!(!searches.is_wanted());
    }
}
