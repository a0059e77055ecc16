//! One run of a test, from its cluster to what became of it.

use crate::clock;
use crate::failure::Failure;
use crate::invariants::Happened;
use crate::schedule::account::Account;
use crate::schedule::picker::Picker;
use crate::simulation::Sim;
use crate::stage::{RunKind, Stage, Verdict};
use fibre_core::internal::switch_off;
use fibre_core::{Cluster, JoinHandle};
use fibre_sync::selection::parts::ask_directors;
use std::panic::{set_hook, take_hook};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

/// How long the fibres of a failed run are given to end once they have been cancelled, in the time
/// of the machine.
const CANCEL: Duration = Duration::from_millis(200);

/// The same for the fibres of hosts, which end with a test that has not failed. Even on a slow
/// machine nothing is to be left behind.
const SWITCH_OFF: Duration = Duration::from_secs(10);

/// What a test does.
pub(crate) type Test = Arc<dyn Fn(&Sim) + Send + Sync>;

/// The settings of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) kind: RunKind,
    pub(crate) most_switches: u64,
    pub(crate) patience: Duration,
    /// How long a failed run is made shorter.
    pub(crate) shortening: Duration,
    pub(crate) allows_leaks: bool,
}

impl Settings {
    /// Whether a failure has the stacks of the fibres.
    fn dumps(self) -> bool {
        self.kind != RunKind::Repeats
    }
}

/// What has become of a run.
pub(crate) struct Outcome {
    pub(crate) hash: u64,
    pub(crate) switches: u64,
    pub(crate) elapsed: Duration,
    pub(crate) failure: Option<Failure>,
    /// What has chosen, with what it has noted.
    pub(crate) picker: Picker,
    pub(crate) account: Account,
    pub(crate) happened: Happened,
}

/// Runs a test once, with these choices. Blocks the thread.
///
/// # Panics
///
/// If there is no thread or memory for the cluster.
pub(crate) fn run_once(settings: Settings, picker: Picker, test: &Test) -> Outcome {
    let Settings {
        seed,
        most_switches,
        kind,
        ..
    } = settings;
    let stage = Stage::new(picker, seed, most_switches, kind);
    let stage = Arc::new(stage);
    ask_directors();
    let cluster = build(&stage, settings.seed);
    let root = begin(&cluster, &stage, test);
    let verdict = stage.wait(settings.patience);
    // Before the cluster is stopped, which changes neither.
    let (hash, switches) = (stage.hash(), stage.switches());
    let mut root = Some(root);
    let failure = Failure::of(verdict, &stage, &cluster, settings.dumps())
        .or_else(|| end(root.take()?, &cluster, &stage, settings));
    if failure.is_some() {
        // A fibre that is unwound may panic, as its joins come to nothing. The failure says why.
        quieten_panics();
        stage.note_failed();
    }
    let limit = match stage.live_on_hosts() {
        _ if failure.is_some() || settings.allows_leaks => Some(CANCEL),
        0 => None,
        _ => Some(SWITCH_OFF),
    };
    stop(cluster, limit);
    // One that was unwound by that is of no interest any more, and one that is stuck does not end.
    if verdict != Verdict::Stuck {
        drop(root.map(JoinHandle::join));
    }
    let (picker, account) = stage.take();
    Outcome {
        hash,
        switches,
        elapsed: stage.elapsed(),
        failure,
        picker,
        account,
        happened: stage.invariants.take(),
    }
}

/// The cluster of a run, which has a name of its own: dumps of the run are found by that.
fn build(stage: &Arc<Stage>, seed: u64) -> Cluster {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let director: Arc<Stage> = Arc::clone(stage);
    let builder = Cluster::builder()
        .name(format!("sim-{number}"))
        .seed(seed)
        .directed(director);
    match builder.build() {
        Ok(cluster) => cluster,
        Err(error) => panic!("fibre-test: no cluster for a run: {error}"),
    }
}

/// Starts the test as the first fibre.
fn begin(cluster: &Cluster, stage: &Arc<Stage>, test: &Test) -> JoinHandle<()> {
    /// Tells the stage, also when the test panics.
    struct Ends(Arc<Stage>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.end();
        }
    }

    let (test, stage) = (Arc::clone(test), Arc::clone(stage));
    cluster.spawn(move || {
        stage.begin();
        let ends = Ends(Arc::clone(&stage));
        assert!(
            clock::is_read_by_std(),
            "fibre-test: this program is linked with another `clock_gettime`, so its time is not \
             under the kit's control"
        );
        test(&Sim::of(stage));
        drop(ends);
    })
}

/// Looks at what is left of a run that has come to its end.
fn end(
    root: JoinHandle<()>,
    cluster: &Cluster,
    stage: &Stage,
    settings: Settings,
) -> Option<Failure> {
    // Hosts end with the test.
    let left = || cluster.live().saturating_sub(stage.live_on_hosts());
    match root.join() {
        Err(payload) => Some(Failure::panicked(payload)),
        Ok(()) if settings.allows_leaks => None,
        Ok(()) => match left() {
            0 => None,
            left => Some(Failure::leak(left, stage, cluster, settings.dumps())),
        },
    }
}

/// Ends the cluster; what is left in it unwinds, for as long as `limit`. `None`: nothing is left.
fn stop(cluster: Cluster, limit: Option<Duration>) {
    match limit {
        // Standard error has been told of what is abandoned.
        Some(limit) => drop(switch_off(cluster, limit)),
        None => cluster.stop(),
    }
}

/// Keeps the panic hook from telling of what a repeated run panics with again, or of what follows
/// from a failure.
pub(crate) fn quieten_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |panic| {
            if Stage::of_caller(Stage::is_quiet) != Some(true) {
                hook(panic);
            }
        }));
    });
}
