//! The second half of `delay`: a ping beside work that computes all the time, in each way that a
//! program may compute.
//!
//! Each way is a variant of the workload `beside` of a peer, so server, workers and client share a
//! process, and two processors.

use crate::peers::{Job, Peer};
use crate::plan::{self, Run};
use crate::report::format::{self, figure};
use crate::report::{Better, Goal, Measurement, Read};
use fibre_measure::Series;

/// The workload.
const WORKLOAD: &str = "beside";
/// The way with a goal: the recipe.
const RECIPE: &str = "fibre, compute";
/// What its median has to reach, in microseconds, and its 99th percentile.
const MEDIAN: f64 = 60.0;
const P99: f64 = 5000.0;
/// Processors of each runtime.
const PROCESSORS: usize = 2;
/// Seconds of pings in one repetition.
const SECONDS: f64 = 3.0;
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 5;
/// What is read of a repetition, by the names that the peers use.
const READ: [&str; 4] = ["p50_us", "p99_us", "max_us", "jobs_per_s"];

/// A way to compute, and its readings.
type Row = (Peer, [Series; READ.len()]);

/// Measures all ways, and adds the table.
pub(super) fn run(run: &mut Run, benchmark: &'static str) {
    run.report.paragraph(
        "Four workers compute for 150 ms at a time, without a pause, while a client sends a byte once a millisecond and \
         waits for it to come back. The jobs per second say how much was computed.",
    );
    let header = [
        "ways to compute",
        "p50 µs",
        "p99 µs",
        "worst µs",
        "jobs/s",
        "to reach",
    ];
    let mut table = format::table(&header, 1);
    for (peer, readings) in take(run, benchmark) {
        let [median, p99, worst, jobs] = &readings;
        let measured = |metric, readings: &Series, bar| Measurement {
            benchmark,
            case: "beside work".into(),
            goal: (peer.name == RECIPE).then_some(Goal::figure(bar)),
            subject: peer.name.clone(),
            metric,
            unit: "µs",
            better: Better::Lower,
            read: Read::Median,
            readings: readings.clone(),
        };
        let both = [
            measured("median latency", median, MEDIAN),
            measured("p99 latency", p99, P99),
        ];
        let verdicts = both.each_ref().map(|one| run.report.verdict_in_words(one));
        table.add_row([
            peer.name.clone(),
            figure(median.median()),
            figure(p99.median()),
            figure(worst.median()),
            figure(jobs.median()),
            verdicts.join("; "),
        ]);
        both.into_iter().for_each(|one| run.report.add(one));
    }
    run.report.table(&table);
}

/// Lets all ways take turns. One that fails is a fault and gets no further turn.
fn take(run: &mut Run, benchmark: &str) -> Vec<Row> {
    let ways = run
        .peers
        .iter()
        .flat_map(|peer| peer.with_variants(WORKLOAD));
    let wanted = ways.filter(|peer| run.plan.wants(&peer.name));
    let mut rows: Vec<Row> = wanted.map(|peer| (peer, Default::default())).collect();
    let repetitions = run.plan.fewer_repetitions(REPETITIONS);
    let bar = plan::progress(repetitions * rows.len());
    for _ in 0..repetitions {
        rows.retain_mut(|(peer, readings)| {
            bar.set_message(format!("{benchmark} beside work: {}", peer.name));
            bar.inc(1);
            let job = Job {
                workload: WORKLOAD,
                parameters: if run.plan.is_quick() { "job_ms=5" } else { "" },
                processors: PROCESSORS,
                seconds: run.plan.seconds(SECONDS),
            };
            match peer.measure(&job, &run.cores) {
                Ok(sample) => {
                    for (series, name) in readings.iter_mut().zip(READ) {
                        series.push(sample.values.get(name).copied().unwrap_or(f64::NAN));
                    }
                    true
                }
                Err(error) => {
                    let words = format!("{benchmark} beside work, {}: {error:#}", peer.name);
                    run.report.fault(words);
                    false
                }
            }
        });
    }
    bar.finish_and_clear();
    rows
}
