//! Figures 4.5 and 4.6: algorithm 1, fibres that work with and without a lock.

use super::Sweep;
use crate::benchmarks::unit_ns;
use crate::peers::{Job, Peer};
use crate::plan::{self, Run};
use crate::report::Better;
use fibre_measure::plot::Axis;

/// Fibres and locks of figure 4.5, as in the thesis.
const FIBRES: usize = 1024;
const LOCKS: usize = 32;
/// Lengths of both work loops in figure 4.5, in microseconds.
const WORK_US: &[f64] = &[0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
/// Length of both work loops in figure 4.6.
const EFFICIENCY_US: f64 = 20.0;
/// Length of a repetition on the wall.
const SECONDS: f64 = 0.3;
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 5;

/// Figure 4.5: throughput, as a multiple of one fibre's, against the work.
pub(super) fn scalability(run: &mut Run) -> anyhow::Result<()> {
    let cores = run.cores.count();
    run.report.paragraph(&format!(
        "{FIBRES} fibres, {LOCKS} locks, {cores} processors; both work loops of the length on the x-axis; throughput over that \
         of one fibre alone on one processor, at best {cores}. (Thesis: 32 cores.)"
    ));
    let axes = (
        Axis::logarithmic("work, µs"),
        Axis::linear("throughput, × one fibre"),
    );
    let mut sweep = Sweep::new("4.5", axes, ("scalability", "×", Better::Higher));
    let lengths = if run.plan.is_quick() {
        &WORK_US[..1]
    } else {
        WORK_US
    };
    visit(run, lengths, |run, peer, &length| {
        let units = units(peer, run, length)?;
        let many = Setting {
            threads: FIBRES,
            locks: LOCKS,
            processors: cores,
        };
        let one = Setting {
            threads: 1,
            locks: LOCKS,
            processors: 1,
        };
        let alone = one.measure(peer, run, units)?.wall_ns;
        let together = many.measure(peer, run, units)?.wall_ns;
        sweep.push(&peer.name, length, alone / together);
        Ok(())
    });
    conclude(run, &sweep);
    Ok(())
}

/// Figure 4.6: CPU time of an iteration against the number of processors.
pub(super) fn efficiency(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(&format!(
        "N² fibres, max(1, N / 4) locks, both work loops {EFFICIENCY_US} µs; CPU time of the whole process per iteration, of \
         which {} µs are work. (Thesis: up to 32 cores.)",
        2.0 * EFFICIENCY_US
    ));
    let axes = (
        Axis::count("processors"),
        Axis::linear("CPU time per iteration, µs"),
    );
    let mut sweep = Sweep::new("4.6", axes, ("efficiency", "µs", Better::Lower));
    let counts: Vec<usize> = (1..=run.cores.count())
        .filter(|&count| count < 4 || count % 4 == 0)
        .collect();
    visit(run, &counts, |run, peer, &processors| {
        let units = units(peer, run, EFFICIENCY_US)?;
        let setting = Setting {
            threads: processors * processors,
            locks: (processors / 4).max(1),
            processors,
        };
        let cpu_us = setting.measure(peer, run, units)?.cpu_ns / 1e3;
        sweep.push(&peer.name, processors as f64, cpu_us);
        Ok(())
    });
    conclude(run, &sweep);
    Ok(())
}

/// Parameters of algorithm 1 beside the work.
struct Setting {
    threads: usize,
    locks: usize,
    processors: usize,
}

impl Setting {
    /// One repetition with so many units of work inside and outside the lock.
    fn measure(
        &self,
        peer: &Peer,
        run: &Run,
        units: u64,
    ) -> anyhow::Result<fibre_bench::measure::Sample> {
        let (threads, locks) = (self.threads, self.locks);
        let parameters = format!("threads={threads} locks={locks} held={units} free={units}");
        let job = Job {
            workload: "contend",
            parameters: &parameters,
            processors: self.processors,
            seconds: run.plan.seconds(SECONDS),
        };
        peer.measure(&job, &run.cores)
    }
}

/// Units of work that take this long in a peer's program.
fn units(peer: &Peer, run: &Run, length_us: f64) -> anyhow::Result<u64> {
    let unit = unit_ns(peer, &run.cores)?;
    Ok((length_us * 1e3 / unit).round().max(1.0) as u64)
}

/// Every peer at every place, repetition by repetition. A peer that fails at a
/// place is a fault and is not asked there again.
fn visit<X>(
    run: &mut Run,
    places: &[X],
    mut measure: impl FnMut(&Run, &Peer, &X) -> anyhow::Result<()>,
) {
    let wanted = |peer: &&Peer| peer.offers("contend") && run.plan.wants(&peer.name);
    let mut visits: Vec<(&X, &Peer)> = places
        .iter()
        .flat_map(|place| {
            run.peers
                .iter()
                .filter(wanted)
                .map(move |peer| (place, peer))
        })
        .collect();
    let repetitions = run.plan.repetitions(REPETITIONS);
    let bar = plan::progress(repetitions * visits.len());
    let mut faults = Vec::new();
    for _ in 0..repetitions {
        visits.retain(|&(place, peer)| {
            bar.set_message(peer.name.clone());
            bar.inc(1);
            let measured = measure(run, peer, place);
            if let Err(error) = &measured {
                faults.push(format!("algorithm 1, {}: {error:#}", peer.name));
            }
            measured.is_ok()
        });
    }
    bar.finish_and_clear();
    faults.into_iter().for_each(|fault| run.report.fault(fault));
}

/// Prints a figure of one panel, and has it drawn.
fn conclude(run: &mut Run, sweep: &Sweep) {
    sweep.add_to(&mut run.report);
    run.report.picture(format!("figure-{}", sweep.figure));
}
