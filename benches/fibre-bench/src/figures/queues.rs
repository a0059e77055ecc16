//! Figure 4.1: ready queues under stress, by fibres that do nothing but migrate.

use super::Sweep;
use crate::peers::{Job, Peer};
use crate::plan::{self, Run};
use crate::report::Better;
use fibre_measure::plot::Axis;

/// Fibres that each processor creates. Each occupies a stack as soon as it has started.
const FIBRES: u64 = 50_000;
/// Fibres where the figure shall only be shown to work.
const QUICK_FIBRES: u64 = 100;
/// Migrations of each fibre, as in the thesis.
const HOPS: u64 = 10;
/// The fewest processors of the longest x-axis, in both clusters together.
const FEWEST: usize = 4;
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 5;

/// The kinds of queue: a name, and the variables that choose it.
const VARIANTS: &[(&str, &[(&str, &str)])] = &[
    ("pushing, Nemesis", &[("FIBRE_QUEUE", "nemesis")]),
    ("pushing, stub", &[("FIBRE_QUEUE", "stub")]),
    ("pushing, locked", &[("FIBRE_QUEUE", "locked")]),
    ("sharing one queue", &[("FIBRE_SHARING", "1")]),
];

/// Migrations a second, and what one costs, against the number of processors.
pub(super) fn migration(run: &mut Run) -> anyhow::Result<()> {
    let fibres = if run.plan.is_quick() {
        QUICK_FIBRES
    } else {
        FIBRES
    };
    run.report.paragraph(&format!(
        "Two clusters with half of the processors each; each processor creates {fibres} fibres, which migrate {HOPS} \
         times to the other cluster and back and do nothing else. This machine has {} CPUs. (Thesis: a million fibres a \
         processor, up to 64 cores.)",
        run.cores.count()
    ));
    let mut rate = sweep("migrations, million/s", ("rate", "M/s", Better::Higher));
    let mut cost = sweep("CPU time of a migration, ns", ("cost", "ns", Better::Lower));
    let parameters = format!("fibres={fibres} hops={HOPS}");
    let most = run.cores.count().max(FEWEST);
    let variants = variants(&run.peers);
    let visits: Vec<(usize, &Peer)> = (2..=most)
        .step_by(2)
        .filter(|count| count.is_power_of_two() || count % 8 == 0)
        .flat_map(|count| variants.iter().map(move |variant| (count, variant)))
        .collect();
    let repetitions = run.plan.repetitions(REPETITIONS);
    let bar = plan::progress(repetitions * visits.len());
    for _ in 0..repetitions {
        for &(processors, variant) in &visits {
            bar.set_message(variant.name.clone());
            bar.inc(1);
            let job = Job {
                workload: "migrate",
                parameters: &parameters,
                processors,
                seconds: 0.0,
            };
            match variant.measure(&job, &run.cores) {
                Ok(sample) => {
                    rate.push(&variant.name, processors as f64, 1e3 / sample.wall_ns);
                    cost.push(&variant.name, processors as f64, sample.cpu_ns);
                }
                Err(error) => run
                    .report
                    .fault(format!("migration, {}: {error:#}", variant.name)),
            }
        }
    }
    bar.finish_and_clear();
    conclude(run, &[rate, cost])
}

/// A panel over the number of processors.
fn sweep(label: &str, metric: (&'static str, &'static str, Better)) -> Sweep {
    let axes = (Axis::count("processors"), Axis::linear(label));
    Sweep::new("4.1", axes, metric).captioned(label)
}

/// Ours, once for each kind of queue.
fn variants(peers: &[Peer]) -> Vec<Peer> {
    let ours = peers.iter().filter(|peer| peer.offers("migrate"));
    ours.flat_map(|peer| {
        let variant =
            |(name, environment): &(&str, &[(&str, &str)])| peer.variant(name, environment);
        VARIANTS.iter().map(variant)
    })
    .collect()
}

/// Prints both panels, and has them drawn.
fn conclude(run: &mut Run, sweeps: &[Sweep]) -> anyhow::Result<()> {
    for sweep in sweeps {
        sweep.add_to(&mut run.report);
    }
    run.report.picture("figure-4.1");
    Ok(())
}
