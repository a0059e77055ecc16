//! The settings of runs, how many there are, and how a failed one is repeated.

use crate::failure::Failure;
use crate::once::{Outcome, Settings, Test, run_once};
use crate::replay::Replay;
use crate::schedule::Schedule;
use crate::simulation::Sim;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

/// The most switches of a run, unless the test says otherwise.
const MOST_SWITCHES: u64 = 10_000_000;

/// How long no fibre may switch, unless the test says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// The settings of runs to come. See [`Sim::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    settings: Settings,
    /// How many seeds are run.
    seeds: u64,
}

/// What runs that did not fail have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    runs: u64,
    hash: u64,
    switches: u64,
    elapsed: Duration,
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
                schedule: Schedule::default(),
                most_switches: MOST_SWITCHES,
                patience: PATIENCE,
                allows_leaks: false,
                dumps: true,
            },
            seeds: 1,
        }
    }

    /// What the choices follow from, those of the schedule and those of the runtime. Default: 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Runs the test with so many seeds, one after the other, beginning with
    /// [`seed`](Self::seed), until one fails. Default: 1; zero counts as one.
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
        self.seeds = seeds.max(1);
        self
    }

    /// Which of the ready fibres runs next. Default: [`Schedule::in_order`], where all seeds are
    /// alike.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = schedule;
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

    /// Lets fibres still live when the test ends. They are cancelled then, and unwind if they wait
    /// in calls that cannot fail. By default a run with such fibres fails.
    pub fn allow_leaks(mut self) -> Self {
        self.settings.allows_leaks = true;
        self
    }

    /// Runs the test: as the first fibre of a cluster with one processor, for each seed anew. It
    /// ends when the closure has returned and nothing can run any more. Blocks the thread.
    ///
    /// If the variable `FIBRE_TEST` has what a failed run has printed, only that seed is run.
    ///
    /// # Panics
    ///
    /// With what the closure has panicked with, or with words if a run has failed otherwise: by a
    /// deadlock, a leak, something outside of the kit's control, or without an end. And if the
    /// caller is a fibre, or the variable has another form.
    pub fn run(self, test: impl Fn(&Sim) + Send + Sync + 'static) -> Report {
        assert!(
            !fibre_core::in_fibre(),
            "fibre-test: a run is started by a thread, not by a fibre"
        );
        let test: Test = Arc::new(test);
        match Replay::from_environment() {
            Some(replay) => self.replay(replay, &test),
            None => self.run_seeds(&test),
        }
    }

    /// Runs all seeds, until one fails.
    fn run_seeds(mut self, test: &Test) -> Report {
        let first = self.settings.seed;
        let mut report = Report::default();
        for number in 0..self.seeds {
            self.settings.seed = first.wrapping_add(number);
            let outcome = run_once(self.settings, test);
            report.add(&outcome);
            if let Some(failure) = outcome.failure {
                let which = match self.seeds {
                    1 => format!("seed {}", self.settings.seed),
                    all => format!("seed {} (run {} of {all})", self.settings.seed, number + 1),
                };
                self.fail(&which, outcome.hash, failure, test);
            }
        }
        report
    }

    /// Runs the seed of a failed run.
    fn replay(mut self, replay: Replay, test: &Test) -> Report {
        self.settings.seed = replay.seed;
        let mut report = Report::default();
        let outcome = run_once(self.settings, test);
        report.add(&outcome);
        let differs = replay.difference(outcome.hash);
        match (outcome.failure, differs) {
            (Some(failure), differs) => {
                let which = format!("seed {}{}", replay.seed, differs.unwrap_or_default());
                self.fail(&which, outcome.hash, failure, test);
            }
            (None, Some(differs)) => panic!("fibre-test: seed {}{differs}", replay.seed),
            (None, None) => {}
        }
        report
    }

    /// Runs a failed seed once more, and panics with all that is known.
    fn fail(mut self, which: &str, hash: u64, failure: Failure, test: &Test) -> ! {
        self.settings.dumps = false;
        let again = (!failure.is_out_of_control).then(|| run_once(self.settings, test));
        let again = again.and_then(|again| difference(hash, &again));
        let replay = Replay::new(self.settings.seed, hash);
        let words = format!(
            "fibre-test: {which}: {}{}\n{}",
            failure.words,
            again.unwrap_or_default(),
            replay.line()
        );
        match failure.panic {
            Some(payload) => {
                fibre_core::internal::warn(format_args!("{words}"));
                resume_unwind(payload)
            }
            None => panic!("{words}"),
        }
    }
}

/// What is said if a seed has failed by a run with this hash, and `again` differs from that.
fn difference(hash: u64, again: &Outcome) -> Option<String> {
    let differs = match (&again.failure, again.hash == hash) {
        (Some(_), true) => return None,
        (None, true) => "does not fail".to_owned(),
        (_, false) => format!("is another one, {:016x} instead of {hash:016x}", again.hash),
    };
    let advice = "a thread, a random number (such as the order of a HashMap), or what an earlier \
                  run has left behind";
    Some(format!(
        "\nsomething is not under the kit's control: a second run of the seed {differs}; look for \
         {advice}"
    ))
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

    /// Adds a run.
    fn add(&mut self, outcome: &Outcome) {
        self.runs += 1;
        self.switches += outcome.switches;
        self.hash = outcome.hash;
        self.elapsed = outcome.elapsed;
    }
}

impl Default for Report {
    fn default() -> Self {
        Self {
            runs: 0,
            hash: 0,
            switches: 0,
            elapsed: Duration::ZERO,
        }
    }
}
