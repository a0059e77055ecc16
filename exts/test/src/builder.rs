//! The settings of runs, how many there are, and which one is repeated.

use crate::invariants::Happened;
use crate::once::{Outcome, Settings, Test, run_once};
use crate::repeat::{Failed, FailedRun};
use crate::replay::Replay;
use crate::schedule::Schedule;
use crate::schedule::picker::Picker;
use crate::schedule::tree::Tree;
use crate::simulation::Sim;
use crate::stage::RunKind;
use std::sync::Arc;
use std::time::Duration;

/// The most switches of a run, unless the test says otherwise.
const MOST_SWITCHES: u64 = 10_000_000;

/// How long no fibre may switch, unless the test says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a failed run is made shorter, unless the test says otherwise.
const SHORTENING: Duration = Duration::from_secs(10);

/// The settings of runs to come. See [`Sim::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    settings: Settings,
    schedule: Schedule,
    /// How many runs there are, if that has been said.
    seeds: Option<u64>,
}

/// What runs that did not fail have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    runs: u64,
    hash: u64,
    switches: u64,
    elapsed: Duration,
    is_complete: bool,
}

impl Sim {
    /// The settings of runs to come.
    ///
    /// ```
    /// use fibre_test::{Schedule, Sim};
    ///
    /// let report = Sim::builder().seed(7).schedule(Schedule::random()).run(|_| {
    ///     fibre::spawn(|| fibre::yield_now()).join().unwrap();
    /// });
    /// assert!(report.switches() >= 2);
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// The defaults.
    pub(crate) fn new() -> Self {
        Self {
            settings: Settings {
                seed: 0,
                kind: RunKind::First,
                most_switches: MOST_SWITCHES,
                patience: PATIENCE,
                shortening: SHORTENING,
                allows_leaks: false,
            },
            schedule: Schedule::default(),
            seeds: None,
        }
    }

    /// What the choices follow from, those of the schedule, of the runtime and of the network.
    /// Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Runs the test with so many seeds, one after the other, beginning with
    /// [`seed`](Self::seed), until one fails. Default: 1; zero counts as one. An exhaustive
    /// schedule has one seed, and no more runs than this; by default as many as it takes.
    ///
    /// ```
    /// use fibre_test::{Schedule, Sim};
    ///
    /// let report = Sim::builder().seeds(20).schedule(Schedule::pct(3)).run(|_| {
    ///     fibre::scope(|scope| {
    ///         scope.spawn(fibre::yield_now);
    ///         scope.spawn(fibre::yield_now);
    ///     });
    /// });
    /// assert_eq!(report.runs(), 20);
    /// ```
    pub fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = Some(seeds.max(1));
        self
    }

    /// Which of the ready fibres runs next. Default: [`Schedule::in_order`], where all seeds are
    /// alike.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The most switches of a run, which fails if there are more: a loop that waits by yielding may
    /// have no end while the time stands still. Default: ten million.
    pub fn most_switches(mut self, switches: u64) -> Self {
        self.settings.most_switches = switches;
        self
    }

    /// How long no fibre may switch, in the time of the machine, before the run fails: a fibre that
    /// blocks its thread may never do so. Default: 60 s.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.settings.patience = patience;
        self
    }

    /// How long a failed run is repeated with fewer switches, in the time of the machine, and in
    /// any case some hundred times at most. Zero: not at all. Default: 10 s.
    ///
    /// ```
    /// use fibre_test::{Schedule, Sim};
    /// use std::time::Duration;
    ///
    /// let runs = Sim::builder().schedule(Schedule::random()).shorten_for(Duration::ZERO);
    /// let failed = runs.try_run(|_| fibre::sync::Event::new().wait()).unwrap_err();
    /// assert_eq!(failed.switches(), None);
    /// ```
    pub fn shorten_for(mut self, limit: Duration) -> Self {
        self.settings.shortening = limit;
        self
    }

    /// Lets fibres still live when the test ends. They are cancelled then, and unwind if they wait
    /// in calls that cannot fail. By default a run with such fibres fails.
    pub fn allow_leaks(mut self) -> Self {
        self.settings.allows_leaks = true;
        self
    }

    /// Runs the test: as the first fibre of a cluster with one processor, for each seed anew. It
    /// ends when the closure has returned and nothing can run any more. Blocks the thread.
    ///
    /// A run that fails is repeated: once as it was, and then with fewer switches, to find a
    /// shorter one that fails alike ([`shorten_for`](Self::shorten_for)). What the test writes, it
    /// writes each time, but nothing is said of its panics. If the variable `FIBRE_TEST` has what a
    /// failed run has printed, only that one is run.
    ///
    /// # Panics
    ///
    /// With what the closure has panicked with, or with words if a run has failed otherwise: by a
    /// deadlock, a leak, a broken invariant, something outside of the kit's control, or without an
    /// end. And if the caller is a fibre, or the variable has another form.
    #[track_caller]
    pub fn run(self, test: impl Fn(&Sim) + Send + Sync + 'static) -> Report {
        match self.try_run(test) {
            Ok(report) => report,
            Err(failed) => failed.resume(),
        }
    }

    /// [`run`](Self::run), which returns what has failed: for those that count, or choose their
    /// seeds themselves. Blocks the thread.
    ///
    /// ```
    /// use fibre_test::{Schedule, Sim};
    ///
    /// let failed = Sim::builder().seed(7).try_run(|_| fibre::sync::Event::new().wait());
    /// let failed = failed.unwrap_err();
    /// assert_eq!((failed.seed(), failed.runs()), (7, 1));
    /// assert!(failed.to_string().contains("deadlock"));
    /// ```
    ///
    /// # Errors
    ///
    /// The first run that has failed.
    ///
    /// # Panics
    ///
    /// If the caller is a fibre, the variable has another form, or a run is another one than it
    /// should be by that, or by the schedule.
    pub fn try_run(self, test: impl Fn(&Sim) + Send + Sync + 'static) -> Result<Report, FailedRun> {
        assert!(
            !fibre_core::in_fibre(),
            "fibre-test: a run is started by a thread, not by a fibre"
        );
        let test: Test = Arc::new(test);
        match (Replay::from_environment(), self.schedule.preemptions()) {
            (Some(replay), None) => self.replay(&replay, &test),
            (Some(replay), _) if replay.switches.is_some() => self.replay(&replay, &test),
            (Some(replay), Some(bound)) => self.seed(replay.seed).run_all(bound, &test),
            (None, Some(bound)) => self.run_all(bound, &test),
            (None, None) => self.run_seeds(&test),
        }
    }

    /// Runs all seeds, until one fails.
    fn run_seeds(self, test: &Test) -> Result<Report, FailedRun> {
        let (mut report, mut happened) = (Report::default(), Happened::default());
        let (first, seeds) = (self.settings.seed, self.seeds.unwrap_or(1));
        for number in 0..seeds {
            let this = self.clone().seed(first.wrapping_add(number));
            let seed = this.settings.seed;
            let picker = || Picker::seeded(this.schedule, seed);
            let outcome = run_once(this.settings, picker(), test);
            report.add(&outcome);
            happened.add(&outcome.happened);
            let which = || match seeds {
                1 => format!("seed {seed}"),
                all => format!("seed {seed} (run {} of {all})", number + 1),
            };
            if let Some(failed) = this.failed(which, outcome, report.runs, test) {
                return Err(failed.of_seed(picker()));
            }
        }
        self.all_happened(report, &happened)
    }

    /// Runs all schedules with at most so many preemptions, until one fails.
    ///
    /// # Panics
    ///
    /// If a run differs from another one with the same choices.
    fn run_all(self, bound: u32, test: &Test) -> Result<Report, FailedRun> {
        let (mut report, mut happened) = (Report::default(), Happened::default());
        let mut tree = Tree::default();
        let seed = self.settings.seed;
        while self.seeds.is_none_or(|most| report.runs < most) {
            let mut outcome = run_once(self.settings, Picker::by_tree(tree, seed), test);
            report.add(&outcome);
            happened.add(&outcome.happened);
            let switches = outcome.picker.switches();
            tree = outcome.picker.take_tree();
            let number = report.runs;
            let which = || format!("seed {seed} (schedule {number})");
            if let Some(mut failed) = self.failed(which, outcome, number, test) {
                failed.switches = switches;
                return Err(failed.of_switches(true));
            }
            assert!(
                !tree.is_lost(),
                "fibre-test: schedule {number}: something is not under the kit's control: another \
                 run with the same choices had other ones to make"
            );
            if !tree.advance(bound) {
                report.is_complete = true;
                break;
            }
        }
        self.all_happened(report, &happened)
    }

    /// Fails if something has happened in none of the runs.
    fn all_happened(&self, report: Report, happened: &Happened) -> Result<Report, FailedRun> {
        match happened.never().join("`, `") {
            never if never.is_empty() => Ok(report),
            never => {
                let words = format!("never in {} runs: `{never}`", report.runs);
                Err(FailedRun::of_all(self.settings.seed, report.runs, &words))
            }
        }
    }

    /// What has failed, if it has.
    fn failed<'a>(
        &self,
        which: impl FnOnce() -> String,
        outcome: Outcome,
        runs: u64,
        test: &'a Test,
    ) -> Option<Failed<'a>> {
        let failure = outcome.failure?;
        Some(Failed {
            which: which(),
            settings: self.settings,
            hash: outcome.hash,
            failure,
            switches: outcome.picker.switches(),
            runs,
            test,
        })
    }

    /// Runs what a failed run has printed.
    fn replay(self, replay: &Replay, test: &Test) -> Result<Report, FailedRun> {
        let this = self.seed(replay.seed);
        let picker = || match &replay.switches {
            Some(switches) => Picker::by_switches(switches, replay.seed),
            None => Picker::seeded(this.schedule, replay.seed),
        };
        let mut report = Report::default();
        let outcome = run_once(this.settings, picker(), test);
        report.add(&outcome);
        let differs = replay.difference(outcome.hash);
        let seed = replay.seed;
        let which = || format!("seed {seed}{}", differs.as_deref().unwrap_or_default());
        if let Some(failed) = this.failed(which, outcome, 1, test) {
            return Err(match replay.switches {
                Some(_) => failed.of_switches(false),
                None => failed.of_repeated_seed(picker()),
            });
        }
        match differs {
            Some(differs) => panic!("fibre-test: seed {seed}{differs}"),
            None => Ok(report),
        }
    }
}

impl Report {
    /// How many runs there have been. Blocks nothing.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// A number that follows from all choices of the last run: equal for all runs of a seed.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// How many switches to fibres there have been in all runs.
    #[must_use]
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// How much time has passed in the last run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Whether an exhaustive schedule has run every order within its bound. `false` for all others.
    /// Blocks nothing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Adds a run.
    fn add(&mut self, outcome: &Outcome) {
        self.runs += 1;
        self.switches += outcome.switches;
        self.hash = outcome.hash;
        self.elapsed = outcome.elapsed;
    }
}
