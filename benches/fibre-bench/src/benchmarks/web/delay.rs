//! `delay`: how long a handler that spins or blocks its kernel thread holds up
//! another connection.
//!
//! One connection asks once a millisecond. After a while other connections make their handlers burn
//! CPU time, or sleep in the kernel, for a second. The worst latency of the first connection is the
//! figure: a runtime with a poller behind the busy thread shows the whole second.
//!
//! Then a ping beside work that computes all the time: see `beside`.

use super::beside;
use super::turns::{self, Row};
use crate::plan::{Benchmark, Run};
use crate::process::{Disturbance, LoadCommand, Mode};
use crate::report::format::{self, figure};
use crate::report::{Better, Goal, Measurement, OURS, Read};
use crate::servers::{Duty, ServerProgram};

pub(crate) const DELAY: Benchmark = Benchmark {
    name: "delay",
    about: "latency of a connection while another handler spins or blocks for 1 s, and beside work that computes all the time, two processors",
    run,
};

/// What the handlers do, how tables call it.
const CASES: &[(&str, Disturbance)] = &[
    ("a handler spins 1 s", Disturbance::Spin),
    ("a handler blocks 1 s", Disturbance::Block),
];
/// Milliseconds ours may take.
const TO_REACH: f64 = 1.0;
/// How long the handlers take, and how long where it is only to be shown that it runs.
const DISTURBED_MS: u64 = 1000;
const QUICK_MS: u64 = 20;
/// Seconds of one repetition; one of them is disturbed.
const SECONDS: f64 = 2.0;
/// Processors of the server; the load shares them where there are no more.
const PROCESSORS: usize = 2;
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 5;

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(
        "Server on two cores. Where there are no more, the load shares them with it, so a spinning handler also delays \
         the load generator by a time slice or two of the kernel.",
    );
    let header = [
        "case",
        "server",
        "worst ms (median)",
        "p99 ms",
        "p50 ms",
        "to reach",
    ];
    let mut table = format::table(&header, 2);
    for &(case, disturbance) in CASES {
        let what = format!("{} {case}", DELAY.name);
        let servers = run.servers.clone();
        let repetitions = run.plan.fewer_repetitions(REPETITIONS);
        let rows = turns::take(run, (&what, &servers), repetitions, |run, server| {
            measure(run, server, disturbance)
        });
        for row in rows {
            add(run, &mut table, case, row);
        }
    }
    run.report.table(&table);
    beside::run(run, DELAY.name);
    Ok(())
}

/// Adds the readings of one server to table and report.
fn add(run: &mut Run, table: &mut comfy_table::Table, case: &str, row: Row<3>) {
    let [worst, p99, p50] = row.readings;
    let measurement = Measurement {
        benchmark: DELAY.name,
        case: case.into(),
        goal: (row.server == OURS).then_some(Goal::figure(TO_REACH)),
        subject: row.server,
        metric: "worst latency",
        unit: "ms",
        better: Better::Lower,
        read: Read::Median,
        readings: worst,
    };
    table.add_row([
        case.into(),
        measurement.subject.clone(),
        figure(measurement.figure()),
        figure(p99.median()),
        figure(p50.median()),
        run.report.verdict_in_words(&measurement),
    ]);
    run.report.add(measurement);
}

/// One repetition: worst, 99th percentile and median, in milliseconds.
fn measure(
    run: &Run,
    program: &ServerProgram,
    disturbance: Disturbance,
) -> anyhow::Result<Option<[f64; 3]>> {
    let Some(server) = run.start(program, Duty::answering(PROCESSORS))? else {
        return Ok(None);
    };
    let mode = Mode::Probe {
        disturbance,
        milliseconds: if run.plan.is_quick() {
            QUICK_MS
        } else {
            DISTURBED_MS
        },
    };
    let load = LoadCommand::new(mode, 1, run.plan.seconds(SECONDS))
        .pinned_to(&run.cores.load(PROCESSORS))
        .run(&server.address)?;
    anyhow::ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
    Ok(Some([load.max_ms, load.p99_ms, load.p50_ms]))
}
