//! `stall`: what handlers that compute now and then do to the requests of other connections.
//!
//! All connections send requests, and each one also asks the server to compute at random times. A
//! request that waits behind such a handler is late. Where others take what waits there, it is
//! answered in time. The handlers that compute take a third or two thirds of two cores.

use super::turns::{self, Row};
use crate::plan::{Benchmark, Run};
use crate::process::{LoadCommand, Mode};
use crate::report::format::{self, figure};
use crate::report::{Better, Goal, Measurement, OURS, Read};
use crate::servers::{Duty, ServerProgram};

pub(crate) const STALL: Benchmark = Benchmark {
    name: "stall",
    about: "requests of 128 connections, each of which also asks for a busy loop of 100 µs or 1 ms, two processors",
    run,
};

/// How tables call a case; how long a handler computes, in microseconds; how often in a second on
/// each connection.
const CASES: &[(&str, u64, f64)] = &[
    ("1 ms, 32 % of two cores", 1000, 5.0),
    ("1 ms, 64 % of two cores", 1000, 10.0),
    ("100 µs, 32 % of two cores", 100, 50.0),
    ("100 µs, 64 % of two cores", 100, 100.0),
];
/// Connections.
const CONNECTIONS: usize = 128;
/// Processors of the server; the load shares them where there are no more.
const PROCESSORS: usize = 2;
/// Seconds of one repetition, and of the time before it counts.
const SECONDS: f64 = 2.0;
const WARM_UP: f64 = 0.2;
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 5;
/// The kinds of our clusters beside the default one, and the variable that chooses each.
const KINDS: [(&str, &str, &str); 1] = [("own thread-locals", "FIBRE_THREAD_LOCALS", "own")];
/// What rates are to reach, by the bare loop's, and latencies.
const LOOP: &str = "epoll";
const RATE: f64 = 1.5;
const LATENCY: f64 = 1.0;

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.report.paragraph(
        "Server on two cores, which the load shares with it where there are no more. Requests that compute are not \
         counted. Goals are for clusters with thread-locals of their own, where others take what waits behind a \
         handler that computes.",
    );
    let header = [
        "case",
        "server",
        "requests/s (median)",
        "to reach",
        "p99.9 ms (median)",
        "to reach",
        "p50 ms",
    ];
    let mut table = format::table(&header, 2);
    let servers = servers(run);
    for &(case, microseconds, per_second) in CASES {
        let what = format!("{} {case}", STALL.name);
        let repetitions = run.plan.fewer_repetitions(REPETITIONS);
        let rows = turns::take(run, (&what, &servers), repetitions, |run, server| {
            measure(run, server, microseconds, per_second)
        });
        for row in rows {
            add(run, &mut table, case, row);
        }
    }
    run.report.table(&table);
    Ok(())
}

/// All servers, and ours with clusters of each other kind.
fn servers(run: &Run) -> Vec<ServerProgram> {
    let kinds = |server: &ServerProgram| {
        KINDS.map(|(name, variable, value)| server.variant(name, variable, value))
    };
    let ours = run.servers.iter().filter(|server| server.name == OURS);
    run.servers
        .iter()
        .cloned()
        .chain(ours.flat_map(kinds))
        .collect()
}

/// Adds the readings of one server to table and report.
fn add(run: &mut Run, table: &mut comfy_table::Table, case: &str, row: Row<3>) {
    let [rate, late, half] = row.readings;
    let has_goal = KINDS
        .iter()
        .any(|(name, ..)| row.server == format!("{OURS}, {name}"));
    let goal = |factor| has_goal.then_some(Goal::times_of(LOOP, factor));
    let measurement = |metric, unit, better, goal, readings| Measurement {
        benchmark: STALL.name,
        case: case.into(),
        goal,
        subject: row.server.clone(),
        metric,
        unit,
        better,
        read: Read::Median,
        readings,
    };
    let rate = measurement("rate", "requests/s", Better::Higher, goal(RATE), rate);
    let late = measurement("p99.9", "ms", Better::Lower, goal(LATENCY), late);
    table.add_row([
        case.into(),
        row.server.clone(),
        figure(rate.figure()),
        run.report.verdict_in_words(&rate),
        figure(late.figure()),
        run.report.verdict_in_words(&late),
        figure(half.median()),
    ]);
    run.report.add(rate);
    run.report.add(late);
}

/// One repetition: requests in a second, p99.9 and median in milliseconds.
fn measure(
    run: &Run,
    program: &ServerProgram,
    microseconds: u64,
    per_second: f64,
) -> anyhow::Result<Option<[f64; 3]>> {
    let Some(server) = run.start(program, Duty::answering(PROCESSORS))? else {
        return Ok(None);
    };
    let mode = Mode::Http { pipeline: 1 };
    let load = LoadCommand::new(mode, CONNECTIONS, run.plan.seconds(SECONDS))
        .warm_up(run.plan.seconds(WARM_UP))
        .stalling(microseconds, per_second)
        .pinned_to(&run.cores.load(PROCESSORS))
        .run(&server.address)?;
    anyhow::ensure!(load.errors.is_empty(), "{}", load.errors.join("; "));
    Ok(Some([load.requests_per_second, load.p999_ms, load.p50_ms]))
}
