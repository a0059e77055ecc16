//! What is done about a failed run: it is repeated, made shorter, and told.
//!
//! It is repeated once as it was: if that is another run, something is not under control. Then its
//! switches are left out part by part, for as long as it fails in the same way: by the same words
//! but for numbers. If several are left, each of the first single ones is tried. The shortest run
//! is repeated once more for its account.

use crate::failure::Failure;
use crate::once::{Outcome, Settings, Test, quieten_panics, run_once};
use crate::replay::Replay;
use crate::schedule::picker::Picker;
use crate::schedule::shorten::shorten;
use crate::schedule::switches::{Switch, Switches};
use crate::stage::RunKind;
use fibre_core::internal::warn;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::resume_unwind;
use std::time::Instant;

/// How often a failed run is repeated with fewer switches.
const TRIES: usize = 400;

/// The most switches that a line has which repeats a run of a seed.
const MOST_WRITTEN: usize = 200;

/// A run that has failed, and what is known of it.
/// By [`Builder::try_run`](crate::Builder::try_run).
///
/// Its text, by `Display`, is what [`Builder::run`](crate::Builder::run) panics with.
pub struct FailedRun {
    head: String,
    /// The lines about its switches, and the one that repeats it.
    lines: Vec<String>,
    seed: u64,
    runs: u64,
    switches: Option<usize>,
    panic: Option<Box<dyn Any + Send>>,
}

impl FailedRun {
    /// What so many runs, beginning with this seed, have failed by together.
    pub(crate) fn of_all(seed: u64, runs: u64, words: &str) -> Self {
        Self {
            head: format!("fibre-test: {words}"),
            lines: Vec::new(),
            seed,
            runs,
            switches: None,
            panic: None,
        }
    }

    /// The seed of the run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many runs there have been until then, with this one and without its repetitions.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// How many switches the shortest failing schedule has that was found. `None`: nothing was made
    /// shorter, as the schedule was in order, or something is not under control.
    #[must_use]
    pub fn switches(&self) -> Option<usize> {
        self.switches
    }

    /// Panics with what the closure has panicked with, after lines on standard error with the rest;
    /// or with the text.
    ///
    /// # Panics
    ///
    /// Always.
    #[track_caller]
    pub fn resume(self) -> ! {
        match self.panic {
            Some(payload) => {
                // One by one, as a warning has an end.
                warn(format_args!("{}", self.head));
                let lines = self.lines.iter();
                lines.for_each(|line| warn(format_args!("{line}")));
                resume_unwind(payload)
            }
            None => panic!("{self}"),
        }
    }
}

impl fmt::Display for FailedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        let mut lines = self.lines.iter();
        lines.try_for_each(|line| write!(f, "\n{line}"))
    }
}

impl fmt::Debug for FailedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for FailedRun {}

/// A failed run, before its repetitions.
pub(crate) struct Failed<'a> {
    /// Which one it was, in words.
    pub(crate) which: String,
    pub(crate) settings: Settings,
    pub(crate) hash: u64,
    pub(crate) failure: Failure,
    /// Where it has left the default order, if that is known and there is one.
    pub(crate) switches: Option<Switches>,
    /// How many runs there have been.
    pub(crate) runs: u64,
    pub(crate) test: &'a Test,
}

/// What is known of a run after its repetitions.
struct Known {
    /// The words of the failure.
    words: String,
    /// The lines about its switches.
    lines: Vec<String>,
    /// What repeats it.
    replay: Replay,
}

impl Failed<'_> {
    /// Runs a seed once more that has failed, with these choices, and makes it shorter.
    pub(crate) fn of_seed(mut self, again: Picker) -> FailedRun {
        if let Some(difference) = self.repeat(again) {
            return self.unshortened(&difference);
        }
        let whole = Replay::new(self.settings.seed, self.hash, None);
        let mut known = self.shorten();
        let is_short = known.replay.switches.as_ref();
        if is_short.is_some_and(|switches| switches.0.len() <= MOST_WRITTEN) {
            let line = format!("the whole run: FIBRE_TEST={}", whole.value());
            known.lines.push(line);
        } else {
            known.replay = whole;
        }
        self.finish(known)
    }

    /// The same of a run that only its switches say.
    pub(crate) fn of_switches(mut self, shortens: bool) -> FailedRun {
        let switches = self.switches.clone().unwrap_or_default();
        let seed = self.settings.seed;
        if let Some(difference) = self.repeat(Picker::by_switches(&switches, seed)) {
            return self.unshortened(&difference);
        }
        let mut known = match shortens {
            true => self.shorten(),
            false => self.account(switches.clone(), "switches out of order"),
        };
        known.replay.switches.get_or_insert(switches);
        self.finish(known)
    }

    /// The same of a seed that a user repeats: nothing is made shorter.
    pub(crate) fn of_repeated_seed(mut self, again: Picker) -> FailedRun {
        let difference = self.repeat(again).unwrap_or_default();
        self.unshortened(&difference)
    }

    /// Runs it once more. What is said if that is another run.
    fn repeat(&mut self, again: Picker) -> Option<String> {
        if self.failure.is_out_of_control {
            return Some(String::new());
        }
        quieten_panics();
        self.settings.kind = RunKind::Repeats;
        difference(self.hash, &run_once(self.settings, again, self.test))
    }

    /// The shortest run that fails alike.
    fn shorten(&mut self) -> Known {
        let switches = self.switches.take();
        let is_wanted = !self.settings.shortening.is_zero();
        let Some(switches) = switches.filter(|_| is_wanted) else {
            return self.known(None, Vec::new());
        };
        let begun = Instant::now();
        let fails = |items: &[Switch]| {
            let is_in_time = begun.elapsed() < self.settings.shortening;
            let outcome = is_in_time.then(|| self.run(items, RunKind::Repeats))?;
            let fails_alike = self.fails_alike(&outcome);
            fails_alike.then(|| outcome.picker.switches().unwrap_or_default().0)
        };
        let mut shortest = shorten(switches.0, TRIES, fails);
        // None of several may be left out alone, and yet another one be enough.
        if shortest.len() > 1 {
            let in_order = self.run(&[], RunKind::Repeats);
            let forks = in_order.picker.forks().iter();
            let alone = forks.map(|fork| vec![*fork]);
            let found = alone.into_iter().find(|fork| fails(fork).is_some());
            shortest = found.unwrap_or(shortest);
        }
        self.account(Switches(shortest), "shortest failing schedule")
    }

    /// Runs it with these switches for what is said of them.
    fn account(&mut self, switches: Switches, title: &str) -> Known {
        let outcome = self.run(&switches.0, RunKind::Tells);
        if !self.fails_alike(&outcome) {
            return self.known(None, Vec::new());
        }
        let lines = match switches.0.len() {
            0 => vec!["it fails in order, too: without a switch".to_owned()],
            count => {
                let plural = if count == 1 { "switch" } else { "switches" };
                let list = outcome.account.list(&switches);
                let head = format!("{title}: {count} {plural}");
                let lines = list.lines().filter(|line| !line.is_empty());
                std::iter::once(head)
                    .chain(lines.map(str::to_owned))
                    .collect()
            }
        };
        if let Some(failure) = outcome.failure {
            self.failure.words = failure.words;
        }
        self.hash = outcome.hash;
        self.known(Some(switches), lines)
    }

    /// What is known, with these switches and lines about them.
    fn known(&self, switches: Option<Switches>, lines: Vec<String>) -> Known {
        Known {
            words: self.failure.words.clone(),
            lines,
            replay: Replay::new(self.settings.seed, self.hash, switches),
        }
    }

    /// Runs the test in order but for these switches.
    fn run(&self, switches: &[Switch], kind: RunKind) -> Outcome {
        let settings = Settings {
            kind,
            ..self.settings
        };
        let switches = Switches(switches.to_vec());
        let picker = Picker::by_switches(&switches, settings.seed);
        run_once(settings, picker, self.test)
    }

    /// Whether a run has failed as this one.
    fn fails_alike(&self, outcome: &Outcome) -> bool {
        let failure = outcome.failure.as_ref();
        failure.is_some_and(|failure| failure.kind == self.failure.kind)
    }

    /// What is known if nothing has been made shorter.
    fn unshortened(self, difference: &str) -> FailedRun {
        let mut known = self.known(None, Vec::new());
        known.words.push_str(difference);
        self.finish(known)
    }

    /// What the caller is told.
    fn finish(self, known: Known) -> FailedRun {
        let Known {
            words,
            mut lines,
            replay,
        } = known;
        lines.push(replay.line());
        FailedRun {
            head: format!("fibre-test: {}: {words}", self.which),
            lines,
            seed: self.settings.seed,
            runs: self.runs,
            switches: replay.switches.map(|switches| switches.0.len()),
            panic: self.failure.panic,
        }
    }
}

/// What is said if a run has failed with this hash, and `again` differs from that.
fn difference(hash: u64, again: &Outcome) -> Option<String> {
    let differs = match (&again.failure, again.hash == hash) {
        (Some(_), true) => return None,
        (None, true) => "does not fail".to_owned(),
        (_, false) => format!("is another one, {:016x} instead of {hash:016x}", again.hash),
    };
    let advice = "a thread, a thread's number, an address, a file, or what an earlier run has left \
                  behind";
    Some(format!(
        "\nsomething is not under the kit's control: a second run of the seed {differs}; look for \
         {advice}"
    ))
}
